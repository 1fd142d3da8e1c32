// JSON that came from a caller as text: is it exactly one value? Asked before anything is started
// or sent for it, by the same grammar that frames are held to. A WireError says where it breaks.

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

/** Is the value an object? Only its first byte is looked at: `checkValue` comes before. */
export function isObjectText(bytes: Buffer): boolean {
  return bytes[skipSpace(bytes, 0)] === openBrace;
}
