// A JSON number, passed over: an optional minus, digits without a leading zero, then perhaps a
// fraction and an exponent. Its value is never computed here; a number crosses the relay as it is
// spelled, so 1.0 stays 1.0 and 9007199254740993 keeps its last digit.

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
  if (at < end && bytes[at] === zero) {
    at++;
  } else {
    const from = at;
    while (at < end && (bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++;
    if (at === from) throw notANumber(bytes, start, at);
  }
  if (at < end && bytes[at] === point) {
    const from = ++at;
    while (at < end && (bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++;
    if (at === from) throw notANumber(bytes, start, at);
  }
  return at < end && ((bytes[at] as number) | 0x20) === 0x65 ? skipExponent(bytes, start, at) : at;
}

/** `e` is where the letter stands. */
function skipExponent(bytes: Buffer, start: number, e: number): number {
  const end = bytes.length;
  let at = e + 1;
  if (at < end && (bytes[at] === plus || bytes[at] === minus)) at++;
  const from = at;
  while (at < end && (bytes[at] as number) >= zero && (bytes[at] as number) <= nine) at++;
  if (at === from) throw notANumber(bytes, start, at);
  return at;
}

function notANumber(bytes: Buffer, start: number, at: number): WireError {
  if (at >= bytes.length) return new WireError('unexpected-end', at);
  return new WireError(at === start ? 'unexpected-byte' : 'bad-number', at);
}
