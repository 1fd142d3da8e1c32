// A server's answer: the frame it came in and the position of the result in it. Forwarded bytes are
// not copied; an answer that several callers share (cache, single flight, an idempotency key) is
// copied for each, because none may be able to change it for the others.

import { objectAt } from '../../wire/parts.ts';
import type { Message } from '../../wire/scan.ts';
import type { ObjectSpan, Span } from '../../wire/span.ts';

export interface Answer {
  readonly frame: Buffer;
  readonly result: Span;
  /** The result's members, if it is an object; every result should be. */
  readonly object: ObjectSpan | undefined;
}

export function answerIn(message: Message, result: Span): Answer {
  return { frame: message.bytes, result, object: message.resultObject };
}

/** Of a result that was kept by itself. */
export function answerOf(kept: Buffer): Answer {
  const frame = Buffer.from(kept);
  const result = { start: 0, end: frame.length };
  const object = objectAt(frame, result);
  return { frame, result: object ?? result, object };
}

export function resultBytes({ frame, result }: Answer): Buffer {
  return frame.subarray(result.start, result.end);
}
