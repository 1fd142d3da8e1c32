// What a store in memory holds, as it goes to the store of the next process of the same instance: values with what is
// left of their times, because each process has a monotonic clock of its own.

import type { OwnValue } from './own-value.ts';

export interface MovedRecord {
  readonly key: string;
  readonly own: OwnValue;
  readonly version: string;
  /** Null: it has no end. */
  readonly leftMs: number | null;
}

export interface MovedEntry {
  readonly sequence: number;
  readonly own: OwnValue;
}

export interface MovedItem {
  readonly id: number;
  readonly own: string;
  readonly attempt: number;
  readonly isClaimed: boolean;
  /** Until it can be claimed; while it is claimed, until its lease ends. */
  readonly leftMs: number;
}

export interface MovedCount {
  readonly key: string;
  readonly taken: number;
  readonly leftMs: number | null;
}

/** A container whose values can go to another one. */
export interface Moves<Value> {
  /** What is there; nothing may be changed before all of it was taken. */
  moved(): Iterable<Value>;
  takeOver(value: Value): void;
  /** The last number that it has given. */
  last: number;
}

export function leftUntil(end: number, now: number): number | null {
  return end === Number.POSITIVE_INFINITY ? null : Math.max(0, end - now);
}

export function until(leftMs: number | null, now: number): number {
  return leftMs === null ? Number.POSITIVE_INFINITY : now + leftMs;
}
