// Goes on with a connection that the serving process before this one has handed over, in place of
// opening one: the server is not greeted again, and keeps its generation.

import { Fault } from '../kernel/fault.ts';
import type { ConnectionListener } from './connection.ts';
import type { AdoptedConnection, FormerCalls, HandedConnection } from './handed-connection.ts';
import { HttpConnection } from './http/http-connection.ts';
import type { HttpParts } from './http/http-parts.ts';
import { adoptStdio } from './stdio/connect-stdio.ts';
import type { StdioConnectionParts } from './stdio/stdio-parts.ts';

/**
 * `former`: the calls that the former has left on it; absent if it has none. Rejects with a Fault,
 * leaving nothing behind, if the server is gone or the parts are those of another transport.
 */
export async function adoptConnection(
  parts: StdioConnectionParts | HttpParts,
  handed: HandedConnection,
  listener: ConnectionListener,
  former?: FormerCalls,
): Promise<AdoptedConnection> {
  const { state } = handed;
  const { generation } = state;
  if (state.transport === 'stdio' && 'spawn' in parts) {
    return adoptStdio(parts, handed, state, listener, former);
  }
  if (state.transport === 'http' && 'http' in parts) {
    const connection = new HttpConnection(parts, generation, listener);
    connection.adopt(state, former);
    return connection;
  }
  const { server } = parts;
  throw new Fault('internal', `${server} was handed over with another transport`, { server });
}
