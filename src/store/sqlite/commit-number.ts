// The number of a commit, found in a page of the database without SQLite. Every commit that changes
// something writes its number, with the checksum of its row, so that it is in one of the pages of each
// change in the log. The layout of a row is that of https://www.sqlite.org/fileformat2.html#record_format.

import { digestBytes, digestOf } from './row-digest.ts';

/** The name of the row in the table of numbers. */
export const commitNumbers = 'commits';

const name = Buffer.from(commitNumbers);
/** Bytes of an integer, by its type in the head of a row; the two that have none are 0 and 1. */
const widths: readonly (number | undefined)[] = [
  undefined,
  1,
  2,
  3,
  4,
  6,
  undefined,
  undefined,
  0,
  0,
];
/** Numbers of this type are the last that can be read exactly. */
const mostBytes = 6;

/** The highest in the page: what SQLite has not overwritten may hold earlier ones. Undefined if there is none. */
export function commitNumberIn(page: Buffer): number | undefined {
  let highest: number | undefined;
  for (let at = page.indexOf(name); at >= 0; at = page.indexOf(name, at + 1)) {
    const number = numberAt(page, at);
    if (number !== undefined) highest = Math.max(number, highest ?? 0);
  }
  return highest;
}

/** The name is at this place; before it stand the types of the columns. */
function numberAt(page: Buffer, at: number): number | undefined {
  const type = page[at - 2] ?? 0;
  const width = widths[type];
  if (width === undefined || width > mostBytes) return undefined;
  const from = at + name.length;
  if (from + width + digestBytes > page.length) return undefined;
  const number = width === 0 ? type - 8 : page.readIntBE(from, width);
  const digest = page.toString('latin1', from + width, from + width + digestBytes);
  return digest === digestOf([commitNumbers, number]) ? number : undefined;
}
