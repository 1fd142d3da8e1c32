// What Holdfast keeps beyond one call, as a contract in four words: records, logs, queues and counters
// (`contract/`). Whoever opens one says how well it must be kept (`contract/durability.ts`), and the store
// either keeps it so or rejects with a `StoreError`; nothing resolves that is not true. Everything is
// asynchronous, so a caller that does not need the store must not ask it. Values are JSON, keys are any
// text, times come from the clock the store was given, and whatever is kept has a bound. A store is one
// file that implements this and passes test/support/store-suite; it need not have all four words.

import type { Counter, CounterOptions } from './contract/counter.ts';
import type { Log, LogOptions } from './contract/log.ts';
import type { Queue, QueueOptions } from './contract/queue.ts';
import type { Records, RecordsOptions } from './contract/records.ts';

/** Whether what is kept can be written. */
export type StoreHealth =
  | {
      /** Everything that was to be kept is kept. */
      readonly ok: true;
    }
  | {
      /** Something could not be kept. */
      readonly ok: false;
      /** What does not work, and what to do, in one line. */
      readonly problem: string;
    };

/**
 * A name is lower-case letters, digits and hyphens, and comes from the source, never from outside. The
 * same name again is the same thing, and must be opened with the same durability. What a store does not
 * have it throws as a `StoreError` with the reason `unsupported` when it is opened, not when it is used.
 */
export interface Store extends AsyncDisposable {
  records(name: string, options: RecordsOptions): Records;
  log(name: string, options: LogOptions): Log;
  queue(name: string, options: QueueOptions): Queue;
  counter(name: string, options: CounterOptions): Counter;
  health(): StoreHealth;
  /** Ends the store once everything that was put is kept as well as it can be. */
  close(): Promise<void>;
}

export function isStoreName(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,63}$/.test(name);
}

export function assertStoreName(name: string): void {
  if (!isStoreName(name)) throw new TypeError(`"${name}" cannot be a name in a store`);
}

/** The JSON text of a value; what JSON cannot say is a defect of the caller. */
export function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError('a store keeps JSON values only');
  return text;
}
