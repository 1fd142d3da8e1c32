// Reads the body of a request into memory, up to a limit and while there is room (body-budget.ts). Most bodies come in one chunk and state
// their length; such a body is passed on unchanged, as soon as it is there. Beyond a limit
// nothing is kept any more: the caller is notified at once, and the rest is discarded, so that the
// client, which is still sending, can read the response; a client that goes on without end is
// disconnected.

import type { IncomingMessage } from 'node:http';
import type { BodyRoom, NoRoom } from './body-budget.ts';

/** Why a body is not read: it is too large, or there is no room for it. */
export type BodyRefusal = 'too-large' | NoRoom;

/** The body, or why it is not read. A client that goes away before the end gets neither. */
export type BodyListener = (body: Buffer | BodyRefusal) => void;

const nothing = Buffer.alloc(0);

export function readBody(
  req: IncomingMessage,
  maxBytes: number,
  room: BodyRoom,
  listener: BodyListener,
): void {
  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let bytes = 0;
  const length = Number(req.headers['content-length']);
  const isDeclared = Number.isFinite(length);
  let isRefused = false;
  let isDone = false;
  const refuse = (refusal: BodyRefusal) => {
    isRefused = true;
    first = undefined;
    rest = undefined;
    room.end();
    listener(refusal);
  };
  const atOnce = length > maxBytes ? 'too-large' : isDeclared ? room.take(length) : undefined;
  if (atOnce !== undefined) refuse(atOnce);
  const done = () => {
    if (isRefused || isDone) return;
    isDone = true;
    room.end();
    listener(rest === undefined ? (first ?? nothing) : Buffer.concat(rest, bytes));
  };
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    const refusal =
      bytes > maxBytes
        ? 'too-large'
        : isRefused || isDeclared
          ? undefined
          : room.take(chunk.length);
    if (isRefused) {
      if (bytes > 2 * maxBytes) req.socket.destroy();
    } else if (refusal !== undefined) {
      refuse(refusal);
    } else if (first === undefined) {
      first = chunk;
    } else if (rest === undefined) {
      rest = [first, chunk];
    } else {
      rest.push(chunk);
    }
    // Nothing more can come: the end itself is only a formality.
    if (bytes === length) done();
  });
  req.on('end', done);
  req.on('close', () => room.end());
}
