// How many idempotency keys there are, whose they are, and how many bytes their answers have: what bounds
// a store of keys, in memory or on disk. When answers use too many bytes, the oldest answers of whoever has the
// most bytes go but their keys stay, so that nobody's answers push out those of others who have fewer; when there are too many keys, a new one is refused before anything runs. A key is never
// removed before its time, because a removed key is a call that may run twice. Each principal may have
// only a part of the keys, so that it cannot use up those of the others.

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
  readonly owner: string;
  readonly expiresAt: number;
  /** Of its answer. */
  readonly bytes: number;
}

export class KeyedIndex {
  readonly #limits: KeyedLimits;
  // At most `maxKeys`, in the order of writing. All records are kept equally long, so this is the
  // order of expiry.
  readonly #keys = new Map<string, Indexed>();
  // At most as many: those of them that still have an answer, by owner, oldest first; none is empty.
  readonly #answers = new Map<string, Set<string>>();
  readonly #bytesOf = new OwnerCounts();
  // How many each principal has; at most one for each key, and none is zero.
  readonly #owners = new Map<string, number>();
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
  assertRoomFor(id: string): void {
    const owner = ownerIdIn(id);
    const { maxKeys, maxKeysPerPrincipal } = this.#limits;
    const own = this.#owners.get(owner) ?? 0;
    if (own >= maxKeysPerPrincipal) throw full(maxKeysPerPrincipal, ' of this caller');
    if (this.#keys.size >= maxKeys) throw full(maxKeys, '');
  }

  /** `bytes` is the size of its answer, 0 if it has none. */
  wrote(slot: string, id: string, bytes: number, expiresAt: number): void {
    // By whichever path it came.
    const owner = ownerIdIn(id);
    this.forget(slot);
    this.#keys.set(slot, { owner, expiresAt, bytes });
    this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + 1);
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
    const left = (this.#owners.get(owner) ?? 1) - 1;
    if (left > 0) this.#owners.set(owner, left);
    else this.#owners.delete(owner);
  }

  /** Forgets the keys whose time is over, and returns them. */
  sweep(now: number): readonly string[] {
    const over: string[] = [];
    for (const [slot, { expiresAt }] of this.#keys) {
      if (now < expiresAt) break;
      over.push(slot);
    }
    for (const slot of over) this.forget(slot);
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
      // Setting an existing slot keeps its place in the order.
      this.#keys.set(slot, { ...indexed, bytes: 0 });
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

function full(count: number, whose: string): Fault {
  return new Fault(
    'overloaded',
    `${count} idempotency keys${whose} are in use, each for 24 h; call without a key, or later`,
  );
}
