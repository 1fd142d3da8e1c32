// The size limit of a memory store, in bytes: one limit for everything in it. A request for room
// succeeds if there is enough once expired values are removed and forgetful ones are dropped, the
// one put longest ago first. Other values are never dropped: then there is no room, and nothing was
// dropped for the attempt.

import type { Clock } from '../../kernel/clock.ts';
import { storeClosed } from '../store-error.ts';

/** A container whose values can expire. */
export interface Sweepable {
  /** Releases expired values. Called often, so it is cheap when there are none. */
  sweep(now: number): void;
}

export interface HoldOptions {
  /** For values that may be dropped: removes one from its container. */
  readonly drop?: (() => void) | undefined;
  /** Released in exchange. */
  readonly instead?: Held | undefined;
}

export class MemoryRoom {
  readonly clock: Clock;
  readonly #maxBytes: number;
  /** What may be dropped, put longest ago first; at most `maxBytes` of it. */
  readonly #droppable = new Map<Held, () => void>();
  /** One for each name that was opened. */
  readonly #sweepable = new Set<Sweepable>();
  #used = 0;
  #droppableBytes = 0;
  #isClosed = false;

  constructor(clock: Clock, maxBytes: number) {
    this.clock = clock;
    this.#maxBytes = maxBytes;
  }

  add(part: Sweepable): void {
    this.#sweepable.add(part);
  }

  assertOpen(): void {
    if (this.#isClosed) throw storeClosed();
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Undefined when there is no room. */
  hold(bytes: number, { drop, instead }: HoldOptions = {}): Held | undefined {
    if (this.#missing(bytes, instead) > 0) this.#sweep();
    const given = instead !== undefined && this.#droppable.has(instead) ? instead.bytes : 0;
    if (this.#missing(bytes, instead) > this.#droppableBytes - given) return undefined;
    instead?.release();
    while (this.#missing(bytes, undefined) > 0) this.#dropOldest();
    const held = new Held(bytes, (one) => this.#release(one));
    this.#used += bytes;
    if (drop !== undefined) {
      this.#droppable.set(held, drop);
      this.#droppableBytes += bytes;
    }
    return held;
  }

  #missing(bytes: number, instead: Held | undefined): number {
    const freed = instead?.isHeld ? instead.bytes : 0;
    return this.#used - freed + bytes - this.#maxBytes;
  }

  #dropOldest(): void {
    const [oldest] = this.#droppable;
    if (oldest === undefined) throw new Error('there is nothing to drop');
    const [held, drop] = oldest;
    held.release();
    drop();
  }

  #sweep(): void {
    const now = this.clock.now();
    for (const part of this.#sweepable) part.sweep(now);
  }

  #release(held: Held): void {
    this.#used -= held.bytes;
    if (this.#droppable.delete(held)) this.#droppableBytes -= held.bytes;
  }
}

/** A part of the room. */
export class Held {
  readonly bytes: number;
  readonly #onRelease: (held: Held) => void;
  isHeld = true;

  constructor(bytes: number, onRelease: (held: Held) => void) {
    this.bytes = bytes;
    this.#onRelease = onRelease;
  }

  release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.#onRelease(this);
  }
}

/** Two bytes for each character is what a text may cost at worst. */
export function textBytes(...texts: readonly string[]): number {
  return 2 * texts.reduce((sum, text) => sum + text.length, 0);
}

/** How many entries are kept under one name, unless its options say otherwise. */
export const usualEntries = 65_536;
