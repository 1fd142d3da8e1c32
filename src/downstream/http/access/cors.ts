// CORS. A browser lets a page of another origin send JSON here, and read the response, only if we
// allow it; we allow the origins that the operator has listed, and no others. Credentials of the
// browser itself (cookies) are never used.

import type { IncomingMessage, ServerResponse } from 'node:http';

const shared = ['Mcp-Session-Id', 'WWW-Authenticate'].join(', ');
const methods = 'GET, POST, DELETE';
const dayInSeconds = '86400';

/** Allows the origin to read the response. True if it was a preflight request: that is answered. */
export function shareWith(origin: string, req: IncomingMessage, res: ServerResponse): boolean {
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Access-Control-Expose-Headers', shared);
  res.setHeader('Vary', 'Origin');
  if (req.method !== 'OPTIONS') return false;
  // The headers of arguments have names we cannot know, so what is asked for is what is allowed.
  const asked = req.headers['access-control-request-headers'];
  res.setHeader('Access-Control-Allow-Methods', methods);
  if (asked !== undefined) res.setHeader('Access-Control-Allow-Headers', asked);
  res.setHeader('Access-Control-Max-Age', dayInSeconds);
  res.writeHead(204);
  res.end();
  return true;
}
