// Compares the `Mcp-Param-NAME` headers with the arguments that a tool's schema marks with
// `x-mcp-header`; they must agree like the other headers. Most schemas mark nothing: the marks are
// found once per schema object, and without a mark the arguments are never read. Otherwise they are
// read at their positions, and duplicate keys are refused: a header could agree with one and the
// server use the other.

import { ownValue } from '../../../kernel/own-value.ts';
import { textOf } from '../../../wire/decode.ts';
import type { ErrorToSend } from '../../../wire/frames.ts';
import { type HeaderMark, marksIn, mirroredValue } from '../../../wire/mirrored-headers.ts';
import { objectAt } from '../../../wire/parts.ts';
import type { Message } from '../../../wire/scan.ts';
import { type Member, memberKey, type Span } from '../../../wire/span.ts';
import { type Headers, mismatch, missing } from './header-agreement.ts';

/** Why a `tools/call` is refused for the headers of its arguments, if it is. Throws a WireError. */
export function paramRefusal(
  message: Message,
  schema: unknown,
  headers: Headers,
): ErrorToSend | undefined {
  const marks = marksIn(schema);
  if (marks.length === 0) return undefined;
  const args = message.paramsObject?.find('arguments');
  if (args === undefined) return undefined;
  for (const mark of marks) {
    const scalar = scalarAt(message.bytes, args, mark.path);
    const refusal = scalar === undefined ? undefined : markRefusal(mark, scalar, headers);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

interface Scalar {
  readonly text: string;
  readonly isNumber: boolean;
}

/** The scalar at the end of the path; undefined if there is none, or null. */
function scalarAt(bytes: Buffer, args: Span, path: readonly string[]): Scalar | undefined {
  let span: Span | undefined = args;
  for (const key of path) {
    const members: readonly Member[] = objectAt(bytes, span)?.members() ?? [];
    span = members.find((member) => memberKey(bytes, member) === key);
    if (span === undefined) return undefined;
  }
  const text = textOf(bytes, span);
  if (text !== undefined) return { text, isNumber: false };
  const token = bytes.toString('latin1', span.start, span.end);
  const isNumber = /^[-0-9]/.test(token);
  return isNumber || token === 'true' || token === 'false' ? { text: token, isNumber } : undefined;
}

function markRefusal(
  { name }: HeaderMark,
  scalar: Scalar,
  headers: Headers,
): ErrorToSend | undefined {
  const title = `Mcp-Param-${name}`;
  const header = ownValue(headers, title.toLowerCase());
  if (typeof header !== 'string') return missing(title, scalar.text);
  const value = mirroredValue(header);
  if (value === undefined) return mismatch(title, header, 'this is not valid base64');
  if (value === scalar.text || (scalar.isNumber && isSame(value, scalar.text))) return undefined;
  return mismatch(title, header, `the argument of the body is ${JSON.stringify(scalar.text)}`);
}

/** 42 and 42.0 are one number; beyond 2^53 only the same digits are. */
function isSame(header: string, token: string): boolean {
  if (!/^-?\d+(\.\d+)?$/.test(header)) return false;
  const number = Number(token);
  return Number(header) === number && Math.abs(number) <= Number.MAX_SAFE_INTEGER;
}
