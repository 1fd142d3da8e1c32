// A list that comes in pages, read to its end. A server decides where its list ends, so a broken
// or hostile one could go on for ever: pages and items are bounded, and a cursor that comes back
// ends the reading. Whatever ends it, what was read is returned, with the word for why. A page
// that fails fails the whole: half a list must not pass for a list. Freshness combines as the
// specification asks, except that it is counted from each page's own receipt: the result is fresh
// while every page is, and private if one page is. What lies on a page is not looked at.

import type { Clock } from '../kernel/clock.ts';

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. The empty string is a cursor like any other. */
  readonly nextCursor?: string | undefined;
  readonly ttlMs: number;
  readonly scope: 'public' | 'private';
}

export interface PagedList<Item> {
  readonly items: readonly Item[];
  /** `complete`, or what cut the list short. */
  readonly ending: 'complete' | 'page_cap' | 'item_cap' | 'cursor_repeated';
  readonly pages: number;
  /** What is left of it when the last page is in. */
  readonly ttlMs: number;
  readonly scope: 'public' | 'private';
}

export interface PageLimits {
  readonly maxPages: number;
  readonly maxItems: number;
}

export const pageLimits: PageLimits = { maxPages: 64, maxItems: 10_000 };

export async function followPages<Item>(
  fetchPage: (cursor: string | undefined) => Promise<Page<Item>>,
  clock: Clock,
  limits: PageLimits = pageLimits,
): Promise<PagedList<Item>> {
  const items: Item[] = [];
  const seen = new Set<string>();
  let scope: 'public' | 'private' = 'public';
  let freshUntil = Infinity;
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await fetchPage(cursor);
    freshUntil = Math.min(freshUntil, clock.now() + page.ttlMs);
    if (page.scope === 'private') scope = 'private';
    for (const item of page.items) items.push(item);
    cursor = page.nextCursor;
    const ending = endingOf(cursor, seen, limits.maxItems - items.length, limits.maxPages - pages);
    if (ending === undefined) continue;
    const ttlMs = Math.max(0, freshUntil - clock.now());
    return { items: items.slice(0, limits.maxItems), ending, pages, ttlMs, scope };
  }
}

/** Undefined if the next page is to be asked for; its cursor is then noted as seen. */
function endingOf(
  cursor: string | undefined,
  seen: Set<string>,
  itemsLeft: number,
  pagesLeft: number,
): PagedList<unknown>['ending'] | undefined {
  if (itemsLeft < 0) return 'item_cap';
  if (cursor === undefined) return 'complete';
  if (seen.has(cursor)) return 'cursor_repeated';
  if (itemsLeft === 0) return 'item_cap';
  if (pagesLeft <= 0) return 'page_cap';
  seen.add(cursor);
  return undefined;
}
