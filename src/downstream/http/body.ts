// Reads the body of a request into memory up to a limit. Most bodies come in one chunk and state
// their length; such a body is passed on unchanged, as soon as it is there. Beyond the limit
// nothing is kept any more: the caller is notified at once, and the rest is discarded, so that the
// client, which is still sending, can read the response; a client that goes on without end is
// disconnected.

import type { IncomingMessage } from 'node:http';

/** The body, or undefined if it is too large. A client that goes away before the end gets neither. */
export type BodyListener = (body: Buffer | undefined) => void;

const nothing = Buffer.alloc(0);

export function readBody(req: IncomingMessage, maxBytes: number, listener: BodyListener): void {
  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let bytes = 0;
  const length = Number(req.headers['content-length']);
  let isTooLarge = length > maxBytes;
  let isDone = false;
  if (isTooLarge) listener(undefined);
  const done = () => {
    if (isTooLarge || isDone) return;
    isDone = true;
    listener(rest === undefined ? (first ?? nothing) : Buffer.concat(rest, bytes));
  };
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (isTooLarge) {
      if (bytes > 2 * maxBytes) req.socket.destroy();
    } else if (bytes > maxBytes) {
      isTooLarge = true;
      first = undefined;
      rest = undefined;
      listener(undefined);
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
}
