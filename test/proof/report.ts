// What a proof says when it is done: a title and figures, each with its goal where it has one. Printed
// as a table for people, written as JSON for `npm run proof`, which puts all of them into one. A proof
// has failed when one of its figures misses its goal.

import { writeFileSync } from 'node:fs';

export interface Figure {
  readonly name: string;
  readonly value: number | string;
  /** In words, such as "0" or "at most 5"; absent where the figure only informs. */
  readonly goal?: string;
  readonly isMet?: boolean;
}

export interface Report {
  readonly title: string;
  readonly figures: readonly Figure[];
  /** What was found, one line each, with what is needed to see it again. */
  readonly findings: readonly string[];
}

export function exactly(name: string, value: number, goal: number): Figure {
  return { name, value, goal: String(goal), isMet: value === goal };
}

export function atMost(name: string, value: number, limit: number, unit = ''): Figure {
  return { name, value, goal: `at most ${spelled(limit)}${unit}`, isMet: value <= limit };
}

export function atLeast(name: string, value: number, limit: number, unit = ''): Figure {
  return { name, value, goal: `at least ${spelled(limit)}${unit}`, isMet: value >= limit };
}

export function fact(name: string, value: number | string): Figure {
  return { name, value };
}

export function hasPassed({ figures, findings }: Report): boolean {
  return findings.length === 0 && figures.every(({ isMet }) => isMet !== false);
}

/** Prints the report, writes it where it is wanted, and sets the exit code. */
export function conclude(report: Report, jsonFile: string | undefined): void {
  console.log(tableOf(report));
  if (jsonFile !== undefined) writeFileSync(jsonFile, `${JSON.stringify(report, null, 2)}\n`);
  if (!hasPassed(report)) process.exitCode = 1;
}

export function tableOf(report: Report): string {
  const { title, figures, findings } = report;
  const width = Math.max(...figures.map(({ name }) => name.length));
  const rows = figures.map(({ name, value, goal, isMet }) => {
    const verdict = isMet === undefined ? '' : `  ${isMet ? 'ok' : 'MISSED'}, goal ${goal}`;
    return `  ${name.padEnd(width)}  ${spelled(value)}${verdict}`;
  });
  const shown = findings.map((finding) => `  ! ${finding}`);
  return [`${title}: ${hasPassed(report) ? 'passed' : 'FAILED'}`, ...rows, ...shown].join('\n');
}

export function spelled(value: number | string): string {
  if (typeof value === 'string') return value;
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}
