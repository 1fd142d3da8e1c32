// Clients that ask before they send (`Expect: 100-continue`). "Continue" is answered only when
// everything that can be checked without the body is valid: the credential, the route, the size. A
// client that is refused may or may not send its body, so it is unknown where its next request
// would begin: its connection is closed.

import type { IncomingMessage, ServerResponse } from 'node:http';

/** Answers to clients that still wait, with whether their connection was to be kept; each ends with its answer. */
const waiting = new WeakMap<ServerResponse, boolean>();

/** From here on any answer closes the connection, until `invite` is called. */
export function holdBack(res: ServerResponse): void {
  waiting.set(res, res.shouldKeepAlive);
  res.shouldKeepAlive = false;
}

/** Asks a client that waits for its body; one that never asked sends it anyway. */
export function invite(req: IncomingMessage, res: ServerResponse): void {
  const isKept = req.headers.expect === undefined ? undefined : waiting.get(res);
  if (isKept === undefined) return;
  waiting.delete(res);
  res.shouldKeepAlive = isKept;
  res.writeContinue();
}
