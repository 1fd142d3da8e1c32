// The reply to a request that sets a session up (`initialize`, a log level, a subscription). A good answer
// is sent when the session has been stored with it, so that what the client was told survives a kill of
// the gateway. Where sessions are not stored, it is only counted.

import type { Frame } from '../../../wire/frames.ts';
import type { Message } from '../../../wire/scan.ts';
import type { Reply } from '../../contract.ts';

export interface KeepingReplyParts {
  readonly reply: Reply;
  readonly message: Message;
  /** Disposed when it is answered, or nobody waits for it any more. */
  readonly taken: Disposable | undefined;
  /** Notes the request, and resolves when the session is stored or cannot be. */
  readonly keep: (message: Message) => Promise<void>;
  /** An unexpected error. */
  readonly caught: (error: unknown) => void;
}

export class KeepingReply implements Reply {
  readonly #parts: KeepingReplyParts;

  constructor(parts: KeepingReplyParts) {
    this.#parts = parts;
  }

  send(frame: Frame, kind?: string): void {
    this.#parts.reply.send(frame, kind);
  }

  answer(frame: Frame, code?: number): void {
    const { reply, message, taken, keep, caught } = this.#parts;
    taken?.[Symbol.dispose]();
    if (code !== undefined) return reply.answer(frame, code);
    keep(message)
      .then(() => reply.answer(frame))
      .catch(caught);
  }

  withdrawn(): void {
    this.#parts.taken?.[Symbol.dispose]();
    this.#parts.reply.withdrawn?.();
  }
}
