// The database in its worker thread, as seen from the main thread. If the thread ends by itself, what
// waits for it is refused: it may or may not have been stored.

import { Worker } from 'node:worker_threads';
import { isBytes } from '../contract/bytes.ts';
import { StoreError } from '../store-error.ts';
import type { Backend } from './backend.ts';
import type { Findings } from './open-database.ts';
import type { StoreOperation, StoreOutcome } from './operation.ts';
import { messageOf } from './sqlite-code.ts';
import type { FromWorker, OpenFailure, ToWorker } from './worker-messages.ts';

export interface OpenedDatabase {
  readonly kind: 'opened';
  readonly backend: Backend;
  readonly findings: Findings;
}

/** There is no database, and why. */
export interface FailedDatabase {
  readonly kind: 'failed';
  readonly why: OpenFailure;
  readonly detail: string;
  readonly code: string | null;
}

interface Waiting {
  readonly resolve: (outcomes: readonly StoreOutcome[]) => void;
  readonly reject: (error: StoreError) => void;
}

/** Never rejects. `lockMs`: how long it waits for the lock of another process. */
export async function openInWorker(
  file: string,
  program: URL,
  lockMs = 0,
): Promise<OpenedDatabase | FailedDatabase> {
  let worker: Worker;
  try {
    worker = new Worker(program, { workerData: { file, lockMs }, execArgv: [] });
  } catch (error) {
    return { kind: 'failed', why: 'unusable', detail: messageOf(error), code: null };
  }
  const backend = new WorkerBackend(worker);
  const first = await backend.opened;
  if (first.kind === 'opened') return { kind: 'opened', backend, findings: first.findings };
  await backend.close();
  return first;
}

type First = Extract<FromWorker, { readonly kind: 'opened' | 'failed' }>;

class WorkerBackend implements Backend {
  readonly #worker: Worker;
  /** By their number, until answered; the gatherer sends one at a time. */
  readonly #waiting = new Map<number, Waiting>();
  readonly opened: Promise<First>;
  #open: (first: First) => void = () => {};
  #closed: () => void = () => {};
  #batches = 0;
  #end: string | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
    worker.on('message', (message: FromWorker) => this.#heard(message));
    worker.on('error', (error) => this.#ended(error.message));
    worker.on('exit', () => this.#ended('its thread has ended'));
  }

  apply(operations: readonly StoreOperation[]): Promise<readonly StoreOutcome[]> {
    if (this.#end !== undefined) return Promise.reject(endedError(this.#end));
    this.#batches += 1;
    const batch = this.#batches;
    return new Promise((resolve, reject) => {
      this.#waiting.set(batch, { resolve, reject });
      // As long as somebody waits for the disk, the process does not end.
      this.#worker.ref();
      this.#send({ kind: 'apply', batch, operations }, operations.flatMap(movable));
    });
  }

  async close(): Promise<void> {
    if (this.#end !== undefined) return;
    this.#worker.ref();
    await new Promise<void>((resolve) => {
      this.#closed = resolve;
      this.#send({ kind: 'close' });
    });
  }

  #send(message: ToWorker, moved: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, moved);
  }

  #heard(message: FromWorker): void {
    switch (message.kind) {
      case 'opened':
      case 'failed':
        // The store is closed by its owner: it does not keep the process alive.
        this.#worker.unref();
        return this.#open(message);
      case 'applied': {
        const waiting = this.#waiting.get(message.batch);
        this.#waiting.delete(message.batch);
        if (this.#waiting.size === 0) this.#worker.unref();
        waiting?.resolve(message.outcomes);
        return;
      }
      case 'closed':
        return;
    }
  }

  #ended(why: string): void {
    this.#end ??= why;
    this.#open({ kind: 'failed', why: 'unusable', detail: this.#end, code: null });
    for (const { reject } of this.#waiting.values()) reject(endedError(this.#end));
    this.#waiting.clear();
    this.#closed();
  }
}

/** Bytes that have their memory for themselves are moved to the thread; others are copied. */
function movable(operation: StoreOperation): readonly ArrayBuffer[] {
  if (!('text' in operation) || !isBytes(operation.text)) return [];
  const { buffer, byteLength } = operation.text;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

function endedError(why: string): StoreError {
  return new StoreError('not_kept', `the database cannot be used any more: ${why}`);
}
