// The store without a disk: everything is gone when the process ends. It is bounded in bytes; when there
// is too much, what was put longest ago goes first. Time is monotonic here, since nothing outlives us.

import type { Clock } from '../kernel/clock.ts';
import {
  assertCollectionName,
  type Collection,
  type Entry,
  jsonText,
  type PutOptions,
  type Store,
  type StoreHealth,
} from './store.ts';

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly maxBytes?: number;
}

/** Values are kept as JSON text, so that nobody can change one from outside. */
interface Kept {
  readonly text: string;
  readonly expiresAt: number;
}

export class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  /** By collection and key, at most `maxBytes`; the one put longest ago comes first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #isClosed = false;

  constructor({ clock, maxBytes = 67_108_864 }: MemoryStoreOptions) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  collection(name: string): Collection {
    assertCollectionName(name);
    // A line break cannot be part of a collection's name, so no two places share a slot.
    const slot = (key: string) => `${name}\n${key}`;
    return {
      get: async (key) => this.#get(slot(key)),
      put: async (key, value, options) => this.#put(slot(key), value, options),
      remove: async (key) => this.#remove(slot(key)),
      entries: async (prefix = '') => this.#entries(slot(prefix), name.length + 1),
      isWhole: async () => true,
    };
  }

  health(): StoreHealth {
    return { ok: true };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#kept.clear();
    this.#bytes = 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #get(slot: string): unknown {
    this.#assertOpen();
    const kept = this.#kept.get(slot);
    if (kept === undefined) return undefined;
    if (this.#isAlive(kept)) return JSON.parse(kept.text);
    this.#remove(slot);
    return undefined;
  }

  #put(slot: string, value: unknown, { ttlMs }: PutOptions = {}): void {
    this.#assertOpen();
    const text = jsonText(value);
    this.#remove(slot);
    const expiresAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : this.#clock.now() + ttlMs;
    this.#kept.set(slot, { text, expiresAt });
    this.#bytes += sizeOf(slot, text);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#remove(oldest);
    }
  }

  #remove(slot: string): void {
    this.#assertOpen();
    const kept = this.#kept.get(slot);
    if (kept === undefined) return;
    this.#kept.delete(slot);
    this.#bytes -= sizeOf(slot, kept.text);
  }

  #entries(start: string, nameLength: number): Entry[] {
    this.#assertOpen();
    return [...this.#kept]
      .filter(([slot, kept]) => slot.startsWith(start) && this.#isAlive(kept))
      .map(([slot, { text }]) => ({ key: slot.slice(nameLength), value: JSON.parse(text) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #isAlive({ expiresAt }: Kept): boolean {
    return this.#clock.now() < expiresAt;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error('the store is closed');
  }
}

/** Two bytes per character is what a string may cost at worst. */
function sizeOf(slot: string, text: string): number {
  return 2 * (slot.length + text.length);
}
