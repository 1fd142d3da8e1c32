// Records: JSON values under keys, each with an optional time to live. The rules for every store: a
// change that has resolved is seen by every later read; changes of one key take effect one after the
// other, and of several puts the one that was asked for last wins; a value is gone at the instant its time
// is over, and counts as absent from then on; what is read is a copy. A change that was rejected with `not_kept` may
// have taken place or not: read again to know. With any other rejection nothing has changed.

import type { Durability } from './durability.ts';

/** Names one state of a record: every change makes another one, also one to an equal value. */
export type Version = string;

export interface RecordEntry {
  readonly key: string;
  /** As JSON gives it back; what it means, and whether it fits, is for the caller to check. */
  readonly value: unknown;
  readonly version: Version;
}

export interface PutOptions {
  /** How long the value lives; without it, until it is removed. */
  readonly ttlMs?: number;
}

/** What became of a change that had a condition; `entry` is what was there instead. */
export type ConditionalPut =
  | { readonly isPut: true; readonly version: Version }
  | { readonly isPut: false; readonly entry: RecordEntry | undefined };

export interface Records {
  /**
   * Undefined when there is none. A durable record that is there and cannot be read rejects
   * (`unreadable`); a forgetful one counts as absent.
   */
  get(key: string): Promise<RecordEntry | undefined>;

  /** Replaces what is there. Resolved, durable: the new value is there after a crash. */
  put(key: string, value: unknown, options?: PutOptions): Promise<Version>;

  /**
   * Puts the value if there is none, and else tells what is there. Atomic: of any number at once, one
   * puts. Resolved as put, durable: it is there after a crash. Resolved as not put: nothing is said
   * about how well the other value is kept.
   */
  putIfAbsent(key: string, value: unknown, options?: PutOptions): Promise<ConditionalPut>;

  /**
   * Replaces the value if it is still in this version. Atomic: of any number at once with the same
   * version, one puts. After a crash as `put`.
   */
  compareAndSet(
    key: string,
    version: Version,
    value: unknown,
    options?: PutOptions,
  ): Promise<ConditionalPut>;

  /** Removing what is not there is no error. Resolved, durable: it does not come back after a crash. */
  remove(key: string): Promise<void>;

  /** Everything that lives and can be read, whose key starts with the prefix, in the order of the keys. */
  entries(prefix?: string): Promise<readonly RecordEntry[]>;

  /**
   * Could everything be read that was ever kept here? If not, the user has been told what is missing.
   * For callers to whom a value that cannot be read is not the same as one that was never put.
   */
  isWhole(): Promise<boolean>;
}

/** Can this be a value of these records, of this version or another? One that cannot counts as damaged. */
export type Shape = (value: unknown) => boolean;

export interface RecordsOptions {
  readonly durability: Durability;
  readonly shape?: Shape;
  /** Beyond this many a new key is rejected (`full`); forgetful records drop the one put longest ago. */
  readonly maxEntries?: number;
}
