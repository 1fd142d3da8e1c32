// The database of a process that has handed it over: its operations go to the process that has it now, and their outcomes
// come back. An operation is sent once. If the link ends before its outcome has come, it may or may not have been stored,
// and is refused as such: its caller reads again, or says that the outcome is unknown. Nothing is tried a second time.

import { isRecord } from '../../kernel/json-values.ts';
import type { Moved } from '../memory-store.ts';
import type { Backend } from '../sqlite/backend.ts';
import type { StoreOperation, StoreOutcome } from '../sqlite/operation.ts';
import { StoreError } from '../store-error.ts';
import { memoryMessages } from './memory-message.ts';
import { outcomesIn, packedOperations, wrong } from './operation-message.ts';
import { type StoreLink, storeKind } from './store-link.ts';

/** What is sent at once, unless one operation alone is larger. */
const maxBatchBytes = 4_194_304;
const maxBatch = 1_000;

interface Waiting {
  readonly count: number;
  readonly resolve: (outcomes: readonly StoreOutcome[]) => void;
  readonly reject: (error: StoreError) => void;
}

export class RemoteBackend implements Backend {
  readonly #link: StoreLink;
  /** By the number of their batch, until answered; the gatherer sends one at a time. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #listening: Disposable;
  #batches = 0;

  constructor(link: StoreLink) {
    this.#link = link;
    this.#listening = link.on(storeKind, (head, payload) => this.#heard(head, payload));
    const ended = () => this.#ended();
    link.closed.then(ended).catch(ended);
  }

  /** Before `released`. */
  tellMemory(moved: Iterable<Moved>): void {
    for (const one of moved) {
      for (const { place, values, payload } of memoryMessages(one)) {
        this.#link.send(storeKind, { what: 'memory', place: { ...place }, values }, payload);
      }
    }
  }

  /** From now on the other process may open the database. */
  tellReleased(): void {
    this.#link.send(storeKind, { what: 'released' });
  }

  async apply(operations: readonly StoreOperation[]): Promise<readonly StoreOutcome[]> {
    const outcomes: StoreOutcome[] = [];
    for (const batch of batchesOf(operations)) {
      // What came before in the list is known, also if the rest is not.
      const sent = this.#send(batch).catch((error: unknown) => refusals(batch, error));
      for (const outcome of await sent) outcomes.push(outcome);
    }
    return outcomes;
  }

  /** The link belongs to both processes, and to other parts. */
  async close(): Promise<void> {
    this.#listening[Symbol.dispose]();
    this.#ended();
  }

  #send(batch: readonly StoreOperation[]): Promise<readonly StoreOutcome[]> {
    if (!this.#link.isOpen) return Promise.reject(gone());
    this.#batches += 1;
    const number = this.#batches;
    const { list, payload } = packedOperations(batch);
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { count: batch.length, resolve, reject });
      this.#link.send(storeKind, { what: 'apply', batch: number, operations: list }, payload);
    });
  }

  #heard(head: unknown, payload: Buffer): void {
    const { what, batch, outcomes } = isRecord(head) ? head : {};
    const waiting = what === 'applied' ? this.#waiting.get(Number(batch)) : undefined;
    if (waiting === undefined) throw wrong('answer');
    const applied = outcomesIn(outcomes, payload, waiting.count);
    this.#waiting.delete(Number(batch));
    waiting.resolve(applied);
  }

  #ended(): void {
    for (const { reject } of this.#waiting.values()) reject(gone());
    this.#waiting.clear();
  }
}

function* batchesOf(operations: readonly StoreOperation[]): Iterable<readonly StoreOperation[]> {
  let batch: StoreOperation[] = [];
  let bytes = 0;
  for (const operation of operations) {
    batch.push(operation);
    bytes += 'text' in operation ? operation.text.length : 0;
    if (batch.length < maxBatch && bytes < maxBatchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

function refusals(batch: readonly StoreOperation[], error: unknown): readonly StoreOutcome[] {
  if (!(error instanceof StoreError)) throw error;
  const { reason, message: detail } = error;
  return batch.map(() => ({ ok: false, reason, detail }));
}

function gone(): StoreError {
  return new StoreError(
    'not_kept',
    'the process that has taken over the database is gone, so it is not known whether the change is kept',
  );
}
