// The doctor's report: one line for each check, and under each finding its remedy.

import { printableLine } from '../../kernel/printable.ts';
import type { Check } from '../checks/check.ts';
import type { Style } from './style.ts';
import { largest } from './table.ts';
import { padTo, widthOf, wrappedTo } from './width.ts';

const marks = { ok: '✓', note: '·', finding: '✗' } as const;
const looks = { ok: 'green', note: 'dim', finding: 'red' } as const;

export function checkLines(checks: readonly Check[], style: Style, columns: number): string[] {
  const width = largest(checks.map(({ subject }) => widthOf(subject)));
  const margin = ' '.repeat(width + 4);
  const room = Math.max(20, columns - margin.length);
  const lines = checks.flatMap((check) => {
    const mark = style(looks[check.kind], marks[check.kind]);
    const [first = '', ...rest] = wrappedTo(room, printableLine(check.text));
    const text = [`${mark} ${padTo(width, check.subject)}  ${first}`, ...indented(rest, margin)];
    if (check.kind !== 'finding') return text;
    const remedy = wrappedTo(room, `→ ${printableLine(check.remedy)}`);
    return [
      ...text,
      ...indented(
        remedy.map((part) => style('bold', part)),
        margin,
      ),
    ];
  });
  return [...lines, '', summaryOf(checks, style)];
}

function indented(lines: readonly string[], margin: string): string[] {
  return lines.map((line) => margin + line);
}

function summaryOf(checks: readonly Check[], style: Style): string {
  const count = checks.filter(({ kind }) => kind === 'finding').length;
  if (count === 0) return style('green', 'No problems found.');
  return style('red', count === 1 ? '1 problem found.' : `${count} problems found.`);
}
