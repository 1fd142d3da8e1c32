// The output of a server's processes for a person: the time of each line, and a line of its own where
// another process begins.

import { printableLine } from '../../kernel/printable.ts';
import type { OutputLine } from '../../observe/server-output.ts';
import { momentText } from './quantity.ts';
import type { Style } from './style.ts';

/** `before` is the line that was printed last. */
export function outputLines(
  lines: readonly OutputLine[],
  before: OutputLine | undefined,
  now: number,
  style: Style,
): readonly string[] {
  let pid = before?.pid;
  return lines.flatMap((line) => {
    const isOther = line.pid !== pid;
    pid = line.pid;
    const head = isOther ? [style('dim', processLine(line))] : [];
    const mark = line.stream === 'stdout' ? style('yellow', 'stdout: ') : '';
    return [
      ...head,
      `${style('dim', momentText(line.at, now))} ${mark}${printableLine(line.text)}`,
    ];
  });
}

function processLine({ pid }: OutputLine): string {
  return pid === null ? '--- a process that was just started' : `--- process ${pid}`;
}
