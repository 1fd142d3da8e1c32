// Skips the inside of a JSON string. Most strings are short and plain, and a loop over their bytes
// is the fastest way; a few are megabytes long, and those are passed to native searches and to a
// check of 32 bytes at a time as soon as a run of plain bytes is long enough to pay for the call.
// Every byte is read a bounded number of times, whatever the content.

import { WireError } from './wire-error.ts';

const quote = 0x22;
const backslash = 0x5c;
const firstPrintable = 0x20;

/** From here on a run of plain bytes is worth a few native calls (about 200 ns). */
const longRun = 192;
const firstWindow = 1024;
const largestWindow = 256 * 1024;

/**
 * 1 for bytes that stand for themselves: all but the quote, the backslash and control characters.
 */
const plain = new Uint8Array(256).fill(1, firstPrintable);
plain[quote] = 0;
plain[backslash] = 0;

/** `start` is the byte after the opening quote; the result is the byte after the closing one. */
export function skipString(bytes: Buffer, start: number): number {
  const end = bytes.length;
  let at = start;
  for (;;) {
    at = skipRun(bytes, at);
    if (at >= end) throw new WireError('unexpected-end', end);
    const byte = bytes[at] as number;
    if (byte === quote) return at + 1;
    if (byte === backslash) at = skipEscape(bytes, at);
    else if (byte < firstPrintable) throw new WireError('control-character', at);
    else at = skipLongRun(bytes, at);
  }
}

/** Stops at a byte that is not plain, or after a long run. Four bytes a turn, as far as they go. */
function skipRun(bytes: Buffer, start: number): number {
  const stop = Math.min(bytes.length, start + longRun);
  let at = start;
  while (at + 3 < stop) {
    if (plain[bytes[at] as number] === 0) return at;
    if (plain[bytes[at + 1] as number] === 0) return at + 1;
    if (plain[bytes[at + 2] as number] === 0) return at + 2;
    if (plain[bytes[at + 3] as number] === 0) return at + 3;
    at += 4;
  }
  while (at < stop && plain[bytes[at] as number] === 1) at++;
  return at;
}

/**
 * Continues natively, to the next quote or backslash. The searches are limited to a window that
 * grows with the run: a search to the far end after every escape would make a long text quadratic.
 */
function skipLongRun(bytes: Buffer, start: number): number {
  let at = start;
  for (let window = firstWindow; at < bytes.length; window = Math.min(2 * window, largestWindow)) {
    const ahead = bytes.subarray(at, at + window);
    const nextQuote = ahead.indexOf(quote);
    const run = nextQuote < 0 ? ahead : ahead.subarray(0, nextQuote);
    const nextEscape = run.indexOf(backslash);
    const stop = nextEscape < 0 ? at + run.length : at + nextEscape;
    assertPrintable(bytes, at, stop);
    at = stop;
    if (nextQuote >= 0 || nextEscape >= 0) break;
  }
  return at;
}

/** `start` is the backslash. */
function skipEscape(bytes: Buffer, start: number): number {
  if (start + 1 >= bytes.length) throw new WireError('unexpected-end', bytes.length);
  switch (bytes[start + 1]) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return start + 2;
    case 0x75: // u
      for (let at = start + 2; at < start + 6; at++) {
        if (at >= bytes.length) throw new WireError('unexpected-end', at);
        if (!isHexDigit(bytes[at] as number)) throw new WireError('bad-escape', start);
      }
      return start + 6;
    default:
      throw new WireError('bad-escape', start);
  }
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** Throws at the first control character; eight words at a time, then byte by byte. */
function assertPrintable(bytes: Buffer, start: number, end: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
  const blocks = (end - start) & ~31;
  let at = 0;
  while (at < blocks && !hasControl(view, at)) at += 32;
  for (let rest = start + at; rest < end; rest++) {
    if ((bytes[rest] as number) < firstPrintable) throw new WireError('control-character', rest);
  }
}

/**
 * Is one of the 32 bytes below 0x20? For each byte x of a word, x - 0x20 borrows into bit 7 exactly
 * if x is smaller, and `& ~x` takes out the bytes that had bit 7 set before (those of UTF-8).
 */
function hasControl(view: DataView, at: number): boolean {
  const a = view.getInt32(at, true);
  const b = view.getInt32(at + 4, true);
  const c = view.getInt32(at + 8, true);
  const d = view.getInt32(at + 12, true);
  const e = view.getInt32(at + 16, true);
  const f = view.getInt32(at + 20, true);
  const g = view.getInt32(at + 24, true);
  const h = view.getInt32(at + 28, true);
  const smaller =
    ((a - 0x20202020) & ~a) |
    ((b - 0x20202020) & ~b) |
    ((c - 0x20202020) & ~c) |
    ((d - 0x20202020) & ~d) |
    ((e - 0x20202020) & ~e) |
    ((f - 0x20202020) & ~f) |
    ((g - 0x20202020) & ~g) |
    ((h - 0x20202020) & ~h);
  return (smaller & 0x80808080) !== 0;
}
