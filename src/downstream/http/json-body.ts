// The body of a request whose method has one: JSON, not encoded, within a limit. What can be
// checked from the head is refused before the client is asked to send the body.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuseHttp } from './answers.ts';
import { readBody } from './body.ts';
import { invite } from './expectation.ts';
import { isJson } from './headers/media-types.ts';

/** Calls the listener with the whole body, or refuses the request. */
export function readJsonBody(
  req: IncomingMessage,
  res: ServerResponse,
  maxBytes: number,
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
  const isTooLong = Number(req.headers['content-length']) > maxBytes;
  if (!isTooLong) invite(req, res);
  readBody(req, maxBytes, (body) => {
    if (body !== undefined) return listener(body);
    refuseHttp(res, 413, `Content Too Large: a body may have ${maxBytes} bytes`);
  });
}
