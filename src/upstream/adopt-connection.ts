// Goes on with a connection that the serving process before this one has handed over, in place of
// opening one: the server is not greeted again, and keeps its generation.

import { Fault } from '../kernel/fault.ts';
import type { ConnectionListener } from './connection.ts';
import type { AdoptedConnection, FormerCalls, HandedConnection } from './handed-connection.ts';
import type { HttpParts } from './http/http-parts.ts';
import type { StdioConnectionParts } from './stdio/stdio-connection.ts';

/** Rejects with a Fault, leaving nothing behind. */
export async function adoptConnection(
  parts: StdioConnectionParts | HttpParts,
  _handed: HandedConnection,
  _listener: ConnectionListener,
  _former?: FormerCalls,
): Promise<AdoptedConnection> {
  const { server } = parts;
  throw new Fault('internal', `${server} was handed over with another transport`, { server });
}
