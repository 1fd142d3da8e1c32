// "Did you mean": the known names nearest to one that is not known. Near is a small number of
// single-character slips (a letter missing, added, changed, or two swapped), with case ignored.
// Which names are known is the caller's decision: it must give only those that the asker may see,
// because a suggestion tells that a name exists.

const maxSuggestions = 3;
/** Longer names are compared with nothing; they are not slips of the finger. */
const maxLength = 128;

/** At most three, the nearest first; equally near ones in the order of the alphabet. */
export function nearest(name: string, known: Iterable<string>): readonly string[] {
  if (name.length > maxLength) return [];
  const wanted = name.toLowerCase();
  const bound = slipsAllowed(wanted.length);
  const near: { readonly name: string; readonly slips: number }[] = [];
  for (const candidate of new Set(known)) {
    if (candidate.length > maxLength) continue;
    const slips = slipsBetween(wanted, candidate.toLowerCase(), bound);
    if (slips <= bound) near.push({ name: candidate, slips });
  }
  near.sort((a, b) => a.slips - b.slips || (a.name < b.name ? -1 : 1));
  return near.slice(0, maxSuggestions).map((one) => one.name);
}

/** About one in three characters; more than three make another word, and a letter is no word. */
function slipsAllowed(length: number): number {
  if (length < 2) return 0;
  return Math.min(3, Math.max(1, Math.floor(length / 3)));
}

/**
 * Damerau-Levenshtein distance (adjacent swaps, no part edited twice), row by row; Infinity as
 * soon as no path within the bound is left.
 */
function slipsBetween(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) > bound) return Infinity;
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(beforeLast, j - 2) + 1 : Infinity;
      row.push(Math.min(changed, swapped, at(last, j) + 1, at(row, j - 1) + 1));
    }
    if (Math.min(...row) > bound) return Infinity;
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
