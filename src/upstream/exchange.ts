// One request and its one answer. An exchange knows how far its frame went, which is the fact that
// every later decision about repeating it rests on, and it settles exactly once.

import type { Dispatched, Fault } from '../kernel/fault.ts';
import type { Message } from '../wire/scan.ts';

/** Hears the parameters of each progress notification of a request, as they came. */
export interface ProgressListener {
  progressed(params: Buffer): void;
}

/** Whose request it is, in words of whoever sent it; carried, never looked at. */
export type ExchangeOwner = object;

export interface ExchangeOptions {
  /** For what the server says about this request while it works on it. */
  readonly owner?: ExchangeOwner;
  /** Asks for progress. */
  readonly progress?: ProgressListener;
  /** A subscription: it stays open, and nobody waits for it when the connection is drained. */
  readonly background?: boolean;
}

export class Exchange {
  readonly id: number;
  /** The response as it came; a JSON-RPC error is an answer too. Rejects only with a Fault. */
  readonly answer: Promise<Message>;
  readonly progress: ProgressListener | undefined;
  readonly isBackground: boolean;
  readonly owner: ExchangeOwner | undefined;
  dispatched: Dispatched = 'no';
  isSettled = false;
  #resolve!: (message: Message) => void;
  #reject!: (fault: Fault) => void;
  readonly #abandon: (exchange: Exchange) => void;

  constructor(
    id: number,
    options: ExchangeOptions | undefined,
    abandon: (exchange: Exchange) => void,
  ) {
    this.id = id;
    this.progress = options?.progress;
    this.isBackground = options?.background ?? false;
    this.owner = options?.owner;
    this.#abandon = abandon;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  answered(message: Message): void {
    this.isSettled = true;
    this.dispatched = 'yes';
    this.#resolve(message);
  }

  /** Ends it without an answer; the fault learns how far the frame went. */
  fail(fault: Fault): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#reject(fault.with({ dispatched: this.dispatched }));
  }

  /** The caller no longer wants the answer: the server is told, if it may have heard of it. */
  cancel(fault: Fault): void {
    if (this.isSettled) return;
    this.#abandon(this);
    this.fail(fault);
  }
}
