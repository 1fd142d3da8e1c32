// The credentials of a broker as a table. On a narrow terminal each has lines of its own.

import { printableLine } from '../../kernel/printable.ts';
import type { ListedCredential } from '../credential-book.ts';
import type { Style } from './style.ts';
import { type Cell, tableLines } from './table.ts';
import { endText } from './token-page.ts';
import { wrappedTo } from './width.ts';

/** Below this a table would cut what matters. */
const narrow = 72;

/** `now` is wall time. */
export function credentialLines(
  credentials: readonly ListedCredential[],
  now: number,
  style: Style,
  columns: number,
): string[] {
  const rows = credentials.map((one) => ({
    one,
    words: [one.kind, one.role ?? '', one.to.join(', '), endText(one, now)] as const,
  }));
  if (columns < narrow) {
    return rows.flatMap(({ one, words }) => [
      style('bold', printableLine(one.name)),
      ...wrappedTo(columns - 2, [one.id, ...words.filter((word) => word !== '')].join(' · ')).map(
        (line) => `  ${line}`,
      ),
    ]);
  }
  const headings = ['NAME', 'ID', 'KIND', 'ROLE', 'TO', 'EXPIRES'].map(
    (text): Cell => ({ text, look: (heading) => style('dim', heading) }),
  );
  const cells = rows.map(({ one, words }): Cell[] => [
    { text: printableLine(one.name), look: (text) => style('bold', text) },
    { text: one.id, look: (text) => style('dim', text) },
    ...words.map((text) => ({ text: printableLine(text) })),
  ]);
  return tableLines([headings, ...cells], columns);
}
