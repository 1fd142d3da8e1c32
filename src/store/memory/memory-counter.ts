// A counter in memory.

import {
  assertAmounts,
  type Counter,
  type CounterOptions,
  type Taken,
  type Window,
} from '../contract/counter.ts';
import { StoreError } from '../store-error.ts';
import { leftUntil, type MovedCount, type Moves, until } from './moved-value.ts';
import { type Held, type MemoryRoom, type Sweepable, textBytes, usualEntries } from './room.ts';

interface Count {
  taken: number;
  endsAt: number;
  readonly held: Held | undefined;
}

export class MemoryCounter implements Counter, Sweepable, Moves<MovedCount> {
  readonly #room: MemoryRoom;
  readonly #name: string;
  readonly #isForgetful: boolean;
  readonly #maxEntries: number;
  /** At most `maxEntries`; the one whose window began first comes first. */
  readonly #counts = new Map<string, Count>();
  /** Nothing in `#counts` ends before this. */
  #nextEnd = Number.POSITIVE_INFINITY;

  constructor(room: MemoryRoom, name: string, { durability, maxEntries }: CounterOptions) {
    this.#room = room;
    this.#name = name;
    this.#isForgetful = durability === 'forgetful';
    this.#maxEntries = maxEntries ?? usualEntries;
    room.add(this);
  }

  async take(key: string, amount: number, { limit, windowMs }: Window): Promise<Taken> {
    this.#room.assertOpen();
    assertAmounts(amount, limit, windowMs);
    const count = this.#find(key);
    const left = Math.max(0, limit - (count?.taken ?? 0));
    if (amount > left) {
      return { isTaken: false, left, retryAfterMs: this.#retryAfterMs(count, amount, limit) };
    }
    if (amount > 0) (count ?? this.#begin(key, windowMs)).taken += amount;
    return { isTaken: true, left: left - amount };
  }

  async reset(key: string): Promise<void> {
    this.#room.assertOpen();
    this.#forget(key);
  }

  sweep(now: number): void {
    if (now < this.#nextEnd) return;
    this.#nextEnd = Number.POSITIVE_INFINITY;
    for (const [key, { endsAt }] of this.#counts) {
      if (endsAt <= now) this.#forget(key);
      else this.#nextEnd = Math.min(this.#nextEnd, endsAt);
    }
  }

  *moved(): Iterable<MovedCount> {
    const now = this.#room.clock.now();
    this.sweep(now);
    for (const [key, { taken, endsAt }] of this.#counts) {
      yield { key, taken, leftMs: leftUntil(endsAt, now) };
    }
  }

  takeOver({ key, taken, leftMs }: MovedCount): void {
    this.#forget(key);
    const drop = this.#isForgetful ? () => this.#counts.delete(key) : undefined;
    const held = this.#room.hold(textBytes(key), { drop });
    if (held === undefined) return;
    const endsAt = until(leftMs, this.#room.clock.now());
    this.#nextEnd = Math.min(this.#nextEnd, endsAt);
    this.#counts.set(key, { taken, endsAt, held });
  }

  readonly last = 0;

  #find(key: string): Count | undefined {
    const count = this.#counts.get(key);
    if (count === undefined || this.#room.clock.now() < count.endsAt) return count;
    this.#forget(key);
    return undefined;
  }

  #begin(key: string, windowMs: number | null): Count {
    this.#makePlace();
    const drop = this.#isForgetful ? () => this.#counts.delete(key) : undefined;
    const held = this.#room.hold(textBytes(key), { drop });
    if (held === undefined && !this.#isForgetful) throw this.#full();
    const endsAt = windowMs === null ? Number.POSITIVE_INFINITY : this.#room.clock.now() + windowMs;
    this.#nextEnd = Math.min(this.#nextEnd, endsAt);
    const count = { taken: 0, endsAt, held };
    if (held !== undefined) this.#counts.set(key, count);
    return count;
  }

  #makePlace(): void {
    if (this.#counts.size < this.#maxEntries) return;
    this.sweep(this.#room.clock.now());
    if (this.#counts.size < this.#maxEntries) return;
    const [oldest] = this.#counts.keys();
    if (!this.#isForgetful || oldest === undefined) throw this.#full();
    this.#forget(oldest);
  }

  #forget(key: string): void {
    this.#counts.get(key)?.held?.release();
    this.#counts.delete(key);
  }

  #retryAfterMs(count: Count | undefined, amount: number, limit: number): number | null {
    const endsAt = count?.endsAt ?? Number.POSITIVE_INFINITY;
    if (amount > limit || endsAt === Number.POSITIVE_INFINITY) return null;
    return Math.ceil(endsAt - this.#room.clock.now());
  }

  #full(): StoreError {
    return new StoreError('full', `there is no room for another key of ${this.#name}`);
  }
}
