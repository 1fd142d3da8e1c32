// A word of the file as a message shows it: in quotes, on one line, without anything a terminal would
// obey, and not longer than somebody reads. What a variable holds must never come here.

import { printableLine } from '../kernel/printable.ts';

const longest = 60;

export function shownWord(word: string): string {
  const literal = JSON.stringify(word.length <= longest ? word : `${word.slice(0, longest - 1)}…`);
  return printableLine(literal);
}
