// Records: JSON values under keys, each with an optional time to live. The rules for every store: a
// change that has resolved is seen by every later read; changes of one key take effect one after
// the other, and of several puts the last one wins; a value is absent from the instant its time is
// over; reads return copies. A change that was rejected with `not_kept` may or may not have taken
// place: read again to find out. With any other rejection nothing has changed.

import type { Durability } from './durability.ts';

/**
 * Identifies one state of a record: every change gives a new one, also a change to an equal value.
 */
export type Version = string;

export interface RecordEntry {
  readonly key: string;
  /** As parsed from JSON, or bytes; the caller checks whether it is valid. */
  readonly value: unknown;
  readonly version: Version;
  /** What is left of its time when it was read, by the clock that all share who use the store; absent where there is none. */
  readonly leftMs?: number;
}

export interface PutOptions {
  /** How long the value lives; without it, until it is removed. */
  readonly ttlMs?: number;
}

/** The result of a conditional change; `entry` is the existing value instead. */
export type ConditionalPut =
  | { readonly isPut: true; readonly version: Version }
  | { readonly isPut: false; readonly entry: RecordEntry | undefined };

/** What a watcher is told. */
export type RecordChange =
  /** The record of this key was put or removed. */
  | { readonly kind: 'changed'; readonly key: string }
  /** Changes may have been missed: everything has to be looked at again. */
  | { readonly kind: 'gap' };

/** Must not throw. */
export type RecordsHeard = (change: RecordChange) => void;

export interface Records {
  /** Values may be bytes as well (`bytes.ts`). */
  readonly takesBytes?: true;

  /**
   * Undefined when there is none. A durable record that exists but cannot be read rejects
   * (`unreadable`); a forgetful one counts as absent.
   */
  get(key: string): Promise<RecordEntry | undefined>;

  /** Replaces the existing value. Resolved, durable: the new value survives a crash. */
  put(key: string, value: unknown, options?: PutOptions): Promise<Version>;

  /**
   * Puts the value if there is none, otherwise returns the existing one. Atomic: of any number at
   * once, one puts. Resolved as put, durable: it survives a crash. Resolved as not put: this says
   * nothing about how well the other value is kept.
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

  /**
   * Removing a missing key is not an error. Resolved, durable: it does not come back after a crash.
   */
  remove(key: string): Promise<void>;

  /**
   * All readable records that have not expired and whose key starts with the prefix, in the order
   * of the keys.
   */
  entries(prefix?: string): Promise<readonly RecordEntry[]>;

  /**
   * Whether everything that was ever stored here could be read. If not, the missing data has been
   * reported. For callers that must distinguish an unreadable value from one that was never put.
   */
  isWhole(): Promise<boolean>;

  /**
   * Tells of changes of keys with this prefix from now on, of this process and of others, after a read shows them;
   * not of values whose time is over. `gap` may come at any time, also first. Absent where others cannot be followed.
   */
  watch?(prefix: string, heard: RecordsHeard): Disposable;
}

/**
 * Whether this can be a value of these records, of this version or another. Other values count as
 * damaged.
 */
export type Shape = (value: unknown) => boolean;

export interface RecordsOptions {
  readonly durability: Durability;
  readonly shape?: Shape;
  /**
   * Of the values, which have it as their member `version`. A value with a higher one was written by a newer
   * Holdfast: it is reported as such and counts as absent. In files it stays: forgetful changes of it are dropped.
   */
  readonly version?: number;
  /** Beyond this many a new key is rejected (`full`); forgetful records drop the one put longest ago. */
  readonly maxEntries?: number;
  /** Forgetful records for all processes that use the same store, where it can be shared; otherwise of this process. */
  readonly shared?: boolean;
}
