// All proofs in one table: for the terminal, and for docs/proof.md, where it stands between two marks
// and nothing else is touched. Other pages with figures are written in the same way.

import { type Figure, type Report, spelled } from './report.ts';
import type { Step } from './steps.ts';

/** One proof that was run. */
export interface Taken {
  readonly step: Step;
  readonly seconds: number;
  readonly report: Report;
  readonly isPassed: boolean;
}

/** A page of docs/ with figures in it, and the npm script that writes them. */
export interface Page {
  readonly file: string;
  readonly command: string;
}

const ownPage: Page = { file: 'docs/proof.md', command: 'proof' };
const end = '<!-- end of figures -->';

export function summaryOf(all: readonly Taken[]): string {
  const rows = all.flatMap(({ step, report }) =>
    judged(report).map((figure) => [
      step.name,
      figure.name,
      spelled(figure.value),
      verdict(figure),
    ]),
  );
  const widths = [0, 1, 2].map((column) =>
    Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const ends = all.map(
    ({ step, seconds, isPassed, report }) =>
      `${isPassed ? 'passed' : 'FAILED'}  ${step.name} in ${Math.round(seconds)} s` +
      (report.findings.length > 0 ? `, ${report.findings.length} findings above` : ''),
  );
  return [...lines, '', ...ends].join('\n');
}

export function markdownOf(all: readonly Taken[], machine: string): string {
  const rows = all.flatMap(({ step, seconds, report }) => [
    `| **${step.name}** | ${Math.round(seconds)} s | | |`,
    ...report.figures.map(
      (figure) =>
        `| ${figure.name} | ${spelled(figure.value)} | ${figure.goal ?? ''} | ${verdict(figure)} |`,
    ),
  ]);
  return [machine, '', '| figure | value | goal | |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}

/** The document with the figures between the marks replaced. */
export function inDocument(text: string, figures: string, { file, command } = ownPage): string {
  const begin = `<!-- figures: written by npm run ${command} -- --write -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${file} has lost its marks: ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n${figures}\n${text.slice(to)}`;
}

function judged({ figures }: Report): readonly Figure[] {
  return figures.filter(({ isMet }) => isMet !== undefined);
}

function verdict({ isMet, goal }: Figure): string {
  if (isMet === undefined) return '';
  return isMet ? 'met' : `MISSED, goal ${goal}`;
}
