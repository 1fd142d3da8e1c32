// "Did you mean": the known names nearest to an unknown one. Near is a small number of
// single-character edits (a letter missing, added, changed, or two swapped), ignoring case. The
// caller passes the known names: only those that the client may see, because a suggestion reveals
// that a name exists.

import { editDistance } from '../kernel/edit-distance.ts';

const maxSuggestions = 3;
/** Longer names are not compared; they are not misspellings. */
const maxLength = 128;

/** At most three, the nearest first; equally near ones in the order of the alphabet. */
export function nearestNames(name: string, known: Iterable<string>): readonly string[] {
  if (name.length > maxLength) return [];
  const wanted = name.toLowerCase();
  const bound = slipsAllowed(wanted.length);
  const near: { readonly name: string; readonly slips: number }[] = [];
  for (const candidate of new Set(known)) {
    if (candidate.length > maxLength) continue;
    const slips = editDistance(wanted, candidate.toLowerCase(), bound);
    if (slips <= bound) near.push({ name: candidate, slips });
  }
  near.sort((a, b) => a.slips - b.slips || (a.name < b.name ? -1 : 1));
  return near.slice(0, maxSuggestions).map((one) => one.name);
}

/**
 * About one in three characters; more than three edits make a different word, and a single letter
 * is too short.
 */
function slipsAllowed(length: number): number {
  if (length < 2) return 0;
  return Math.min(3, Math.max(1, Math.floor(length / 3)));
}
