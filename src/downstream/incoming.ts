// One running request of a client, of any era and transport. It is answered once, with the client's
// own id; it is notified when the client cancels; and for the host it is the caller that a server
// may send requests to.

import type { Caller, CallRoots, Client } from '../host/connections/caller.ts';
import { CancelSignal } from '../kernel/cancel-signal.ts';
import type { AccessRequest } from '../policy/access.ts';
import type { CallId } from '../policy/idempotency.ts';
import type { Principal } from '../policy/principal.ts';
import type { ClientCancel } from '../wire/client-cancel.ts';
import type { Era } from '../wire/eras.ts';
import {
  carriedErrorFrame,
  type ErrorToSend,
  errorFrame,
  type Frame,
  idText,
  notificationFrame,
  resultFrame,
} from '../wire/frames.ts';
import { objectAt } from '../wire/parts.ts';
import type { Message } from '../wire/scan.ts';
import { oneLine, splice } from '../wire/splice.ts';
import type { Reply, Underway } from './contract.ts';

export interface Sender {
  readonly principal: Principal;
  readonly client: Client;
  readonly era: Era;
  /** The client's capabilities, in modern form: JSON. */
  readonly capabilities: string;
  readonly logLevel: string | undefined;
  readonly callId?: CallId | undefined;
  readonly goesOn?: boolean | undefined;
  readonly goesAlong?: boolean | undefined;
}

export class Incoming implements Caller, Underway {
  readonly message: Message;
  readonly principal: Principal;
  readonly client: Client;
  readonly era: Era;
  readonly capabilities: string;
  readonly logLevel: string | undefined;
  /** By which the transport may bring it again. */
  readonly callId: CallId | undefined;
  /** The process before has begun what it asks for. */
  readonly goesOn: boolean;
  /** Its transport takes it to the next process. */
  readonly goesAlong: boolean;
  /** Raised when the client has cancelled or disconnected. */
  readonly cancelSignal = new CancelSignal();
  readonly id: string;
  /** Whether it may have been sent to a server. The code that sends it sets this. */
  isCarried = false;
  /** What it asks of which server, and the version of the policy that applied when it was sent. */
  about: AccessRequest | undefined;
  allowedAt = 0;
  /** We are shutting down, and do not wait for it any longer. */
  isDismissed = false;
  /** It came when no new work was accepted any more. */
  isLate = false;
  /** The error of our own that it was answered with. */
  refusal: ErrorToSend | undefined;
  /** What a modern client was asked for before its call was sent. */
  roots: CallRoots | undefined;
  readonly #reply: Reply;
  readonly #over: ((incoming: Incoming) => void) | undefined;
  #isOver = false;
  #continuation: Incoming | undefined;

  constructor(message: Message, from: Sender, reply: Reply, over?: (incoming: Incoming) => void) {
    this.message = message;
    this.principal = from.principal;
    this.client = from.client;
    this.era = from.era;
    this.capabilities = from.capabilities;
    this.logLevel = from.logLevel;
    this.callId = from.callId;
    this.goesOn = from.goesOn ?? false;
    this.goesAlong = from.goesAlong ?? false;
    this.id = idText(message);
    this.#reply = reply;
    this.#over = over;
  }

  get isModern(): boolean {
    return this.era === 'modern';
  }

  /** Answered, or no longer waited for. */
  get isOver(): boolean {
    return this.#isOver;
  }

  // --- answering ---------------------------------------------------------------------------

  result(...result: (string | Buffer)[]): void {
    this.#answer(resultFrame(this.id, ...result));
  }

  error(error: ErrorToSend): void {
    if (!this.#isOver) this.refusal = error;
    this.#answer(errorFrame(this.id, error), error.code);
  }

  /** An error as received. */
  carriedError(error: string | Buffer, code: number): void {
    const line = oneLine(typeof error === 'string' ? Buffer.from(error) : error);
    this.#answer(carriedErrorFrame(this.id, line), code);
  }

  #answer(frame: Frame, code?: number): void {
    if (this.#isOver) return;
    this.#end();
    this.#reply.answer(frame, code);
  }

  /** A message before the answer that belongs to this request; `kind` as in `Reply`. */
  send(frame: Frame, kind?: string): void {
    if (!this.#isOver) this.#reply.send(frame, kind);
    else this.#continuation?.send(frame, kind);
  }

  /** The client has repeated the same call with another request. */
  continuedBy(incoming: Incoming): void {
    this.#continuation = incoming;
  }

  cancel(words?: ClientCancel): void {
    if (this.#isOver) return;
    this.#end();
    this.#reply.withdrawn?.();
    this.cancelSignal.abort(words);
  }

  #end(): void {
    this.#isOver = true;
    this.#over?.(this);
  }

  // --- progress ----------------------------------------------------------------------------

  /** The client's own token, as it wrote it; undefined if it did not ask for progress. */
  get progressToken(): Buffer | undefined {
    const { bytes, meta } = this.message;
    const span = meta?.find('progressToken');
    return span && bytes.subarray(span.start, span.end);
  }

  /** Forwards the server's progress, with the client's token. */
  progressed(params: Buffer): void {
    if (this.#continuation) return this.#continuation.progressed(params);
    const token = this.progressToken;
    if (token === undefined || this.#isOver) return;
    const span = objectAt(params, { start: 0, end: params.length })?.find('progressToken');
    if (span === undefined) return;
    const edit = { start: span.start, end: span.end, with: token };
    this.send(notificationFrame('notifications/progress', oneLine(splice(params, [edit]))));
  }
}
