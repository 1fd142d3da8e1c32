// The grammar of JSON (RFC 8259), checked byte by byte without building values. This is the most
// used code of the relay: every frame passes through it once, in each direction. It is one loop
// with its own stack, so that the allowed depth of a document is a constant and does not depend on
// the JavaScript stack. `assertText` checks natively beforehand that the bytes are UTF-8; strings
// and numbers have their own files. Every function here takes the offset of a part's first byte,
// returns the offset after its last, and throws a WireError where the grammar is violated.

import { isUtf8 } from 'node:buffer';
import { skipNumber } from './numbers.ts';
import { skipString } from './strings.ts';
import { WireError } from './wire-error.ts';

/**
 * How deeply arrays and objects may be nested unless the caller says otherwise. Schemas and results
 * in use stay below 50, and several peers stop early themselves (serde_json at 128, Python near
 * 1000), so more would be accepted here only to be refused further on.
 */
export const defaultMaxDepth = 512;

const quote = 0x22;
const comma = 0x2c;
const nine = 0x39;
const colon = 0x3a;
const openBracket = 0x5b;
const openBrace = 0x7b;
/** In ASCII both closing brackets are two positions after the opening ones. */
const toClosing = 2;

/** The opening bracket of each open container; shared, because nothing here awaits. */
let openings = new Uint8Array(defaultMaxDepth);

/** The bytes must be UTF-8 without a byte order mark: the one check that is made beforehand. */
export function assertText(bytes: Buffer): void {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new WireError('byte-order-mark', 0);
  }
  if (!isUtf8(bytes)) throw new WireError('invalid-utf8', 0);
}

/** Skips one value of any kind. `depth` is how many containers are open around it. */
export function skipValue(bytes: Buffer, start: number, depth: number, maxDepth: number): number {
  const end = bytes.length;
  if (maxDepth > openings.length) openings = new Uint8Array(maxDepth);
  const stack = openings;
  let level = depth;
  let at = start;
  let isKey = false;
  for (;;) {
    // A value begins here, or the key of one.
    if (at >= end) throw new WireError('unexpected-end', at);
    const first = bytes[at] as number;
    if (first === quote) {
      at = skipString(bytes, at + 1);
      if (isKey) {
        at = skipColon(bytes, at);
        isKey = false;
        continue;
      }
    } else if (isKey) {
      throw unexpected(bytes, at);
    } else if (first === openBrace || first === openBracket) {
      if (level >= maxDepth) throw new WireError('too-deep', at);
      at = skipSpace(bytes, at + 1);
      if (at >= end || bytes[at] !== first + toClosing) {
        stack[level] = first;
        level++;
        isKey = first === openBrace;
        continue;
      }
      at++;
    } else {
      at = first <= nine ? skipNumber(bytes, at) : skipLiteral(bytes, at);
    }
    // A value has ended here: close what it was the last of, and go on to the next.
    for (;;) {
      if (level === depth) return at;
      at = skipSpace(bytes, at);
      if (at >= end) throw new WireError('unexpected-end', at);
      const next = bytes[at] as number;
      const opening = stack[level - 1] as number;
      if (next === comma) {
        at = skipSpace(bytes, at + 1);
        isKey = opening === openBrace;
        break;
      }
      if (next !== opening + toClosing) throw unexpected(bytes, at);
      level--;
      at++;
    }
  }
}

/** From the end of a key to the first byte of its value. */
export function skipColon(bytes: Buffer, start: number): number {
  const at = skipSpace(bytes, start);
  if (at >= bytes.length || bytes[at] !== colon) throw unexpected(bytes, at);
  return skipSpace(bytes, at + 1);
}

/** Most often there is no white space; this part is inlined, the loop is not. */
export function skipSpace(bytes: Buffer, start: number): number {
  return start < bytes.length && (bytes[start] as number) <= 0x20
    ? skipSpaces(bytes, start)
    : start;
}

function skipSpaces(bytes: Buffer, start: number): number {
  const end = bytes.length;
  let at = start;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    at++;
  }
  return at;
}

/** The rest of the bytes must be white space: a document is exactly one value. */
export function assertNothingAfter(bytes: Buffer, start: number): void {
  const at = skipSpace(bytes, start);
  if (at < bytes.length) throw new WireError('trailing-bytes', at);
}

/** true, false or null. */
function skipLiteral(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === 0x74) {
    if (bytes[at + 1] === 0x72 && bytes[at + 2] === 0x75 && bytes[at + 3] === 0x65) return at + 4;
  } else if (first === 0x6e) {
    if (bytes[at + 1] === 0x75 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x6c) return at + 4;
  } else if (first === 0x66) {
    const isFals = bytes[at + 1] === 0x61 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x73;
    if (isFals && bytes[at + 4] === 0x65) return at + 5;
  } else {
    throw unexpected(bytes, at);
  }
  throw new WireError('bad-literal', at);
}

/** What is here instead of what should be. */
export function unexpected(bytes: Buffer, at: number): WireError {
  return new WireError(at < bytes.length ? 'unexpected-byte' : 'unexpected-end', at);
}
