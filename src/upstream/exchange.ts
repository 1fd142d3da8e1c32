// One request and its one answer. An exchange knows how far its frame went, which every later
// decision about repeating it depends on, and it settles exactly once.

import type { Dispatched, Fault } from '../kernel/fault.ts';
import type { Message } from '../wire/scan.ts';

/** Receives the parameters of each progress notification of a request, unchanged. */
export interface ProgressListener {
  progressed(params: Buffer): void;
}

/** Identifies the owner of the request for the code that sent it; not interpreted here. */
export type ExchangeOwner = object;

export interface ExchangeOptions {
  /** For messages of the server about this request while it works on it. */
  readonly owner?: ExchangeOwner;
  /** Asks for progress. */
  readonly progress?: ProgressListener;
  /** A subscription: it stays open, and draining the connection does not wait for it. */
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
  /** Why its caller no longer needs the answer, if so. */
  cancelledBy: Fault | undefined;
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

  /** Ends it without an answer; the fault gets how far the frame went. */
  fail(fault: Fault): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#reject(fault.with({ dispatched: this.dispatched }));
  }

  /**
   * The caller no longer needs the answer: the server is notified, if it may have received the
   * request.
   */
  cancel(fault: Fault): void {
    if (this.isSettled) return;
    this.cancelledBy = fault;
    try {
      this.#abandon(this);
    } finally {
      this.fail(fault);
    }
  }
}
