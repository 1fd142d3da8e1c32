import { describe, expect, it } from 'vitest';
import type { Clock } from '../kernel/clock.ts';
import { followPages, type Page } from './pages.ts';

const clock: Clock & { ms: number } = {
  ms: 0,
  now() {
    return this.ms;
  },
  wallNow: () => 0,
  after: () => ({ [Symbol.dispose]: () => {} }),
};

function page(facts: Partial<Page<number>>): Page<number> {
  return { items: [], ttlMs: 1_000, scope: 'public', ...facts };
}

/** Serves pages by cursor, the first under "start", and notes what was asked for. */
function server(pages: Record<string, Partial<Page<number>>>) {
  const asked: (string | undefined)[] = [];
  const fetchPage = async (cursor: string | undefined) => {
    asked.push(cursor);
    return page(pages[cursor ?? 'start'] ?? {});
  };
  return { asked, fetchPage };
}

describe('following pages', () => {
  it('reads a list of one page', async () => {
    const { fetchPage, asked } = server({ start: { items: [1, 2] } });
    expect(await followPages(fetchPage, clock)).toEqual({
      items: [1, 2],
      ending: 'complete',
      pages: 1,
      ttlMs: 1_000,
      scope: 'public',
    });
    expect(asked).toEqual([undefined]);
  });

  it('reads all pages in order, and takes the empty string for a cursor', async () => {
    const { fetchPage, asked } = server({
      start: { items: [1], nextCursor: '' },
      '': { items: [], nextCursor: 'b' },
      b: { items: [2, 3] },
    });
    const list = await followPages(fetchPage, clock);
    expect(list).toMatchObject({ items: [1, 2, 3], ending: 'complete', pages: 3 });
    expect(asked).toEqual([undefined, '', 'b']);
  });

  it('is fresh for the shortest time and private if one page is', async () => {
    const { fetchPage } = server({
      start: { ttlMs: 5_000, nextCursor: 'a' },
      a: { ttlMs: 200, scope: 'private', nextCursor: 'b' },
      b: { ttlMs: 9_000 },
    });
    expect(await followPages(fetchPage, clock)).toMatchObject({ ttlMs: 200, scope: 'private' });
  });

  it('counts the time of a page from its own receipt', async () => {
    const { fetchPage } = server({ start: { ttlMs: 500, nextCursor: 'a' }, a: { ttlMs: 2_000 } });
    const slowly = (tookMs: number) => async (cursor: string | undefined) => {
      clock.ms += tookMs;
      return fetchPage(cursor);
    };
    expect((await followPages(slowly(300), clock)).ttlMs).toBe(200);
    expect((await followPages(slowly(3_000), clock)).ttlMs).toBe(0);
  });

  it('ends at a cursor that comes back, and keeps what was read', async () => {
    const { fetchPage, asked } = server({
      start: { items: [1], nextCursor: 'a' },
      a: { items: [2], nextCursor: 'b' },
      b: { items: [3], nextCursor: 'a' },
    });
    const list = await followPages(fetchPage, clock);
    expect(list).toMatchObject({ items: [1, 2, 3], ending: 'cursor_repeated', pages: 3 });
    expect(asked).toEqual([undefined, 'a', 'b']);
  });

  it('ends after 64 pages', async () => {
    let count = 0;
    const endless = async () => {
      count += 1;
      return page({ items: [count], nextCursor: `${count}` });
    };
    const list = await followPages(endless, clock);
    expect(list).toMatchObject({ ending: 'page_cap', pages: 64 });
    expect(list.items).toHaveLength(64);
    expect(count).toBe(64);
  });

  it('ends at 10,000 items', async () => {
    let count = 0;
    const full = async () => {
      count += 1;
      return page({ items: new Array(3_000).fill(count), nextCursor: `${count}` });
    };
    const list = await followPages(full, clock);
    expect(list).toMatchObject({ ending: 'item_cap', pages: 4 });
    expect(list.items).toHaveLength(10_000);
  });

  it('is complete when the last page just fits', async () => {
    const limits = { maxPages: 2, maxItems: 4 };
    const fits = server({ start: { items: [1, 2], nextCursor: 'a' }, a: { items: [3, 4] } });
    expect(await followPages(fits.fetchPage, clock, limits)).toMatchObject({
      items: [1, 2, 3, 4],
      ending: 'complete',
    });
    const more = server({ start: { items: [1, 2, 3, 4], nextCursor: 'a' } });
    expect(await followPages(more.fetchPage, clock, limits)).toMatchObject({
      ending: 'item_cap',
      pages: 1,
    });
  });

  it('fails as a whole when a page fails', async () => {
    const broken = new Error('bad cursor');
    const fetchPage = async (cursor: string | undefined) => {
      if (cursor !== undefined) throw broken;
      return page({ items: [1], nextCursor: 'a' });
    };
    await expect(followPages(fetchPage, clock)).rejects.toBe(broken);
  });
});
