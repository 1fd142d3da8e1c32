// Formats a record as one line of JSON that is never longer than a limit and contains no control
// characters. In a record that is too long, long members are shortened or set to null, and `cut`
// gives the original number of bytes; the result is still JSON.

import { printableJson } from '../kernel/printable.ts';
import { headOf } from '../kernel/text-cut.ts';

/** Short enough that every common file system writes it atomically. */
export const maxLineBytes = 4_096;

/** The share of one member in a line that has to be cut. */
const maxMemberBytes = 512;
/** A character can take six bytes once it is escaped. */
const maxTextLength = 80;

/** Members at the end of every line, in the form that `eventLine` takes. */
export function commonMembers(record: object): string {
  const members = jsonOf(record).slice(1, -1);
  return members === '' ? '' : `,${members}`;
}

/**
 * The line with its line break. `common` is inserted as text, because it is the same for every
 * line. Throws what JSON.stringify throws (a cycle, a BigInt).
 */
export function eventLine(record: object, common = ''): string {
  const json = jsonOf(record);
  const line = common === '' ? `${json}\n` : `${json.slice(0, -1)}${common}}\n`;
  // A character takes three bytes at most.
  if (line.length * 3 <= maxLineBytes) return line;
  const bytes = Buffer.byteLength(line);
  if (bytes <= maxLineBytes) return line;
  let members = `"cut":${bytes}${common}`;
  for (const [name, value] of Object.entries(record)) {
    const member = `${jsonOf(name)}:${shortened(value)}`;
    // Room for the braces, a comma and the line break.
    if (Buffer.byteLength(members) + Buffer.byteLength(member) + 4 > maxLineBytes) break;
    members += `,${member}`;
  }
  return `{${members}}\n`;
}

function shortened(value: unknown): string {
  const text = jsonOf(value);
  if (Buffer.byteLength(text) <= maxMemberBytes) return text;
  return typeof value === 'string' ? jsonOf(`${headOf(maxTextLength, value)}…`) : 'null';
}

function jsonOf(value: unknown): string {
  return printableJson(JSON.stringify(value) ?? 'null');
}
