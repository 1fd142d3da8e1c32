// Splits a JSON-RPC batch. Only the version 2025-03-26 of MCP has batches; `scanMessage` refuses
// them with the reason `batch`, and code that serves that version uses this file to get the
// elements and scans each as a separate message.

import {
  assertNothingAfter,
  assertText,
  defaultMaxDepth,
  skipSpace,
  skipValue,
} from './grammar.ts';
import { readElements } from './parts.ts';
import type { Span } from './span.ts';
import { WireError } from './wire-error.ts';

const openBracket = 0x5b;

/** The maximum number of calls in one request body. */
export const maxBatch = 1024;

/** The elements of an array, in order, uncopied and not yet scanned. Throws a WireError. */
export function scanBatch(bytes: Buffer): Buffer[] {
  assertText(bytes);
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== openBracket) {
    assertNothingAfter(bytes, skipValue(bytes, start, 0, defaultMaxDepth));
    throw new WireError('not-a-batch', start);
  }
  const elements: Span[] = [];
  assertNothingAfter(bytes, readElements(bytes, start, maxBatch, defaultMaxDepth, elements));
  return elements.map((element) => bytes.subarray(element.start, element.end));
}
