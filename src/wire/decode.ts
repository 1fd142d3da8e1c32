// Decodes values at spans: the few places where policy must look into a frame. The bytes must have
// been accepted by the scanner; a span of another kind than expected gives undefined, because a
// peer may put any value anywhere.

import { type Span, spells } from './span.ts';

const quote = 0x22;
const minus = 0x2d;
const backslash = 0x5c;

/** A JSON-RPC id, type-strict: 1 and "1" are different ids. */
export type Id = number | string;

/** The decoded string, undefined if the value is not one. */
export function textOf(bytes: Buffer, span: Span): string | undefined {
  if (bytes[span.start] !== quote) return undefined;
  if (hasEscapes(bytes, span)) return valueOf(bytes, span) as string;
  return bytes.toString('utf8', span.start + 1, span.end - 1);
}

/** Is the value this string? Compared in place; a string is made only of one that is written with escapes. */
export function isText(bytes: Buffer, span: Span, text: string): boolean {
  if (bytes[span.start] !== quote) return false;
  if (spells(bytes, span.start + 1, span.end - 1, text)) return true;
  return hasEscapes(bytes, span) && valueOf(bytes, span) === text;
}

function hasEscapes(bytes: Buffer, span: Span): boolean {
  if (span.end - span.start > 64) return bytes.subarray(span.start, span.end).includes(backslash);
  for (let at = span.start; at < span.end; at++) if (bytes[at] === backslash) return true;
  return false;
}

/** The number, undefined if the value is not one or is beyond a double (1e400). */
export function numberOf(bytes: Buffer, span: Span): number | undefined {
  const first = bytes[span.start] as number;
  if (first !== minus && !(first >= 0x30 && first <= 0x39)) return undefined;
  const number = Number(bytes.toString('latin1', span.start, span.end));
  return Number.isFinite(number) ? number : undefined;
}

export function booleanOf(bytes: Buffer, span: Span): boolean | undefined {
  if (bytes[span.start] === 0x74) return true;
  return bytes[span.start] === 0x66 ? false : undefined;
}

export function isNull(bytes: Buffer, span: Span): boolean {
  return bytes[span.start] === 0x6e;
}

/** The whole value, parsed. As expensive as parsing, so not for the path of a call. */
// biome-ignore lint/suspicious/noShadowRestrictedNames: it belongs to textOf and numberOf, and nothing here means the method of Object
export function valueOf(bytes: Buffer, span: Span): unknown {
  return JSON.parse(bytes.toString('utf8', span.start, span.end));
}

/**
 * A string, or an integer that has exactly one spelling: no fraction, no exponent, no -0, and
 * within ±(2^53 - 1), so that decoding and writing it again gives the same bytes.
 */
export function idOf(bytes: Buffer, span: Span): Id | undefined {
  if (bytes[span.start] === quote) return textOf(bytes, span);
  const isNegative = bytes[span.start] === minus;
  let number = 0;
  for (let at = isNegative ? span.start + 1 : span.start; at < span.end; at++) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  if (!Number.isSafeInteger(number) || (isNegative && number === 0)) return undefined;
  return isNegative ? -number : number;
}
