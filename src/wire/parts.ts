// Reads further into a value of a scanned frame: the members of an object that the scanner only
// skipped, the elements of an array. The same rule as for the envelope applies: no duplicate key,
// no key written with escapes. Nothing is copied; the spans are offsets into the same bytes.

import { defaultMaxDepth, skipSpace, skipValue, unexpected } from './grammar.ts';
import { Reading } from './reading.ts';
import { ObjectSpan, type Span } from './span.ts';
import { WireError } from './wire-error.ts';

const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;

/** More elements than this are refused, because each needs a span. */
const maxElements = 65_536;

/** The object's members; undefined if the value is not an object. */
export function objectAt(bytes: Buffer, span: Span): ObjectSpan | undefined {
  if (span instanceof ObjectSpan) return span;
  if (bytes[span.start] !== openBrace) return undefined;
  const reading = new Reading(bytes, defaultMaxDepth);
  const object = reading.object(span.start, 'leaf', 0);
  const complaint = reading.complaint;
  if (complaint !== undefined) throw new WireError(complaint.reason, complaint.offset);
  return object;
}

/** The array's elements; undefined if the value is not an array. */
export function elementsAt(bytes: Buffer, span: Span): Span[] | undefined {
  if (bytes[span.start] !== openBracket) return undefined;
  const elements: Span[] = [];
  readElements(bytes, span.start, maxElements, defaultMaxDepth, elements);
  return elements;
}

/** Reads the array whose bracket is at `start`; returns the offset after it. */
export function readElements(
  bytes: Buffer,
  start: number,
  limit: number,
  maxDepth: number,
  elements: Span[],
): number {
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === closeBracket) return at + 1;
  let firstBeyond: number | undefined;
  for (;;) {
    const end = skipValue(bytes, at, 1, maxDepth);
    if (elements.length < limit) elements.push({ start: at, end });
    else firstBeyond ??= at;
    at = skipSpace(bytes, end);
    if (bytes[at] === closeBracket) break;
    if (bytes[at] !== comma) throw unexpected(bytes, at);
    at = skipSpace(bytes, at + 1);
  }
  if (firstBeyond !== undefined) throw new WireError('too-many-elements', firstBeyond);
  return at + 1;
}
