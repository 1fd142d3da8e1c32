// How many idempotency keys there are, whose they are, and how many bytes their answers have: what bounds
// a store of keys, in memory or on disk. When answers use too many bytes, the oldest answers go but their
// keys stay; when there are too many keys, a new one is refused before anything runs. A key is never
// removed before its time, because a removed key is a call that may run twice. Each principal may have
// only a part of the keys, so that it cannot use up those of the others.

import { Fault } from '../kernel/fault.ts';
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
  // At most as many: those of them that still have an answer, oldest first.
  readonly #answers = new Set<string>();
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
    this.#bytes += bytes;
    if (bytes > 0) this.#answers.add(slot);
  }

  forget(slot: string): void {
    const indexed = this.#keys.get(slot);
    if (indexed === undefined) return;
    const { owner, bytes } = indexed;
    this.#bytes -= bytes;
    this.#keys.delete(slot);
    this.#answers.delete(slot);
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
    for (const slot of this.#answers) {
      if (this.#bytes <= this.#limits.maxBytes) break;
      const indexed = this.#keys.get(slot);
      this.#answers.delete(slot);
      if (indexed === undefined) continue;
      // Setting an existing slot keeps its place in the order.
      this.#keys.set(slot, { ...indexed, bytes: 0 });
      this.#bytes -= indexed.bytes;
      dropped.push(slot);
    }
    return dropped;
  }
}

function full(count: number, whose: string): Fault {
  return new Fault(
    'overloaded',
    `${count} idempotency keys${whose} are in use, each for 24 h; call without a key, or later`,
  );
}
