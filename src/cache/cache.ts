// The response cache: result bytes, kept until they expire, least recently used out first. Two
// bounds hold at every moment: entries per (server, shelf), and bytes in all. An entry is served
// only while now < expiresAt, a private one only to the principal it was made for, and nothing
// that was asked for before an invalidation is stored after it. Whether a result may be kept is
// decided in freshness.ts, and what is the same request in key.ts.

import type { Clock } from '../kernel/clock.ts';
import { ExpiryHeap } from './expiry-heap.ts';
import type { CacheScope } from './freshness.ts';
import type { CacheKey, Shelf } from './key.ts';

export interface CacheLimits {
  /** Per (server, tool), over all principals. 0 keeps nothing. */
  readonly entriesPerTool: number;
  /** In all, with each entry's own weight. */
  readonly maxBytes: number;
}

/** How the cache of results is used, since the host was made. */
export interface CacheStats {
  /** Results that were answered from the cache. */
  readonly hits: number;
  /** Results that were looked for and not found. */
  readonly misses: number;
  /** Results that are kept now. */
  readonly entries: number;
  /** Bytes that they take up now, each with what it costs to keep it. */
  readonly bytes: number;
}

/** A moment between invalidations; taken before a request goes out, given back with its result. */
export type CacheMark = number;

interface Entry {
  readonly id: string;
  readonly server: string;
  readonly shelf: Shelf;
  /** All of its shelf, itself included. */
  readonly siblings: ByUse;
  readonly bytes: Buffer;
  readonly expiresAt: number;
  place: number;
}

/** In the order of use, so that the first is the least recently used. */
type ByUse = Map<string, Entry>;

/** What an entry weighs beyond its bytes: keys, maps, the heap. Many small entries are not free. */
export const entryOverheadBytes = 512;

/** Servers can be added and removed without end; of those beyond, a request under way keeps nothing. */
const maxMarks = 1_024;

export class ResponseCache {
  readonly #clock: Clock;
  readonly #limits: CacheLimits;
  /** At most `maxBytes`, each entry with its overhead. */
  readonly #all: ByUse = new Map();
  /** The same entries by server and shelf; at most `entriesPerTool` on a shelf, none is empty. */
  readonly #servers = new Map<string, Map<Shelf, ByUse>>();
  readonly #expiry = new ExpiryHeap<Entry>();
  /** When each server's entries were last forgotten; at most `maxMarks`, the latest ones. */
  readonly #invalidatedAt = new Map<string, CacheMark>();
  /** Of those that are not in there any more: none was later than this. */
  #invalidatedBefore: CacheMark = 0;
  #mark: CacheMark = 0;
  #bytes = 0;
  #hits = 0;
  #misses = 0;

  constructor(clock: Clock, limits: CacheLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The kept bytes, shared by all who ask: nobody may write to them. Counts a hit or a miss. */
  get(key: CacheKey): Buffer | undefined {
    const entry = this.#fresh(key.own) ?? this.#fresh(key.shared);
    if (entry === undefined) {
      this.#misses += 1;
      return undefined;
    }
    this.#hits += 1;
    this.#touch(entry);
    return entry.bytes;
  }

  mark(): CacheMark {
    return this.#mark;
  }

  /**
   * Keeps a copy of a result that has just been received: its time starts now. `asked` is the mark
   * from before the request went out.
   */
  put(key: CacheKey, bytes: Uint8Array, ttlMs: number, scope: CacheScope, asked: CacheMark): void {
    if ((this.#invalidatedAt.get(key.server) ?? this.#invalidatedBefore) > asked) return;
    const now = this.#clock.now();
    this.#sweep(now);
    // The newest word replaces this principal's older one, whichever scope either has.
    this.#removeId(key.own);
    if (scope === 'public') this.#removeId(key.shared);
    if (!this.#fits(bytes.length, ttlMs)) return;
    this.#makeRoom(key, bytes.length);
    this.#add({
      id: scope === 'public' ? key.shared : key.own,
      server: key.server,
      shelf: key.shelf,
      siblings: this.#siblings(key.server, key.shelf),
      bytes: owned(bytes),
      expiresAt: now + ttlMs,
      place: 0,
    });
  }

  /** Forgets a server's entries, or one shelf of them; requests still under way store nothing. */
  invalidate(server: string, shelf?: Shelf): void {
    this.#mark += 1;
    this.#note(server);
    for (const [name, entries] of this.#servers.get(server) ?? []) {
      if (shelf !== undefined && name !== shelf) continue;
      for (const entry of entries.values()) this.#remove(entry);
    }
  }

  #note(server: string): void {
    this.#invalidatedAt.delete(server);
    this.#invalidatedAt.set(server, this.#mark);
    if (this.#invalidatedAt.size <= maxMarks) return;
    for (const [oldest, mark] of this.#invalidatedAt) {
      this.#invalidatedAt.delete(oldest);
      this.#invalidatedBefore = mark;
      return;
    }
  }

  /** For how many servers it is known when they were last forgotten. */
  get marks(): number {
    return this.#invalidatedAt.size;
  }

  stats(): CacheStats {
    this.#sweep(this.#clock.now());
    return {
      hits: this.#hits,
      misses: this.#misses,
      entries: this.#all.size,
      bytes: this.#bytes,
    };
  }

  /** How many entries of the server could be served now. */
  entriesOf(server: string): number {
    this.#sweep(this.#clock.now());
    let count = 0;
    for (const entries of this.#servers.get(server)?.values() ?? []) count += entries.size;
    return count;
  }

  #fresh(id: string): Entry | undefined {
    const entry = this.#all.get(id);
    if (entry === undefined || this.#clock.now() < entry.expiresAt) return entry;
    this.#remove(entry);
    return undefined;
  }

  #touch(entry: Entry): void {
    this.#all.delete(entry.id);
    this.#all.set(entry.id, entry);
    entry.siblings.delete(entry.id);
    entry.siblings.set(entry.id, entry);
  }

  #sweep(now: number): void {
    for (;;) {
      const entry = this.#expiry.first;
      if (entry === undefined || now < entry.expiresAt) return;
      this.#remove(entry);
    }
  }

  #fits(byteLength: number, ttlMs: number): boolean {
    const { entriesPerTool, maxBytes } = this.#limits;
    return ttlMs > 0 && entriesPerTool > 0 && weightOf(byteLength) <= maxBytes;
  }

  /** What has expired is gone by now, so all that is left to give way is the least recently used. */
  #makeRoom(key: CacheKey, byteLength: number): void {
    const siblings = this.#siblings(key.server, key.shelf);
    while (siblings.size >= this.#limits.entriesPerTool) this.#evict(siblings);
    while (this.#bytes + weightOf(byteLength) > this.#limits.maxBytes) this.#evict(this.#all);
  }

  #evict(entries: ByUse): void {
    for (const entry of entries.values()) {
      this.#remove(entry);
      return;
    }
  }

  #add(entry: Entry): void {
    this.#all.set(entry.id, entry);
    entry.siblings.set(entry.id, entry);
    this.#expiry.add(entry);
    this.#bytes += weightOf(entry.bytes.length);
  }

  #removeId(id: string): void {
    const entry = this.#all.get(id);
    if (entry !== undefined) this.#remove(entry);
  }

  #remove(entry: Entry): void {
    this.#all.delete(entry.id);
    this.#expiry.remove(entry);
    this.#bytes -= weightOf(entry.bytes.length);
    entry.siblings.delete(entry.id);
    if (entry.siblings.size > 0) return;
    const shelves = this.#servers.get(entry.server);
    shelves?.delete(entry.shelf);
    if (shelves?.size === 0) this.#servers.delete(entry.server);
  }

  #siblings(server: string, shelf: Shelf): ByUse {
    const shelves = this.#servers.get(server) ?? new Map<Shelf, ByUse>();
    const siblings = shelves.get(shelf) ?? new Map<string, Entry>();
    this.#servers.set(server, shelves.set(shelf, siblings));
    return siblings;
  }
}

function weightOf(byteLength: number): number {
  return byteLength + entryOverheadBytes;
}

/** A result is often a slice of a much larger frame, which must not live on for its sake. */
function owned(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
