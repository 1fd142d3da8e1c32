// Reads a list that comes in pages to its end. A server decides where its list ends, so a broken or
// hostile one could go on for ever: pages and items are bounded, and a repeated cursor ends the
// reading. Whatever ends it, what was read is returned with the reason. A page that fails fails the
// whole list, because half of a list must not be taken for the list. Freshness is combined as the
// specification requires, except that it is counted from each page's own receipt: the result is
// fresh while every page is, and private if one page is. The content of a page is not examined.

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
  /** `complete`, or the reason why the list was cut short. */
  readonly ending: 'complete' | 'page_cap' | 'item_cap' | 'cursor_repeated';
  readonly pages: number;
  /** The remaining time when the last page has been received. */
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

/** Undefined if the next page is to be requested; its cursor is then recorded as seen. */
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
