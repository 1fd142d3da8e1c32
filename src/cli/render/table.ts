// Formats rows in columns. Every column is as wide as its widest cell, up to a share of the line;
// the last one takes the rest and is cut there. Cells are plain text; styles are applied
// afterwards, so that they do not count as width.

import { cutTo, padTo, widthOf } from './width.ts';

export interface Cell {
  readonly text: string;
  readonly look?: (text: string) => string;
}

const gap = '  ';
/** A column that is not the last may take at most this share of a line that is limited. */
const widestShare = 0.4;

export function tableLines(rows: readonly (readonly Cell[])[], columns: number): string[] {
  const count = largest(rows.map((row) => row.length));
  const most = Number.isFinite(columns) ? Math.floor(columns * widestShare) : columns;
  const widths = Array.from({ length: Math.max(0, count - 1) }, (_, index) =>
    Math.min(most, largest(rows.map((row) => widthOf(row[index]?.text ?? '')))),
  );
  const taken = widths.reduce((sum, width) => sum + width + gap.length, 0);
  const lastWidth = Math.max(8, columns - taken);
  return rows.map((row) =>
    row
      .map(({ text, look = same }, index) => {
        const width = widths[index];
        const isLast = index === row.length - 1;
        const fitting = cutTo(width ?? lastWidth, text);
        return isLast || width === undefined
          ? look(fitting)
          : look(fitting) + padTo(width - widthOf(fitting), '') + gap;
      })
      .join('')
      .trimEnd(),
  );
}

/** Zero if there are none. There may be more than a call can have arguments. */
export function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

function same(text: string): string {
  return text;
}
