// Batches of a client on stdio (2025-03-26): each is answered with one array when the last of its requests has been
// answered. Until then all of them are open, also those whose answers are collected already: in a rollout the next
// process answers them if this one ends before.

import { contain } from '../../kernel/contain.ts';
import { scanBatch } from '../../wire/batch.ts';
import type { Id } from '../../wire/decode.ts';
import { type ErrorToSend, errorFrame, type Frame, idText } from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import { BatchReply } from '../batch-reply.ts';
import type { OpenRequest, Reply } from '../contract.ts';
import { internalError } from '../refusals.ts';
import { emptyBatch, idInUse, wireRefusal } from './stdio-refusals.ts';

export interface StdioBatchesParts {
  readonly receive: (message: Message, reply: Reply) => void;
  readonly write: (frame: Frame) => void;
  /** So much more is collected, or, with a negative number, was sent. */
  readonly gathered: (bytes: number) => void;
  readonly refuse: (id: string, error: ErrorToSend) => void;
  /** Passes on what is for the process before this one. */
  readonly isTaken: (message: Message) => boolean;
  /** Whether that has a request with this id. */
  readonly isUnderWayBefore: (id: Message['id']) => boolean;
  /** One was answered, or has no answer. */
  readonly ended: () => void;
  readonly caught: (error: unknown) => void;
}

export class StdioBatches {
  readonly #parts: StdioBatchesParts;
  /** Each until it has ended; the gateway takes at most so many requests of one client. */
  readonly #open = new Set<readonly Message[]>();

  constructor(parts: StdioBatchesParts) {
    this.#parts = parts;
  }

  get open(): readonly OpenRequest[] {
    const all = [...this.#open].flat();
    return all.map(({ id, method = '' }) => ({ id: id as Id, method }));
  }

  receive(bytes: Buffer): void {
    const messages = this.#messagesIn(bytes);
    if (!messages) return;
    const { refuse, isTaken, write, gathered, ended } = this.#parts;
    if (messages.length === 0) return refuse('null', emptyBatch);
    const mine = messages.filter((one) => !isTaken(one));
    const requests = mine.filter(({ kind }) => kind === 'request');
    const over = () => {
      this.#open.delete(requests);
      ended();
    };
    const batch = new BatchReply(requests.length, write, { gathered, over });
    if (requests.length > 0) this.#open.add(requests);
    for (const message of mine) this.#one(message, batch.reply());
  }

  /** Refuses what is not one. */
  #messagesIn(bytes: Buffer): readonly Message[] | undefined {
    try {
      return scanBatch(bytes).map((element) => scanMessage(element));
    } catch (error) {
      const isRefused = error instanceof WireError;
      if (!isRefused) this.#parts.caught(error);
      this.#parts.refuse('null', isRefused ? wireRefusal(error) : internalError);
      return undefined;
    }
  }

  /** An unexpected error costs this one message: the others of the batch are answered. */
  #one(message: Message, reply: Reply): void {
    const { receive, isUnderWayBefore, caught } = this.#parts;
    if (message.kind === 'request' && isUnderWayBefore(message.id)) {
      return reply.answer(errorFrame(idText(message), idInUse(message)));
    }
    contain(
      () => receive(message, reply),
      (error) => {
        caught(error);
        if (message.kind === 'request') reply.answer(errorFrame(idText(message), internalError));
      },
    );
  }
}
