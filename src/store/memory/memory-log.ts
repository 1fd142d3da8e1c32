// A log in memory. Its numbers have no gaps, so the position of an entry follows from its number.

import {
  type Log,
  type LogEntry,
  type LogOptions,
  type LogRange,
  type ReadOptions,
  readLimits,
} from '../contract/log.ts';
import { StoreError } from '../store-error.ts';
import type { MovedEntry, Moves } from './moved-value.ts';
import { heldValue, type OwnValue, ownValueOf, roomFor } from './own-value.ts';
import { type Held, type MemoryRoom, usualEntries } from './room.ts';

export class MemoryLog implements Log, Moves<MovedEntry> {
  readonly takesBytes = true;
  readonly #room: MemoryRoom;
  readonly #name: string;
  readonly #isForgetful: boolean;
  readonly #maxEntries: number;
  /** At most `maxEntries`, from `#first` to `#next`. */
  readonly #kept = new Map<number, { readonly own: OwnValue; readonly held: Held }>();

  #first = 1;
  #next = 1;

  constructor(room: MemoryRoom, name: string, { durability, maxEntries }: LogOptions) {
    this.#room = room;
    this.#name = name;
    this.#isForgetful = durability === 'forgetful';
    this.#maxEntries = maxEntries ?? usualEntries;
  }

  async append(value: unknown): Promise<number> {
    this.#room.assertOpen();
    const own = ownValueOf(value);
    if (this.#kept.size >= this.#maxEntries) {
      if (!this.#isForgetful) throw this.#full();
      this.#dropFirst();
    }
    const drop = this.#isForgetful ? () => this.#dropFirst() : undefined;
    const held = this.#room.hold(roomFor(own), { drop });
    if (held === undefined && !this.#isForgetful) throw this.#full();
    const sequence = this.#next;
    this.#next += 1;
    if (held !== undefined) this.#kept.set(sequence, { own, held });
    // An entry that is too large by itself displaces all before it, and is dropped itself.
    else this.#trim(this.#next);
    return sequence;
  }

  async read({
    from = 0,
    limit = readLimits.usual,
  }: ReadOptions = {}): Promise<readonly LogEntry[]> {
    this.#room.assertOpen();
    const start = Math.max(from, this.#first);
    const end = Math.min(this.#next, start + Math.min(limit, readLimits.most));
    const page: LogEntry[] = [];
    for (let sequence = start; sequence < end; sequence += 1) {
      const kept = this.#kept.get(sequence);
      if (kept !== undefined) page.push({ sequence, value: heldValue(kept.own) });
    }
    return page;
  }

  async trim(before: number): Promise<void> {
    this.#room.assertOpen();
    this.#trim(Math.min(before, this.#next));
  }

  async range(): Promise<LogRange> {
    this.#room.assertOpen();
    return { first: this.#first, next: this.#next };
  }

  *moved(): Iterable<MovedEntry> {
    for (const [sequence, { own }] of this.#kept) yield { sequence, own };
  }

  /** In the order of the numbers. */
  takeOver({ sequence, own }: MovedEntry): void {
    if (this.#kept.size === 0) this.#first = sequence;
    const drop = this.#isForgetful ? () => this.#dropFirst() : undefined;
    const held = this.#room.hold(roomFor(own), { drop });
    if (held !== undefined) this.#kept.set(sequence, { own, held });
    this.#next = sequence + 1;
  }

  get last(): number {
    return this.#next - 1;
  }

  set last(last: number) {
    this.#next = Math.max(this.#next, last + 1);
    if (this.#kept.size === 0) this.#first = this.#next;
  }

  #trim(before: number): void {
    while (this.#first < before) this.#dropFirst();
  }

  #dropFirst(): void {
    this.#kept.get(this.#first)?.held.release();
    this.#kept.delete(this.#first);
    this.#first += 1;
  }

  #full(): StoreError {
    return new StoreError('full', `the log ${this.#name} is full: trim it`);
  }
}
