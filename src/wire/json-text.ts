// Checks that JSON text from a caller is exactly one value, with the same grammar as frames. This
// is done before anything is started or sent for it. A WireError says where it is invalid.

import {
  assertNothingAfter,
  assertText,
  defaultMaxDepth,
  skipSpace,
  skipValue,
} from './grammar.ts';
import { WireError } from './wire-error.ts';

const openBrace = 0x7b;

/** The bytes from `start` to `end` must be one value; space around it is allowed. */
export function checkValue(bytes: Buffer, start = 0, end = bytes.length): void {
  const text = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
  try {
    assertText(text);
    assertNothingAfter(text, skipValue(text, skipSpace(text, 0), 0, defaultMaxDepth));
  } catch (error) {
    if (!(error instanceof WireError) || start === 0) throw error;
    throw new WireError(error.reason, start + error.offset);
  }
}

/** Whether the value is an object. Only its first byte is read: call `checkValue` first. */
export function isObjectText(bytes: Buffer): boolean {
  return bytes[skipSpace(bytes, 0)] === openBrace;
}
