// The rules about what is kept. Every change of a record has a number, and a reader must be given the
// newest change or one that was under way while it read. When the host was killed, everything that
// was acknowledged by a healthy store is there in the next life, and nothing that was never put. A
// record that the disk has damaged counts as absent and is reported; it never reads as anything else.

import type { StoreProblem } from '../../src/store/problem.ts';
import { fileOf } from '../../src/store/record-files.ts';
import type { Violated } from './call-rules.ts';
import type { SimDisk } from './sim-disk.ts';

export const collectionName = 'kept';

interface Kept {
  /** By version; undefined is a removal, and the state before the first put. */
  readonly values: (string | undefined)[];
  /** No reader may be given an older version than this one. */
  oldest: number;
  /** The newest version that a healthy store has acknowledged. */
  acknowledged: number;
}

/** What was so when a read began. */
export interface Reading {
  readonly oldest: number;
  readonly harms: number;
  readonly wasHarmed: boolean;
  readonly unreadable: number;
}

export class StoreRules {
  readonly #disk: SimDisk;
  readonly #violated: Violated;
  readonly #kept = new Map<string, Kept>();
  readonly #reported = new Set<string>();

  constructor(disk: SimDisk, violated: Violated) {
    this.#disk = disk;
    this.#violated = violated;
  }

  complained({ kind, file }: StoreProblem): void {
    this.#reported.add(kind === 'damaged' ? `damaged ${file}` : kind);
  }

  /** The disk keeps what was acknowledged; the rest it may have or not, also after an orderly end. */
  lifeEnded(): void {
    for (const kept of this.#kept.values()) kept.oldest = kept.acknowledged;
  }

  failed(error: unknown): void {
    this.#violated('kept-records', `the store failed whoever uses it: ${String(error)}`);
  }

  // --- changing ----------------------------------------------------------------------------

  nextValue(key: string): string {
    return `${key}${this.#of(key).values.length}`;
  }

  changes(key: string, value: string | undefined): number {
    const kept = this.#of(key);
    kept.values.push(value);
    // It takes effect for readers at once.
    kept.oldest = kept.values.length - 1;
    return kept.oldest;
  }

  changed(key: string, version: number, isHealthy: boolean): void {
    if (!isHealthy) return;
    const kept = this.#of(key);
    kept.acknowledged = Math.max(kept.acknowledged, version);
    const value = kept.values[version];
    const file = fileOf(collectionName, key);
    const isNewest = version === kept.values.length - 1;
    if (!isNewest || value === undefined || this.#disk.isHarmed(file)) return;
    if (this.#disk.holds(file, `"${value}"`)) return;
    this.#violated('kept-records', `${key} was acknowledged as ${value} and is not on the disk`);
  }

  // --- reading -----------------------------------------------------------------------------

  reads(key: string): Reading {
    const { harms, unreadable } = this.#disk;
    const wasHarmed = this.#disk.isHarmed(fileOf(collectionName, key));
    return { oldest: this.#of(key).oldest, harms, wasHarmed, unreadable };
  }

  read(key: string, reading: Reading | undefined, value: unknown): void {
    const kept = this.#of(key);
    const version = kept.values.lastIndexOf(value as string | undefined);
    if (reading === undefined || version < 0) {
      return this.#violated('kept-records', `${key} reads as ${String(value)}, never put there`);
    }
    if (version >= reading.oldest) {
      // What could not be read counts as absent, and may be there the next time.
      const isKnown = value !== undefined || this.#disk.unreadable === reading.unreadable;
      if (isKnown) kept.oldest = Math.max(kept.oldest, version);
    } else if (value !== undefined) {
      const newest = kept.values[reading.oldest];
      this.#violated('kept-records', `${key} reads as ${String(value)}, but ${newest} is newer`);
    } else this.#judgeLoss(key, reading);
  }

  /** It is gone: the disk must have taken it, and a person must have been told. */
  #judgeLoss(key: string, { harms, wasHarmed, unreadable }: Reading): void {
    const file = fileOf(collectionName, key);
    const isReported = this.#reported.has(`damaged ${this.#disk.pathOf(file)}`);
    if (this.#disk.unreadable > unreadable && this.#reported.has('unreadable')) return;
    if (!wasHarmed && this.#disk.harms === harms) {
      this.#violated('kept-records', `${key} was kept and is lost`);
    } else if (!isReported && !this.#disk.wasMovedUntold(file)) {
      this.#violated('kept-records', `${key} was damaged and is gone, but nobody was told`);
    }
  }

  #of(key: string): Kept {
    const known = this.#kept.get(key);
    if (known) return known;
    const kept: Kept = { values: [undefined], oldest: 0, acknowledged: 0 };
    this.#kept.set(key, kept);
    return kept;
  }
}
