// What is asked of the database, as data that can be sent to the worker thread, and what comes back.
// The time is part of each operation, because the worker has no clock of ours.

import type { Durability } from '../contract/durability.ts';
import type { StoreRefusal } from '../store-error.ts';

interface Of<Word extends string, Action extends string> {
  readonly word: Word;
  readonly action: Action;
  readonly name: string;
  /** Wall time: it is compared with what an earlier process has stored. */
  readonly now: number;
  /** Absent: durable. What is not is kept in memory, by the process that has the database. */
  readonly durability?: Exclude<Durability, 'durable'>;
}

/** JSON, or bytes (`contract/bytes.ts`), which are moved to the thread of the database. */
export type StoredText = string | Uint8Array;

interface Bounded {
  readonly maxEntries: number;
}

interface Written {
  readonly key: string;
  readonly text: StoredText;
  readonly expiresAt: number | null;
}

export type RecordOperation =
  | (Of<'records', 'get'> & { readonly key: string })
  | (Of<'records', 'put'> & Written & Bounded)
  | (Of<'records', 'putIfAbsent'> & Written & Bounded)
  | (Of<'records', 'compareAndSet'> & Written & Bounded & { readonly version: string })
  | (Of<'records', 'remove'> & { readonly key: string })
  | (Of<'records', 'entries'> & { readonly prefix: string })
  /** Whether nothing was found damaged: answered by the store that has the database open. */
  | Of<'records', 'isWhole'>
  /** Of all names. */
  | Of<'records', 'sweep'>;

export type LogOperation =
  | (Of<'log', 'append'> & Bounded & { readonly text: StoredText })
  | (Of<'log', 'read'> & { readonly from: number; readonly limit: number })
  | (Of<'log', 'trim'> & { readonly before: number })
  | Of<'log', 'range'>;

export type QueueOperation =
  | (Of<'queue', 'put'> & Bounded & { readonly text: string; readonly freeAt: number })
  | (Of<'queue', 'claim'> & { readonly until: number })
  | (Of<'queue', 'ack'> & { readonly claimId: string })
  | (Of<'queue', 'giveBack'> & { readonly claimId: string; readonly freeAt: number })
  | (Of<'queue', 'extend'> & { readonly claimId: string; readonly until: number })
  | Of<'queue', 'size'>;

export type CounterOperation =
  | (Of<'counter', 'take'> &
      Bounded & {
        readonly key: string;
        readonly amount: number;
        readonly limit: number;
        readonly windowMs: number | null;
      })
  | (Of<'counter', 'reset'> & { readonly key: string });

export type StoreOperation = RecordOperation | LogOperation | QueueOperation | CounterOperation;

/** A row whose checksum is wrong: it was changed by something else than this program. */
export interface Damage {
  readonly table: string;
  readonly name: string;
  readonly key: string;
}

export type StoreOutcome =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Something was written to the disk. */
      readonly isStored?: true;
      readonly damaged?: readonly Damage[];
    }
  | {
      readonly ok: false;
      readonly reason: StoreRefusal;
      readonly detail: string;
      /** Of SQLite or the system, if one of them has refused. */
      readonly code?: string;
      readonly damaged?: readonly Damage[];
    };

const readings: ReadonlySet<string> = new Set([
  'get',
  'entries',
  'isWhole',
  'read',
  'range',
  'size',
]);

/** Whether it changes nothing. */
export function isReading({ action }: StoreOperation): boolean {
  return readings.has(action);
}
