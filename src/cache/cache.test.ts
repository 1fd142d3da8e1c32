import { describe, expect, it } from 'vitest';
import type { Clock } from '../kernel/clock.ts';
import { type CacheLimits, entryOverheadBytes, ResponseCache } from './cache.ts';
import { type CacheKey, cacheKey, type Shelf } from './key.ts';

function setUp(limits: Partial<CacheLimits> = {}) {
  const clock: Clock & { ms: number } = {
    ms: 0,
    now() {
      return this.ms;
    },
    wallNow: () => 0,
    after: () => ({ [Symbol.dispose]: () => {} }),
  };
  const cache = new ResponseCache(clock, { entriesPerTool: 3, maxBytes: 1_000_000, ...limits });
  const keep = (key: CacheKey, text: string, ttlMs = 1_000) =>
    cache.put(key, Buffer.from(text), ttlMs, 'public', cache.mark());
  const keepPrivate = (key: CacheKey, text: string) =>
    cache.put(key, Buffer.from(text), 1_000, 'private', cache.mark());
  const read = (key: CacheKey) => cache.get(key)?.toString();
  return { clock, cache, keep, keepPrivate, read };
}

function keyOf(args: string, principal = 'anna', server = 'git', shelf: Shelf = 'tool:log') {
  const key = cacheKey(server, shelf, principal, Buffer.from(args), (json) => json.toString());
  if (key === null) throw new Error('no key');
  return key;
}

describe('the response cache', () => {
  it('serves an entry until the instant it expires, and not at that instant', () => {
    const { clock, cache, keep, read } = setUp();
    clock.ms = 50;
    keep(keyOf('a'), 'A', 100);
    clock.ms = 149;
    expect(read(keyOf('a'))).toBe('A');
    clock.ms = 150;
    expect(read(keyOf('a'))).toBeUndefined();
    expect(cache.stats()).toEqual({ hits: 1, misses: 1, entries: 0, bytes: 0 });
  });

  it('keeps different arguments, tools, methods and servers apart', () => {
    const { keep, read } = setUp();
    const keys = [
      keyOf('a'),
      keyOf('b'),
      keyOf('a', 'anna', 'hub'),
      keyOf('a', 'anna', 'git', 'tool:show'),
      keyOf('a', 'anna', 'git', 'method:log'),
    ];
    for (const [index, key] of keys.entries()) keep(key, `${index}`);
    expect(keys.map(read)).toEqual(['0', '1', '2', '3', '4']);
  });

  it('serves a private entry to its principal only, a public one to all', () => {
    const { keepPrivate, keep, read } = setUp();
    keepPrivate(keyOf('mine', 'anna'), 'of anna');
    keep(keyOf('ours', 'anna'), 'of all');
    expect(read(keyOf('mine', 'anna'))).toBe('of anna');
    expect(read(keyOf('mine', 'bert'))).toBeUndefined();
    expect(read(keyOf('ours', 'bert'))).toBe('of all');
  });

  it('keeps private entries of two principals side by side', () => {
    const { keepPrivate, read } = setUp();
    keepPrivate(keyOf('a', 'anna'), 'of anna');
    keepPrivate(keyOf('a', 'bert'), 'of bert');
    expect([read(keyOf('a', 'anna')), read(keyOf('a', 'bert'))]).toEqual(['of anna', 'of bert']);
  });

  it('serves the newest result when the scope of an answer changes', () => {
    const { keepPrivate, keep, read } = setUp();
    keepPrivate(keyOf('a'), 'old');
    keep(keyOf('a'), 'new');
    expect(read(keyOf('a'))).toBe('new');
    keepPrivate(keyOf('a'), 'newest');
    expect(read(keyOf('a'))).toBe('newest');
    expect(read(keyOf('a', 'bert'))).toBe('new');
  });

  it('removes the least recently used entry of the tool at the limit', () => {
    const { cache, keep, read } = setUp({ entriesPerTool: 2 });
    keep(keyOf('a', 'anna', 'hub'), 'elsewhere');
    keep(keyOf('a'), 'A');
    keep(keyOf('b'), 'B');
    read(keyOf('a'));
    keep(keyOf('c'), 'C');
    expect(['a', 'b', 'c'].map((args) => read(keyOf(args)))).toEqual(['A', undefined, 'C']);
    expect(cache.entriesOf('git')).toBe(2);
    expect(cache.entriesOf('hub')).toBe(1);
  });

  it('evicts nothing when it replaces an entry at the limit', () => {
    const { keep, read } = setUp({ entriesPerTool: 2, maxBytes: 2 * (entryOverheadBytes + 1) });
    keep(keyOf('a'), 'A');
    keep(keyOf('b'), 'B');
    keep(keyOf('b'), 'b');
    expect(['a', 'b'].map((args) => read(keyOf(args)))).toEqual(['A', 'b']);
  });

  it('sweeps what has expired before it evicts anything', () => {
    const { clock, keep, read } = setUp({ entriesPerTool: 2 });
    keep(keyOf('lasting'), 'L', 1_000);
    keep(keyOf('brief'), 'B', 10);
    clock.ms = 10;
    keep(keyOf('new'), 'N');
    expect(read(keyOf('lasting'))).toBe('L');
    expect(read(keyOf('new'))).toBe('N');
  });

  it('removes the least recently used of all entries when the bytes run out', () => {
    const weight = entryOverheadBytes + 10;
    const { cache, keep, read } = setUp({ maxBytes: 2 * weight });
    keep(keyOf('a', 'anna', 'one'), '0123456789');
    keep(keyOf('a', 'anna', 'two'), '0123456789');
    read(keyOf('a', 'anna', 'one'));
    keep(keyOf('a', 'anna', 'three'), '0123456789');
    expect(read(keyOf('a', 'anna', 'two'))).toBeUndefined();
    expect(read(keyOf('a', 'anna', 'one'))).toBe('0123456789');
    expect(cache.stats()).toMatchObject({ entries: 2, bytes: 2 * weight });
  });

  it('does not store a result that is too large by itself, nor the older one for it', () => {
    const { cache, keep, read } = setUp({ maxBytes: entryOverheadBytes + 10 });
    keep(keyOf('a'), 'small');
    keep(keyOf('a'), 'larger than the cache');
    expect(read(keyOf('a'))).toBeUndefined();
    expect(cache.stats()).toMatchObject({ entries: 0, bytes: 0 });
  });

  it.each([{ entriesPerTool: 0 }, { maxBytes: 0 }])('keeps nothing with %o', (limits) => {
    const { keep, read } = setUp(limits);
    keep(keyOf('a'), 'A');
    expect(read(keyOf('a'))).toBeUndefined();
  });

  it('removes the entries of one tool or of a whole server on request', () => {
    const { cache, keep, read } = setUp();
    const other = keyOf('a', 'anna', 'git', 'tool:show');
    const elsewhere = keyOf('a', 'anna', 'hub');
    for (const key of [keyOf('a'), other, elsewhere]) keep(key, 'kept');
    cache.invalidate('git', 'tool:log');
    expect([keyOf('a'), other, elsewhere].map(read)).toEqual([undefined, 'kept', 'kept']);
    cache.invalidate('git');
    expect([other, elsewhere].map(read)).toEqual([undefined, 'kept']);
    expect(cache.entriesOf('git')).toBe(0);
  });

  it('does not store what was asked for before an invalidation of its server', () => {
    const { cache, read } = setUp();
    const asked = cache.mark();
    cache.invalidate('git');
    cache.put(keyOf('a'), Buffer.from('old'), 1_000, 'public', asked);
    cache.put(keyOf('a', 'anna', 'hub'), Buffer.from('fine'), 1_000, 'public', asked);
    expect(read(keyOf('a'))).toBeUndefined();
    expect(read(keyOf('a', 'anna', 'hub'))).toBe('fine');
    cache.put(keyOf('a'), Buffer.from('new'), 1_000, 'public', cache.mark());
    expect(read(keyOf('a'))).toBe('new');
  });

  it('counts only what could still be served', () => {
    const { clock, cache, keep } = setUp();
    keep(keyOf('a'), 'A', 10);
    keep(keyOf('b'), 'B', 20);
    clock.ms = 10;
    expect(cache.entriesOf('git')).toBe(1);
    expect(cache.stats().entries).toBe(1);
  });

  it('keeps its own copy, free of the frame the result was cut from', () => {
    const { cache } = setUp();
    const frame = Buffer.from('....result....');
    cache.put(keyOf('a'), frame.subarray(4, 10), 1_000, 'public', cache.mark());
    frame.fill('x');
    const kept = cache.get(keyOf('a'));
    expect(kept?.toString()).toBe('result');
    expect(kept?.buffer.byteLength).toBe(6);
  });
});
