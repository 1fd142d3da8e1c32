// A queue in memory. A lease that has ended is noticed by the next operation; there is no timer for
// it.

import type { Claim, Queue, QueueOptions, QueuePutOptions } from '../contract/queue.ts';
import { jsonText } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { MovedItem, Moves } from './moved-value.ts';
import { type Held, type MemoryRoom, textBytes, usualEntries } from './room.ts';

interface Item {
  readonly id: number;
  readonly text: string;
  readonly held: Held;
  /** When it can be claimed; while it is claimed, the end of the lease. */
  freeAt: number;
  attempt: number;
  /** The claim that holds it, or held it last. */
  claimId: string | null;
}

export class MemoryQueue implements Queue, Moves<MovedItem> {
  readonly #room: MemoryRoom;
  readonly #name: string;
  readonly #maxEntries: number;
  /** Until acknowledged, at most `maxEntries`; in the order in which they were put. */
  readonly #items = new Map<number, Item>();
  /** By claim, the latest of each item: at most one for each of `#items`. */
  readonly #claimed = new Map<string, Item>();
  #lastId = 0;

  constructor(room: MemoryRoom, name: string, { maxEntries }: QueueOptions) {
    this.#room = room;
    this.#name = name;
    this.#maxEntries = maxEntries ?? usualEntries;
  }

  async put(value: unknown, { delayMs = 0 }: QueuePutOptions = {}): Promise<void> {
    this.#room.assertOpen();
    const text = jsonText(value);
    const held = this.#items.size < this.#maxEntries ? this.#room.hold(textBytes(text)) : undefined;
    if (held === undefined) {
      throw new StoreError('full', `the queue ${this.#name} is full: ${this.#items.size} wait`);
    }
    this.#lastId += 1;
    const freeAt = this.#now + delayMs;
    const item = { id: this.#lastId, text, held, freeAt, attempt: 0, claimId: null };
    this.#items.set(item.id, item);
  }

  async claim(leaseMs: number): Promise<Claim | undefined> {
    this.#room.assertOpen();
    const now = this.#now;
    for (const item of this.#items.values()) {
      if (item.freeAt <= now) return this.#lease(item, now + leaseMs);
    }
    return undefined;
  }

  async ack(claimId: string): Promise<void> {
    const item = this.#holder(claimId);
    this.#items.delete(item.id);
    this.#claimed.delete(claimId);
    item.held.release();
  }

  async giveBack(claimId: string, { delayMs = 0 }: QueuePutOptions = {}): Promise<void> {
    const item = this.#holder(claimId);
    this.#claimed.delete(claimId);
    item.claimId = null;
    item.freeAt = this.#now + delayMs;
  }

  async extend(claimId: string, leaseMs: number): Promise<number> {
    const item = this.#holder(claimId);
    item.freeAt = this.#now + leaseMs;
    return item.freeAt;
  }

  async size(): Promise<number> {
    this.#room.assertOpen();
    return this.#items.size;
  }

  *moved(): Iterable<MovedItem> {
    for (const { id, text, attempt, claimId, freeAt } of this.#items.values()) {
      const leftMs = Math.max(0, freeAt - this.#now);
      yield { id, own: text, attempt, isClaimed: claimId !== null, leftMs };
    }
  }

  takeOver({ id, own, attempt, isClaimed, leftMs }: MovedItem): void {
    const held = this.#room.hold(textBytes(own));
    if (held === undefined) return;
    const claimId = isClaimed ? `${id}.${attempt}` : null;
    const item: Item = { id, text: own, held, freeAt: this.#now + leftMs, attempt, claimId };
    this.#items.set(id, item);
    if (claimId !== null) this.#claimed.set(claimId, item);
    this.last = id;
  }

  get last(): number {
    return this.#lastId;
  }

  set last(last: number) {
    this.#lastId = Math.max(this.#lastId, last);
  }

  #lease(item: Item, until: number): Claim {
    if (item.claimId !== null) this.#claimed.delete(item.claimId);
    item.attempt += 1;
    item.freeAt = until;
    const id = `${item.id}.${item.attempt}`;
    item.claimId = id;
    this.#claimed.set(id, item);
    return { id, value: JSON.parse(item.text), attempt: item.attempt, until };
  }

  #holder(claimId: string): Item {
    this.#room.assertOpen();
    const item = this.#claimed.get(claimId);
    if (item !== undefined && this.#now < item.freeAt) return item;
    throw new StoreError(
      'lost_claim',
      `this claim of an item of ${this.#name} is over; another may hold the item`,
    );
  }

  get #now(): number {
    return this.#room.clock.now();
  }
}
