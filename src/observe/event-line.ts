// One record as one line of JSON that is never longer than a limit and never does anything to a terminal
// that shows it. In a record that is too long the long members are shortened or nulled, and `cut` says how
// many bytes there were; what is left is still JSON.

import { printableJson } from '../kernel/printable.ts';
import { headOf } from '../kernel/text-cut.ts';

/** Short enough for one write to be taken as a whole by every file system in use. */
export const maxLineBytes = 4_096;

/** What a member may take of a line that has to be cut. */
const maxMemberBytes = 512;
/** A character can take six bytes once it is escaped. */
const maxTextLength = 80;

/** The line with its line break. Throws what JSON.stringify throws (a circle, a BigInt). */
export function eventLine(record: object): string {
  const line = `${jsonOf(record)}\n`;
  const bytes = Buffer.byteLength(line);
  if (bytes <= maxLineBytes) return line;
  let members = `"cut":${bytes}`;
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
