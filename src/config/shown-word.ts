// A word of the file as a message shows it: in quotes, on one line, without anything a terminal would
// obey, and not longer than somebody reads. What a variable holds must never come here.

import { printableLine } from '../kernel/printable.ts';
import { cutText } from '../kernel/text-cut.ts';

const longest = 60;

export function shownWord(word: string): string {
  return printableLine(JSON.stringify(cutText(longest, word)));
}
