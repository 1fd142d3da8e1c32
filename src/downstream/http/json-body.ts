// The body of a request whose method has one: JSON, not encoded, within a limit. What can be
// checked from the head is refused before the client is asked to send the body.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuseHttp } from './answers.ts';
import { readBody } from './body.ts';
import type { BodyRoom } from './body-budget.ts';
import { invite } from './expectation.ts';
import { isJson } from './headers/media-types.ts';

/** Calls the listener with the whole body, or refuses the request. */
export function readJsonBody(
  req: IncomingMessage,
  res: ServerResponse,
  maxBytes: number,
  room: BodyRoom,
  listener: (body: Buffer) => void,
): void {
  if (!isJson(req.headers['content-type'])) {
    const message = 'Unsupported Media Type: the Content-Type must be application/json';
    return refuseHttp(res, 415, message);
  }
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const message = 'Unsupported Media Type: the body must be sent without a Content-Encoding';
    return refuseHttp(res, 415, message, ['Accept-Encoding', 'identity']);
  }
  let isRefused = false;
  readBody(req, maxBytes, room, (body) => {
    if (typeof body !== 'string') return listener(body);
    isRefused = true;
    if (body === 'too-large') {
      return refuseHttp(res, 413, `Content Too Large: a body may have ${maxBytes} bytes`);
    }
    // What is still sent is not read into memory, and is not a reason to keep the connection.
    res.shouldKeepAlive = false;
    if (body === 'owner') refuseHttp(res, 429, tooManyBytes, retryLater);
    else refuseHttp(res, 503, noRoom, retryLater);
  });
  if (!isRefused) invite(req, res);
}

const retryLater = ['Retry-After', '5'];
const tooManyBytes =
  'Too Many Requests: this principal is sending as many bytes as one may send at a time';
const noRoom = 'Service Unavailable: too many bytes are being received';
