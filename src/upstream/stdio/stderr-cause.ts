// Selects the lines of stderr that say why a server failed. The last line rarely does: Node ends
// with its own version, a stack trace with its outermost frame, npm with the path of a log. So
// lines that only accompany an error are skipped, and of the rest the last one that looks like an
// error is taken, or else the last one. This is for people; nothing is decided by it.

import { cutText } from '../../kernel/text-cut.ts';

export interface StderrCause {
  /** The most informative line. */
  readonly line: string;
  /** Whether it looks like an error, or is only the last line. */
  readonly isError: boolean;
  /** A few lines with that one among them, oldest first. */
  readonly excerpt: string;
}

/** Of a fault, an event, a line on a screen. */
const excerptLines = 5;
const longestLine = 300;

/** Undefined if nothing was said. */
export function causeIn(all: readonly string[]): StderrCause | undefined {
  const lines = all.map((line) => line.slice(0, judgedLength));
  const told = lines.filter((line, index) => !isAccompanying(line, lines[index + 1]));
  const at = mostTelling(told);
  const line = told[at];
  if (line === undefined) return undefined;
  const from = Math.max(0, Math.min(at, told.length - excerptLines));
  const excerpt = told.slice(from, from + excerptLines).map(shortened);
  return { line: shortened(line.trim()), isError: isErrorLine(line), excerpt: excerpt.join('\n') };
}

/** More of a line is not looked at. */
const judgedLength = 500;

/** Points at a place in the line above. */
const underline = /^\s*\^[\s^~]*$/;

/** Stack frames, the source lines next to them, and what runtimes add by themselves. */
const accompanying: readonly RegExp[] = [
  /^\s*$/,
  /^\s+at\s/,
  underline,
  /^Node\.js v\d/,
  /^(?:\[eval\]|node:|file:\/\/|\/|[A-Za-z]:\\).*:\d+$/,
  /^\s*(?:[{}\]]|\[)[,;]?\s*$/,
  /^\s+(?:code|errno|syscall|requireStack|path|spawnargs): /,
  /^Require stack:$|^- \//,
  /^Traceback \(most recent call last\):$/,
  /^\s+File "/,
  /^goroutine \d+ \[|^\s+\S+\.go:\d+|^exit status \d+$/,
  /^\s*\.\.\. \d+ more$/,
  /^note: run with `RUST_BACKTRACE/,
  /^npm (?:ERR!|error)\s*(?:\d*\s*$|code |A complete log|Note that)/,
  /^npm (?:warn|WARN|notice)/i,
  /^\(Use `node --trace/,
];

function isAccompanying(line: string, next: string | undefined): boolean {
  if (accompanying.some((pattern) => pattern.test(line))) return true;
  // The line of source that a caret below it points at.
  return next !== undefined && underline.test(next);
}

/** What runtimes print for an uncaught error, and what programs print themselves. */
const named = /^\W*(?:Uncaught |Unhandled )?(?:[\w.$]*(?:Error|Exception))\b[^:]{0,60}:\s*\S/;
const announced = /^\W*(?:fatal|panic|error|critical)\b/i;
const mentioned =
  /\b(?:error|fatal|failed|failure|cannot|can't|could not|unable|missing|required|refused|denied|invalid|unknown|unexpected|not (?:set|found|defined|installed|supported)|no such|usage:)/i;

function isErrorLine(line: string): boolean {
  return named.test(line) || announced.test(line) || mentioned.test(line);
}

function mostTelling(lines: readonly string[]): number {
  const npm = lines.findLastIndex((line) => isNpm(line));
  // npm explains itself in many lines, the first of which says what is wrong.
  if (npm !== -1) return firstOfRun(lines, npm);
  for (const pattern of [named, announced, mentioned]) {
    const at = lines.findLastIndex((line) => pattern.test(line));
    if (at !== -1) return at;
  }
  return lines.length - 1;
}

function isNpm(line: string | undefined): boolean {
  return line !== undefined && /^npm (?:ERR!|error)/.test(line);
}

function firstOfRun(lines: readonly string[], last: number): number {
  let at = last;
  while (isNpm(lines[at - 1])) at -= 1;
  return at;
}

function shortened(line: string): string {
  return cutText(longestLine, line.trimEnd());
}
