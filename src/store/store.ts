// The contract of a store: records, logs, queues and counters (`contract/`), for everything that
// Holdfast keeps beyond one call. The code that opens one chooses its durability
// (`contract/durability.ts`), and the store either provides it or rejects with a `StoreError`; a
// promise resolves only if it holds. Everything is asynchronous, so code that does not need the
// store must not use it. Values are JSON (or bytes, where that is said), keys are any text, times come from the clock that the
// store was given, and everything that is kept is bounded. A store is one file that implements this
// and passes test/support/store-suite; it need not offer all four.

import { isBytes } from './contract/bytes.ts';
import type { Counter, CounterOptions } from './contract/counter.ts';
import type { Log, LogOptions } from './contract/log.ts';
import type { Queue, QueueOptions } from './contract/queue.ts';
import type { Records, RecordsOptions } from './contract/records.ts';

/** Whether what is kept can be written. */
export type StoreHealth =
  | {
      /** Everything that was to be stored is stored. */
      readonly ok: true;
    }
  | {
      /** Something could not be stored. */
      readonly ok: false;
      /** It can be used all the same: what is there can be read, and what is put is kept. */
      readonly isReached?: true;
      /** What does not work, and what to do, in one line. */
      readonly problem: string;
    };

/**
 * A name is lower-case letters, digits and hyphens, and comes from the source, never from outside.
 * The same name again is the same object, and must be opened with the same durability. What a store
 * does not offer it rejects as a `StoreError` with the reason `unsupported` when it is opened, not
 * when it is used.
 */
export interface Store extends AsyncDisposable {
  records(name: string, options: RecordsOptions): Records;
  log(name: string, options: LogOptions): Log;
  queue(name: string, options: QueueOptions): Queue;
  counter(name: string, options: CounterOptions): Counter;
  health(): StoreHealth;
  /** Closes the store once everything that was put is stored as well as possible. */
  close(): Promise<void>;
}

export function isStoreName(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,63}$/.test(name);
}

export function assertStoreName(name: string): void {
  if (!isStoreName(name)) throw new TypeError(`"${name}" cannot be a name in a store`);
}

/** The JSON text of a value; a value that JSON cannot represent is a defect of the caller. */
export function jsonText(value: unknown): string {
  const text: string | undefined = isBytes(value) ? undefined : JSON.stringify(value);
  if (text === undefined) throw new TypeError('a store keeps JSON values only');
  return text;
}
