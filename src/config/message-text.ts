// Parts of messages about a configuration: a word of the file, a place in it, and a list that is cut
// after its first few entries.

import { printableLine } from '../kernel/printable.ts';
import { cutText } from '../kernel/text-cut.ts';

const longestWord = 60;
const mostItems = 20;
const plainName = /^[A-Za-z0-9_$-]{1,64}$/;

/**
 * A word of the file as a message shows it: in quotes, on one line, without control characters, and cut
 * to a readable length. Never pass it the value of a variable, which may be a secret.
 */
export function shownWord(word: string): string {
  return printableLine(JSON.stringify(cutText(longestWord, word)));
}

/**
 * A place in the configuration: `mcpServers.docs.args[0]`, with quotes where a name would be misread:
 * `mcpServers["a.b"].env`. It is for reading only: long names are cut, so two places may look alike.
 */
export function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (!plainName.test(step)) text += `[${shownWord(step)}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** The first few of many things as text, and how many more there are. */
export function firstFew(items: readonly string[], between: string): string;
export function firstFew<T>(
  items: readonly T[],
  between: string,
  textOf: (item: T) => string,
): string;
export function firstFew<T>(
  items: readonly T[],
  between: string,
  textOf: (item: T) => string = String,
): string {
  const texts = items.slice(0, mostItems).map((item) => textOf(item));
  if (items.length > mostItems) texts.push(`and ${items.length - mostItems} more`);
  return texts.join(between);
}
