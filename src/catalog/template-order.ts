// Which server's template comes first for a URI. Servers may have templates that can give the same
// URIs: the one that was listed in an earlier turn comes first, and in the same turn the one of the
// earlier server in the configuration.

import type { Holdings } from './uri-holdings.ts';
import { matchesOne, overlap, type UriTemplate } from './uri-template.ts';

/** A template of the server with this rank. */
export interface RankedTemplate {
  readonly template: UriTemplate;
  readonly rank: number;
  /** When it was listed. */
  readonly turn: number;
}

/** The rank of the first server below a rank whose template matches. `holdings` are by rank. */
export function templaterOf(
  holdings: readonly Holdings[],
  text: string | undefined,
  below: number,
): number | undefined {
  if (text === undefined) return undefined;
  let [first, firstTurn]: [number | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (const [rank, { templates, templateTurns }] of holdings.entries()) {
    if (rank >= below) break;
    for (const [own, template] of templates) {
      const turn = templateTurns.get(own) ?? 0;
      if (turn < firstTurn && matchesOne([template], text)) [first, firstTurn] = [rank, turn];
    }
  }
  return first;
}

/** Whether another server has a template that can give the same URIs, and comes before this one. */
export function isPreceded(holdings: readonly Holdings[], template: RankedTemplate): boolean {
  const { rank, turn } = template;
  return isOverlapped(holdings, template, (other, otherTurn) =>
    otherTurn === turn ? other < rank : otherTurn < turn,
  );
}

/** Whether it comes before one of an earlier server that can give the same URIs. */
export function isAheadOfEarlier(holdings: readonly Holdings[], template: RankedTemplate): boolean {
  const { rank, turn } = template;
  return isOverlapped(holdings, template, (other, otherTurn) => other < rank && turn < otherTurn);
}

function isOverlapped(
  holdings: readonly Holdings[],
  { template, rank }: RankedTemplate,
  isMeant: (other: number, turn: number) => boolean,
): boolean {
  for (const [other, { templates, templateTurns }] of holdings.entries()) {
    if (other === rank) continue;
    for (const [text, theirs] of templates) {
      if (isMeant(other, templateTurns.get(text) ?? 0) && overlap(theirs, template)) return true;
    }
  }
  return false;
}
