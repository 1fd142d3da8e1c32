// The cache against an oracle that remembers everything and bounds nothing. Whatever the cache
// serves, the oracle must be able to serve as well; and with bounds that are never reached, the
// two must agree on every single question.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../kernel/clock.ts';
import { type CacheLimits, type CacheMark, entryOverheadBytes, ResponseCache } from './cache.ts';
import type { CacheScope } from './freshness.ts';
import { type CacheKey, cacheKey, type Shelf } from './key.ts';

interface Kept {
  readonly text: string;
  readonly server: string;
  readonly shelf: Shelf;
  readonly expiresAt: number;
}

class Oracle {
  readonly #kept = new Map<string, Kept>();
  readonly #invalidations: string[] = [];

  mark(): number {
    return this.#invalidations.length;
  }

  put(key: CacheKey, kept: Kept, scope: CacheScope, asked: number): void {
    if (this.#invalidations.slice(asked).includes(key.server)) return;
    this.#kept.delete(key.own);
    this.#kept.set(scope === 'public' ? key.shared : key.own, kept);
  }

  /** All that may be served, the preferred one first. */
  servable(key: CacheKey, now: number): readonly string[] {
    return [key.own, key.shared]
      .map((id) => this.#kept.get(id))
      .filter((kept) => kept !== undefined && now < kept.expiresAt)
      .map((kept) => kept?.text ?? '');
  }

  invalidate(server: string, shelf: Shelf | undefined): void {
    this.#invalidations.push(server);
    for (const [id, kept] of this.#kept) {
      const isOnShelf = shelf === undefined || kept.shelf === shelf;
      if (kept.server === server && isOnShelf) this.#kept.delete(id);
    }
  }

  liveOf(now: number): number {
    return [...this.#kept.values()].filter((kept) => now < kept.expiresAt).length;
  }
}

const servers = ['git', 'hub'];
const shelves: readonly Shelf[] = ['tool:read', 'tool:tools/list', 'method:tools/list'];

/** Made once: hashing is not what is tried here. */
function keysOf(usedShelves: readonly Shelf[]): readonly CacheKey[] {
  return servers.flatMap((server) =>
    usedShelves.flatMap((shelf) =>
      ['anna', 'bert', 'anna:bert'].flatMap((principal) =>
        ['1', '2', '3', '4', '5'].map((args) => {
          const key = cacheKey(server, shelf, principal, Buffer.from(args), String);
          if (key === null) throw new Error('no key');
          return key;
        }),
      ),
    ),
  );
}

function stepOf(usedShelves: readonly Shelf[]) {
  const key = fc.constantFrom(...keysOf(usedShelves));
  const get = fc.record({ kind: fc.constant('get' as const), key });
  const put = fc.record({
    kind: fc.constant('put' as const),
    key,
    scope: fc.constantFrom<CacheScope>('public', 'private'),
    ttlMs: fc.integer({ min: 1, max: 100 }),
    padding: fc.integer({ min: 0, max: 600 }),
    /** Does the answer belong to the request of the last `ask`? */
    isLate: fc.boolean(),
  });
  const pass = fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(40) });
  const ask = fc.record({ kind: fc.constant('ask' as const) });
  const invalidate = fc.record({
    kind: fc.constant('invalidate' as const),
    server: fc.constantFrom(...servers),
    shelf: fc.option(fc.constantFrom(...usedShelves), { nil: undefined }),
  });
  return fc.oneof(
    { weight: 6, arbitrary: get },
    { weight: 6, arbitrary: put },
    { weight: 3, arbitrary: pass },
    { weight: 1, arbitrary: invalidate },
    { weight: 1, arbitrary: ask },
  );
}

type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer One> ? One : never;

class Run {
  readonly #limits: CacheLimits;
  readonly #oracle = new Oracle();
  readonly #cache: ResponseCache;
  #ms = 0;
  #count = 0;
  #asked: { readonly cache: CacheMark; readonly oracle: number } = { cache: 0, oracle: 0 };

  constructor(limits: CacheLimits) {
    const clock: Clock = {
      now: () => this.#ms,
      wallNow: () => 0,
      after: () => ({ [Symbol.dispose]: () => {} }),
    };
    this.#limits = limits;
    this.#cache = new ResponseCache(clock, limits);
  }

  take(one: Step, isExact: boolean): void {
    switch (one.kind) {
      case 'get':
        return this.#compare(one.key, isExact);
      case 'put':
        return this.#put(one);
      case 'pass':
        this.#ms += one.ms;
        return;
      case 'ask':
        this.#asked = this.#marks();
        return;
      case 'invalidate':
        this.#cache.invalidate(one.server, one.shelf);
        this.#oracle.invalidate(one.server, one.shelf);
    }
  }

  boundsHold(isExact: boolean): void {
    const { entries, bytes } = this.#cache.stats();
    const live = this.#oracle.liveOf(this.#ms);
    claim(isExact ? entries === live : entries <= live, 'it counts what is not there');
    claim(bytes >= entries * entryOverheadBytes, 'it does not weigh all of its entries');
    claim(bytes <= this.#limits.maxBytes, 'it exceeds its bytes');
    // With one shelf per server, the entries of a server are the entries of a tool.
    const isWithin = servers.every(
      (server) => this.#cache.entriesOf(server) <= this.#limits.entriesPerTool,
    );
    claim(isWithin, 'it exceeds its entries');
  }

  #marks() {
    return { cache: this.#cache.mark(), oracle: this.#oracle.mark() };
  }

  #compare(key: CacheKey, isExact: boolean): void {
    const served = this.#cache.get(key)?.toString();
    const servable = this.#oracle.servable(key, this.#ms);
    const isRight = isExact
      ? served === servable[0]
      : served === undefined || servable.includes(served);
    claim(isRight, `it served ${served}, where ${servable.join(' or ')} was right`);
  }

  #put({ key, scope, ttlMs, padding, isLate }: Extract<Step, { kind: 'put' }>): void {
    this.#count += 1;
    const text = `${this.#count}${' '.repeat(padding)}`;
    const asked = isLate ? this.#asked : this.#marks();
    const { server, shelf } = key;
    const kept = { text, server, shelf, expiresAt: this.#ms + ttlMs };
    this.#cache.put(key, Buffer.from(text), ttlMs, scope, asked.cache);
    this.#oracle.put(key, kept, scope, asked.oracle);
  }
}

/** `expect` for every step would take longer than the steps. */
function claim(isTrue: boolean, otherwise: string): void {
  if (!isTrue) throw new Error(otherwise);
}

function check(limits: CacheLimits, usedShelves: readonly Shelf[], isExact: boolean): number {
  let stepsTaken = 0;
  const steps = fc.array(stepOf(usedShelves), { minLength: 200, maxLength: 200 });
  const property = fc.property(steps, (taken) => {
    const run = new Run(limits);
    for (const one of taken) {
      run.take(one, isExact);
      run.boundsHold(isExact);
      stepsTaken += 1;
    }
  });
  fc.assert(property, { numRuns: 250 });
  return stepsTaken;
}

describe('the response cache, against an oracle without bounds', () => {
  it('never serves a stale, foreign or invalidated answer and never exceeds its bounds', () => {
    const tight = { entriesPerTool: 3, maxBytes: 4_000 };
    expect(check(tight, ['tool:read'], false)).toBe(50_000);
  });

  it('serves exactly what it was given while its bounds are not reached', () => {
    const wide = { entriesPerTool: 1_000, maxBytes: 100_000_000 };
    expect(check(wide, shelves, true)).toBe(50_000);
  });
});
