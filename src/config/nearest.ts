// The known word nearest to a misspelt one, for "did you mean". Distance is counted in single edits
// (insert, delete, change, swap of neighbours); case does not count, and a longer word that holds the
// whole of the shorter is near as well (`servers`, `mcpServers`). A word that shares too little is no
// suggestion at all: a wrong hint is worse than none.

export function nearest(word: string, known: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  // A third of the letters may be wrong, but always two: short keys are misspelt as well.
  let best = Math.max(2, Math.floor(word.length / 3)) + 1;
  let found: string | undefined;
  for (const candidate of known) {
    const edits = editsBetween(wanted, candidate.toLowerCase());
    if (edits < best && edits < candidate.length) {
      best = edits;
      found = candidate;
    }
  }
  return found;
}

function editsBetween(wanted: string, candidate: string): number {
  const edits = distance(wanted, candidate);
  const isPart = wanted.length >= 4 && candidate.includes(wanted);
  return isPart ? Math.min(edits, 2) : edits;
}

function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const change = from[row - 1] === to[column - 1] ? 0 : 1;
      const swapped =
        row > 1 &&
        column > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + change,
        swapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
