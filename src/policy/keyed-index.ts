// How many idempotency keys there are, whose they are, and how many bytes their answers have: what bounds
// a store of keys, in memory or on disk. When answers use too many bytes, the oldest answers of whoever has the
// most bytes go but their keys stay, so that nobody's answers push out those of others who have fewer; when there are too many keys, a new one is refused before anything runs. A key is never
// removed before its time, because a removed key is a call that may run twice. Each principal may have
// only a part of the keys, and at most three times as many as are left: however many principals take all that
// they can get, some are left for one that has few.

import { type Expiring, ExpiryHeap } from '../kernel/expiry-heap.ts';
import { Fault } from '../kernel/fault.ts';
import { OwnerCounts } from '../kernel/owner-counts.ts';
import { ownerIdIn } from './principal.ts';

export interface KeyedLimits {
  readonly maxKeys: number;
  readonly maxKeysPerPrincipal: number;
  /** Of answers; keys and fingerprints are small and bounded by `maxKeys`. */
  readonly maxBytes: number;
}

export const keyedLimits: KeyedLimits = {
  maxKeys: 65_536,
  maxKeysPerPrincipal: 49_152,
  maxBytes: 67_108_864,
};

interface Indexed {
  readonly slot: string;
  readonly owner: string;
  readonly expiresAt: number;
  /** Of its answer; 0 if it has none, or none any more. */
  bytes: number;
  place: number;
  /** The same key among those of its owner. */
  readonly ofOwner: Expiring;
}

/** How many keys one may have for each that is left. */
const perKeyLeft = 3;

export class KeyedIndex {
  readonly #limits: KeyedLimits;
  // At most `maxKeys`, and those of running calls that have outlasted their keys.
  readonly #keys = new Map<string, Indexed>();
  // At most as many: those of them that still have an answer, by owner, oldest first; none is empty.
  readonly #answers = new Map<string, Set<string>>();
  readonly #bytesOf = new OwnerCounts();
  // The keys of each principal, by expiry; at most one for each key, and none is empty.
  readonly #owners = new Map<string, ExpiryHeap<Expiring>>();
  readonly #byExpiry = new ExpiryHeap<Indexed>();
  #bytes = 0;

  constructor(limits: KeyedLimits = keyedLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): { readonly keys: number; readonly principals: number } {
    return { keys: this.#keys.size, principals: this.#owners.size };
  }

  has(slot: string): boolean {
    return this.#keys.has(slot);
  }

  expiresAt(slot: string): number | undefined {
    return this.#keys.get(slot)?.expiresAt;
  }

  /** Throws `overloaded` if this principal cannot have another key. */
  assertRoomFor(id: string, now: number): void {
    const { maxKeys, maxKeysPerPrincipal } = this.#limits;
    const own = this.#owners.get(ownerIdIn(id));
    const count = own?.size ?? 0;
    const left = Math.max(0, maxKeys - this.#keys.size);
    if (count < maxKeysPerPrincipal && count < perKeyLeft * left) return;
    if (left > 0) throw full(count, ' of this caller', own?.first, now);
    throw full(this.#keys.size, '', this.#byExpiry.first, now);
  }

  /** `bytes` is the size of its answer, 0 if it has none. */
  wrote(slot: string, id: string, bytes: number, expiresAt: number): void {
    // By whichever path it came.
    const owner = ownerIdIn(id);
    this.forget(slot);
    const ofOwner = { expiresAt, place: 0 };
    const indexed = { slot, owner, expiresAt, bytes, place: 0, ofOwner };
    this.#keys.set(slot, indexed);
    this.#byExpiry.add(indexed);
    const own = this.#owners.get(owner) ?? new ExpiryHeap();
    this.#owners.set(owner, own);
    own.add(ofOwner);
    if (bytes > 0) this.#addAnswer(slot, owner, bytes);
  }

  #addAnswer(slot: string, owner: string, bytes: number): void {
    const answers = this.#answers.get(owner) ?? new Set();
    this.#answers.set(owner, answers.add(slot));
    this.#bytes += bytes;
    this.#bytesOf.add(owner, bytes);
  }

  #removeAnswer(slot: string, { owner, bytes }: Indexed): void {
    const answers = this.#answers.get(owner);
    if (!answers?.delete(slot)) return;
    if (answers.size === 0) this.#answers.delete(owner);
    this.#bytes -= bytes;
    this.#bytesOf.remove(owner, bytes);
  }

  forget(slot: string): void {
    const indexed = this.#keys.get(slot);
    if (indexed === undefined) return;
    const { owner } = indexed;
    this.#removeAnswer(slot, indexed);
    this.#keys.delete(slot);
    this.#byExpiry.remove(indexed);
    const own = this.#owners.get(owner);
    own?.remove(indexed.ofOwner);
    if (own?.size === 0) this.#owners.delete(owner);
  }

  /** Forgets the keys whose time is over, and returns them. */
  sweep(now: number): readonly string[] {
    const over: string[] = [];
    for (let first = this.#byExpiry.first; first !== undefined; first = this.#byExpiry.first) {
      if (now < first.expiresAt) break;
      over.push(first.slot);
      this.forget(first.slot);
    }
    return over;
  }

  /** The slots whose answers have to go; from now on they count as having none. */
  dropAnswers(): readonly string[] {
    const dropped: string[] = [];
    while (this.#bytes > this.#limits.maxBytes) {
      const slot = this.#oldestOfLargest();
      const indexed = slot === undefined ? undefined : this.#keys.get(slot);
      if (slot === undefined || indexed === undefined) break;
      this.#removeAnswer(slot, indexed);
      indexed.bytes = 0;
      dropped.push(slot);
    }
    return dropped;
  }

  /** The oldest answer of whoever has the most bytes of answers. */
  #oldestOfLargest(): string | undefined {
    const largest = this.#bytesOf.largest();
    for (const slot of this.#answers.get(largest ?? '') ?? []) return slot;
    return undefined;
  }
}

function full(count: number, whose: string, first: Expiring | undefined, now: number): Fault {
  const retryAfterMs = Math.max(1, Math.ceil((first?.expiresAt ?? now) - now));
  const seconds = Math.ceil(retryAfterMs / 1_000);
  return new Fault(
    'overloaded',
    `${count} idempotency keys${whose} are in use, and the first of them is free again in ${seconds} s; call without a key, or then`,
    { retryAfterMs },
  );
}
