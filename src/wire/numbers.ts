// Skips a JSON number: an optional minus, digits without a leading zero, then an optional fraction
// and exponent. Its value is never computed here; a number is forwarded as it is spelled, so 1.0
// stays 1.0 and 9007199254740993 keeps its last digit.

import { WireError } from './wire-error.ts';

const plus = 0x2b;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;

/** `start` is the first byte of what should be a number; the result is the byte after it. */
export function skipNumber(bytes: Buffer, start: number): number {
  const end = bytes.length;
  let at = bytes[start] === minus ? start + 1 : start;
  if (at < end && bytes[at] === zero) at++;
  else at = skipDigits(bytes, at, start);
  if (at >= end) return at;
  if (bytes[at] === point) {
    at = skipDigits(bytes, at + 1, start);
    if (at >= end) return at;
  }
  if (((bytes[at] as number) | 0x20) !== 0x65) return at;
  at++;
  if (at < end && (bytes[at] === plus || bytes[at] === minus)) at++;
  return skipDigits(bytes, at, start);
}

/** At least one digit. */
function skipDigits(bytes: Buffer, start: number, numberStart: number): number {
  const end = bytes.length;
  let at = start;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte < zero || byte > nine) break;
    at++;
  }
  if (at === start) throw notANumber(bytes, numberStart, at);
  return at;
}

function notANumber(bytes: Buffer, start: number, at: number): WireError {
  if (at >= bytes.length) return new WireError('unexpected-end', at);
  return new WireError(at === start ? 'unexpected-byte' : 'bad-number', at);
}
