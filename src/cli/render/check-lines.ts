// The doctor's report: one line for each check, and under each finding its remedy.

import { printableLine } from '../../kernel/printable.ts';
import type { Check } from '../checks/check.ts';
import type { Style } from './style.ts';
import { largest } from './table.ts';
import { padTo, widthOf } from './width.ts';

const marks = { ok: '✓', note: '·', finding: '✗' } as const;
const looks = { ok: 'green', note: 'dim', finding: 'red' } as const;

export function checkLines(checks: readonly Check[], style: Style): string[] {
  const width = largest(checks.map(({ subject }) => widthOf(subject)));
  const lines = checks.flatMap((check) => {
    const mark = style(looks[check.kind], marks[check.kind]);
    const line = `${mark} ${padTo(width, check.subject)}  ${printableLine(check.text)}`;
    if (check.kind !== 'finding') return [line];
    return [line, `${' '.repeat(width + 4)}${style('bold', `→ ${printableLine(check.remedy)}`)}`];
  });
  return [...lines, '', summaryOf(checks, style)];
}

function summaryOf(checks: readonly Check[], style: Style): string {
  const count = checks.filter(({ kind }) => kind === 'finding').length;
  if (count === 0) return style('green', 'Everything is in order.');
  return style('red', count === 1 ? 'One thing to repair.' : `${count} things to repair.`);
}
