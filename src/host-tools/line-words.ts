// Words for lines that people, models and scripts read: a duration, a name, a quotation. A name or
// a quotation comes from outside: it must stay on its line, stay short, and not look like a word of
// ours next to it.

import { printableLine } from '../kernel/printable.ts';
import { cutText } from '../kernel/text-cut.ts';

const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'm', ms: 60_000 },
] as const;

/** `0s`, `59s`, `5m`, `3h`, `2d`: rounded down; a time in the future counts as 0. */
export function ageText(ms: number): string {
  const span = Math.max(0, ms);
  const unit = units.find((candidate) => span >= candidate.ms) ?? { name: 's', ms: 1_000 };
  return `${Math.floor(span / unit.ms)}${unit.name}`;
}

/** Unchanged if it is one plain word, as nearly every name is; otherwise in quotes. */
export function nameWord(name: string): string {
  return /^[\p{L}\p{N}._:/@$+-]{1,256}$/u.test(name) ? name : quoted(name);
}

const longestQuote = 60;

/** In double quotes, as JSON has them. */
export function quoted(text: string): string {
  return printableLine(JSON.stringify(cutText(longestQuote, text)));
}
