// The edit distance of two words: letters missing, added or changed, or two neighbours swapped. The
// caller decides which distance is small enough for a suggestion.

/**
 * Damerau-Levenshtein distance (adjacent swaps, no part edited twice), row by row; Infinity as
 * soon as no path within the bound is left.
 */
export function editDistance(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) > bound) return Infinity;
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j += 1) {
      const changed = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(beforeLast, j - 2) + 1 : Infinity;
      const slips = Math.min(changed, swapped, at(last, j) + 1, at(row, j - 1) + 1);
      row.push(slips);
      least = Math.min(least, slips);
    }
    if (least > bound) return Infinity;
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
