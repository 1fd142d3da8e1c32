// The store of the process before, as the next one of the same instance hears of it over their link: first what it held
// in memory, then that its database is closed, then its operations, which are run in order with those of this process.
// Nothing is opened here before that: two processes with one database would each answer from what the other has changed.
// If the former process ends before it has released its database, that is free as well, and everything that was
// acknowledged is in it.

import { isRecord } from '../../kernel/json-values.ts';
import type { StoreOperation, StoreOutcome } from '../sqlite/operation.ts';
import { StoreError, storeClosed } from '../store-error.ts';
import { type HeardMemory, memoryIn } from './memory-message.ts';
import { operationsIn, packedOutcomes, wrong } from './operation-message.ts';
import { type StoreLink, storeKind } from './store-link.ts';

/** The store that has taken over. */
export interface TakingStore {
  /** Rejects with a StoreError if it was not run. */
  operate(operation: StoreOperation): Promise<StoreOutcome>;
}

export interface FormerStoreParts {
  readonly link: StoreLink;
  /**
   * Resolves when this process is the serving one: none of the operations is run before, because another successor
   * would be told them again. Absent: it is.
   */
  readonly mayBegin?: Promise<unknown> | undefined;
  /** Resolves when the former process has ended; absent: its end is that of the link. */
  readonly ended?: Promise<unknown> | undefined;
  /** An unexpected error, which costs the operations of one message. */
  readonly caught: (error: unknown) => void;
}

export class FormerStore implements Disposable {
  /** Resolves when the former process has no database any more, with what it held in memory. */
  readonly released: Promise<readonly HeardMemory[]>;
  readonly #link: StoreLink;
  readonly #listening: Disposable;
  /** What came until it was released; as much as a store in memory may have. */
  #memory: HeardMemory[] = [];
  #release: () => void = () => {};
  #isReleased = false;
  #serve: (store: TakingStore) => void = () => {};
  /** One after the other; the former process sends the next batch when it has the outcomes of the last. */
  #last: Promise<unknown>;
  readonly #store: Promise<TakingStore>;
  readonly #mayBegin: Promise<unknown> | undefined;

  constructor({ link, mayBegin, ended = link.closed, caught }: FormerStoreParts) {
    this.#link = link;
    this.#store = new Promise((resolve) => {
      this.#serve = resolve;
    });
    this.#mayBegin = mayBegin;
    this.#last = this.#store;
    this.released = new Promise((resolve) => {
      this.#release = () => {
        resolve(this.#memory);
        this.#memory = [];
      };
    });
    const inTurn = (work: () => Promise<void>) => {
      this.#last = this.#last.then(work).catch(caught);
    };
    this.#listening = link.on(storeKind, (head, payload) => this.#heard(head, payload, inTurn));
    ended.then(this.#release).catch(this.#release);
  }

  /** From now on its operations are run by this one. */
  serve(store: TakingStore): void {
    this.#serve(store);
  }

  /** Nothing is heard any more. */
  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    this.#release();
  }

  #heard(given: unknown, payload: Buffer, inTurn: (work: () => Promise<void>) => void): void {
    const head = isRecord(given) ? given : {};
    switch (head['what']) {
      case 'memory': {
        if (this.#isReleased) throw wrong('place for what was in memory');
        this.#memory.push(memoryIn(head, payload));
        return;
      }
      case 'released':
        this.#isReleased = true;
        return this.#release();
      case 'apply': {
        const { batch } = head;
        if (!Number.isSafeInteger(batch) || !this.#isReleased) throw wrong('batch');
        const operations = operationsIn(head['operations'], payload);
        return inTurn(() => this.#apply(Number(batch), operations));
      }
      default:
        throw wrong('message');
    }
  }

  async #apply(batch: number, operations: readonly StoreOperation[]): Promise<void> {
    const store = await this.#store;
    await this.#mayBegin;
    // All in the same turn, so that they are committed together.
    const outcomes = await Promise.all(operations.map((one) => outcomeOf(store, one)));
    const { list, payload } = packedOutcomes(outcomes);
    this.#link.send(storeKind, { what: 'applied', batch, outcomes: list }, payload);
  }
}

async function outcomeOf(store: TakingStore, operation: StoreOperation): Promise<StoreOutcome> {
  try {
    return await store.operate(operation);
  } catch (thrown) {
    const error = thrown instanceof StoreError ? thrown : storeClosed();
    // This process ends, and its database with it: the former one has no other.
    const reason = error.reason === 'closed' ? 'not_kept' : error.reason;
    return { ok: false, reason, detail: error.message };
  }
}
