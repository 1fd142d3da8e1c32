// A log: JSON values in the order in which they were appended, each with a sequence number. Numbers
// only grow, also over trims and restarts, and are never used twice; there may be gaps between
// them. Old entries are removed when the log is trimmed. When a log is full, an append is rejected
// (`full`); a forgetful log drops its oldest entries instead, and `range` shows that they are gone.

import type { Durability } from './durability.ts';

export interface LogEntry {
  readonly sequence: number;
  readonly value: unknown;
}

export interface ReadOptions {
  /** The lowest sequence number to read; without it, the oldest stored entry. */
  readonly from?: number;
  /** How many entries at most; 100 if absent, and never more than 1,000. */
  readonly limit?: number;
}

export interface LogRange {
  /** Of the oldest stored entry; equal to `next` if there is none. */
  readonly first: number;
  /** No entry has this number or a larger one yet. */
  readonly next: number;
}

export interface Log {
  /** Values may be bytes as well (`bytes.ts`). */
  readonly takesBytes?: true;

  /**
   * Resolves to the sequence number. Resolved, durable: the entry survives a crash. Rejected with
   * `not_kept`: it may or may not be stored, and its number is not used for another.
   */
  append(value: unknown): Promise<number>;

  /** One page, in the order of the numbers; the next begins after its last. Empty: nothing newer yet. */
  read(options?: ReadOptions): Promise<readonly LogEntry[]>;

  /** Removes entries with smaller numbers. After a crash some of them may be there again. */
  trim(before: number): Promise<void>;

  range(): Promise<LogRange>;
}

export interface LogOptions {
  readonly durability: Durability;
  readonly maxEntries?: number;
}

export const readLimits = { usual: 100, most: 1_000 } as const;
