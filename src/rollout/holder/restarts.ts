// When a serving process that died is started again, as a pure function: at once the first time, then later and later,
// and not at all when it has died too often within a minute.

import { backoffMs } from '../../kernel/backoff.ts';

/** When it died, oldest first: those within the window. */
export type Deaths = readonly number[];

export type AfterDeath =
  | { readonly kind: 'start-again'; readonly deaths: Deaths; readonly delayMs: number }
  | { readonly kind: 'give-up' };

export const windowMs = 60_000;
export const maxDeaths = 5;

/** The first one is answered at once: what makes it die may never come again. */
const backoff = { firstMs: 250, longestMs: 4_000 };

export function afterDeath(earlier: Deaths, at: number): AfterDeath {
  const deaths = [...earlier.filter((death) => at - death <= windowMs), at];
  if (deaths.length > maxDeaths) return { kind: 'give-up' };
  const delayMs = deaths.length === 1 ? 0 : backoffMs(backoff, deaths.length - 2);
  return { kind: 'start-again', deaths, delayMs };
}
