// The known word nearest to a misspelt one, for "did you mean". Distance is counted in single edits
// (insert, delete, change, swap of neighbours); case does not count, and a longer word that
// contains the shorter one counts as near (`servers`, `mcpServers`). A word with too little in
// common is not suggested: a wrong hint is worse than none.

import { editDistance } from '../kernel/edit-distance.ts';

export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  // A third of the letters may be wrong, but always two: short keys are misspelt as well.
  let best = Math.max(2, Math.floor(word.length / 3)) + 1;
  let found: string | undefined;
  for (const candidate of known) {
    // Words with as many edits as letters are not similar; counting further would only cost time.
    const bound = Math.min(best, candidate.length);
    const edits = editsBetween(wanted, candidate.toLowerCase(), bound);
    if (edits < bound) {
      best = edits;
      found = candidate;
    }
  }
  return found;
}

function editsBetween(wanted: string, candidate: string, bound: number): number {
  const edits = editDistance(wanted, candidate, bound);
  const isPart = wanted.length >= 4 && candidate.includes(wanted);
  return isPart ? Math.min(edits, 2) : edits;
}
