// The cache of results. It stores result bytes until they expire; at a limit the least recently
// used entry is removed first. Two limits hold at all times: entries per (server, shelf), and bytes
// in total. An entry is served only while now < expiresAt, a private entry only to its principal,
// and a result that was requested before an invalidation is not stored after it. Whether a result
// may be cached is decided in freshness.ts, and which requests are equal in key.ts.

import type { Clock } from '../kernel/clock.ts';
import { ExpiryHeap } from '../kernel/expiry-heap.ts';
import type { CacheScope } from './freshness.ts';
import type { CacheKey, Shelf } from './key.ts';

export interface CacheLimits {
  /** Per (server, tool), over all principals. With 0 nothing is cached. */
  readonly entriesPerTool: number;
  /** In total, including the overhead of each entry. */
  readonly maxBytes: number;
}

/** How the cache of results is used, since the host was made. */
export interface CacheStats {
  /** Results that were answered from the cache. */
  readonly hits: number;
  /** Results that were looked for and not found. */
  readonly misses: number;
  /** Results that are cached now. */
  readonly entries: number;
  /** Bytes that they use now, including the overhead of each entry. */
  readonly bytes: number;
}

/**
 * Identifies a moment between invalidations; taken before a request is sent, and passed on with its
 * result.
 */
export type CacheMark = number;

interface Entry {
  readonly id: string;
  readonly server: string;
  readonly shelf: Shelf;
  /** All entries of its shelf, including itself. */
  readonly siblings: ByUse;
  readonly bytes: Buffer;
  readonly expiresAt: number;
  place: number;
}

/** An entry for another process: what is left of its time, and its bytes. */
export interface WrittenEntry {
  readonly id: string;
  readonly server: string;
  readonly shelf: Shelf;
  readonly ttlMs: number;
  readonly bytes: Buffer;
}

/** In the order of use, so that the first is the least recently used. */
type ByUse = Map<string, Entry>;

/**
 * The overhead of an entry beyond its bytes: keys, maps, the heap. Many small entries are not free.
 */
export const entryOverheadBytes = 512;

/**
 * Servers can be added and removed without end. For a server beyond this number, the result of a
 * running request is not stored.
 */
const maxMarks = 1_024;

export class ResponseCache {
  readonly #clock: Clock;
  readonly #invalidated: (server: string) => void;
  #limits: CacheLimits;
  /** At most `maxBytes`, each entry with its overhead. */
  readonly #all: ByUse = new Map();
  /** The same entries by server and shelf; at most `entriesPerTool` on a shelf, none is empty. */
  readonly #servers = new Map<string, Map<Shelf, ByUse>>();
  readonly #expiry = new ExpiryHeap<Entry>();
  /** When each server's entries were last invalidated; at most `maxMarks`, the latest ones. */
  readonly #invalidatedAt = new Map<string, CacheMark>();
  /** An upper bound of the marks that were removed from the map. */
  #invalidatedBefore: CacheMark = 0;
  #mark: CacheMark = 0;
  #bytes = 0;
  #hits = 0;
  #misses = 0;

  /** `invalidated` is told of what is invalidated here, not of what is dropped. */
  constructor(clock: Clock, limits: CacheLimits, invalidated: (server: string) => void = () => {}) {
    this.#clock = clock;
    this.#invalidated = invalidated;
    this.#limits = limits;
  }

  /** Sets new limits; entries beyond them are removed, least recently used first. */
  limit(limits: CacheLimits): void {
    this.#limits = limits;
    const shelves = [...this.#servers.values()].flatMap((byShelf) => [...byShelf.values()]);
    for (const shelf of shelves) while (shelf.size > limits.entriesPerTool) this.#evict(shelf);
    while (this.#bytes > limits.maxBytes) this.#evict(this.#all);
  }

  /**
   * The cached bytes, shared by all callers, which must not write to them. Counts a hit or a miss.
   */
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

  /** The public entry, with what is left of its time; it counts neither as a hit nor as a miss. */
  publicEntry(key: CacheKey): { readonly bytes: Buffer; readonly ttlMs: number } | undefined {
    const entry = this.#fresh(key.shared);
    return entry && { bytes: entry.bytes, ttlMs: entry.expiresAt - this.#clock.now() };
  }

  mark(): CacheMark {
    return this.#mark;
  }

  /**
   * Stores a copy of a result that has just been received; its time to live starts now. `asked` is
   * the mark from before the request was sent.
   */
  put(key: CacheKey, bytes: Uint8Array, ttlMs: number, scope: CacheScope, asked: CacheMark): void {
    if ((this.#invalidatedAt.get(key.server) ?? this.#invalidatedBefore) > asked) return;
    const now = this.#clock.now();
    this.#sweep(now);
    // A new result replaces the older one of this principal, whichever scope each of them has.
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

  /**
   * Removes the entries of a server, or of one shelf of it; running requests store nothing
   * afterwards.
   */
  invalidate(server: string, shelf?: Shelf): void {
    this.drop(server, shelf);
    this.#invalidated(server);
  }

  /** The same, where others know it already. */
  drop(server: string, shelf?: Shelf): void {
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

  /** For how many servers the time of the last invalidation is known. */
  get marks(): number {
    return this.#invalidatedAt.size;
  }

  /** All entries, the least recently used first, for another process; those of a principal are marked by their ids. */
  *written(): Iterable<WrittenEntry> {
    const now = this.#clock.now();
    this.#sweep(now);
    for (const { id, server, shelf, bytes, expiresAt } of this.#all.values()) {
      yield { id, server, shelf, bytes, ttlMs: expiresAt - now };
    }
  }

  /** What another process had, in its order, and how often it had been used. */
  restore(entries: Iterable<WrittenEntry>, { hits, misses }: Pick<CacheStats, 'hits' | 'misses'>) {
    this.#hits += hits;
    this.#misses += misses;
    const now = this.#clock.now();
    for (const { id, server, shelf, ttlMs, bytes } of entries) {
      if (!this.#fits(bytes.length, ttlMs) || this.#all.has(id)) continue;
      this.#makeRoom({ server, shelf }, bytes.length);
      const siblings = this.#siblings(server, shelf);
      const expiresAt = now + ttlMs;
      this.#add({ id, server, shelf, siblings, bytes: owned(bytes), expiresAt, place: 0 });
    }
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

  /** Expired entries have been removed by now, so only the least recently used can make room. */
  #makeRoom(key: Pick<CacheKey, 'server' | 'shelf'>, byteLength: number): void {
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

/** A result is often a slice of a much larger frame. A copy lets the frame be freed. */
function owned(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
