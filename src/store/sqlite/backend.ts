// Where operations are run, and how they get there: those that come while others are being committed are
// gathered and committed together. In a rollout another place takes over: what is under way ends in the former place,
// and what comes meanwhile waits and is run by the next one, in the order in which it came.

import { StoreError, storeClosed } from '../store-error.ts';
import type { StoreOperation, StoreOutcome } from './operation.ts';

export interface Backend {
  /** The outcomes, in the order of the operations. Rejects if there is no database any more. */
  apply(operations: readonly StoreOperation[]): Promise<readonly StoreOutcome[]>;
  close(): Promise<void>;
}

/** So many may wait; beyond that the disk is far too slow, and callers are told. */
const maxWaiting = 10_000;

interface Waiting {
  readonly operation: StoreOperation;
  readonly resolve: (outcome: StoreOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export class Gatherer {
  #backend: Backend;
  /** In the order in which they came; at most `maxWaiting`. */
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** What is being committed. */
  #batch: Promise<void> = Promise.resolve();
  /** Until another place has taken over. */
  #held: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Rejects with a StoreError if it was not run. */
  run(operation: StoreOperation): Promise<StoreOutcome> {
    if (this.#closing !== undefined) return Promise.reject(storeClosed());
    if (this.#waiting.length >= maxWaiting) {
      const detail = `${maxWaiting} changes wait for the disk; try again later`;
      return Promise.reject(new StoreError('full', detail));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, resolve, reject });
      this.#running ??= this.#runAll();
    });
  }

  /**
   * What is under way is ended and acknowledged, and the former place is closed; then `released` is called, and from
   * then on everything is run by the next one. What comes meanwhile waits: not more of it than ever may wait.
   */
  async handOver(next: Backend, released: () => Promise<void>): Promise<void> {
    if (this.#closing !== undefined) throw storeClosed();
    let resume = () => {};
    this.#held = new Promise((resolve) => {
      resume = resolve;
    });
    try {
      await this.#batch;
      await this.#backend.close();
      await released();
    } finally {
      this.#backend = next;
      this.#held = undefined;
      resume();
    }
  }

  /** After everything that came before. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#running;
    await this.#backend.close();
  }

  /** Never rejects. */
  async #runAll(): Promise<void> {
    // What comes in the same turn is committed together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      while (this.#held !== undefined) await this.#held;
      const batch = this.#waiting;
      this.#waiting = [];
      this.#batch = this.#runBatch(batch);
      await this.#batch;
    }
    this.#running = undefined;
  }

  async #runBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#backend.apply(batch.map(({ operation }) => operation));
      for (const [at, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[at];
        if (outcome) resolve(outcome);
        else reject(new TypeError('the database has left an operation without an outcome'));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
