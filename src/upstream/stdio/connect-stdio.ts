// Starts a server as a child process. A process that exited because of one of the two requests of
// the negotiation is started once more, without that request. A failed start leaves nothing behind.
// Or goes on with the child of the serving process before this one.

import { Fault, faultFrom } from '../../kernel/fault.ts';
import type { Connection, ConnectionListener } from '../connection.ts';
import type { FormerCalls, HandedConnection, StdioState } from '../handed-connection.ts';
import { type EraKnowledge, knowledgeAfter } from '../negotiate.ts';
import { StdioConnection } from './stdio-connection.ts';
import type { StdioConnectionParts } from './stdio-parts.ts';

/** Starts the server and does the handshake. Rejects with a Fault, leaving nothing behind. */
export async function connectStdio(
  parts: StdioConnectionParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const known = await parts.eras.known();
  return open(parts, generation, signal, listener, known);
}

async function open(
  parts: StdioConnectionParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
  known: EraKnowledge,
  isAgain = false,
): Promise<Connection> {
  const connection = new StdioConnection(parts, generation, listener);
  try {
    await connection.start(signal, known);
    await parts.eras.kept();
    return connection;
  } catch (error) {
    await connection.close('start-failed');
    // Only a process that exited because of one of the two requests is started once more, without
    // that one.
    const again = isAgain ? undefined : knowledgeAfter(error);
    if (again) return open(parts, generation, signal, listener, again, true);
    throw connection.explained(isAgain ? endOf(parts.server, error) : error);
  }
}

/** Rejects with a Fault if the child is gone, leaving nothing behind; the former is told, too. */
export async function adoptStdio(
  parts: StdioConnectionParts,
  handed: HandedConnection,
  state: StdioState,
  listener: ConnectionListener,
  former: FormerCalls | undefined,
): Promise<StdioConnection> {
  const connection = new StdioConnection(parts, state.generation, listener);
  try {
    await connection.adopt(handed, state, former);
    return connection;
  } catch (error) {
    former?.lost(faultFrom(error));
    await connection.close('start-failed');
    throw error;
  }
}

/** A process that was started once more and exited in the same way: it is not tried again. */
function endOf(server: string, error: unknown): unknown {
  if (knowledgeAfter(error) === undefined) return error;
  const { cause } = error as Error;
  return cause instanceof Fault
    ? cause
    : new Fault('unavailable', `${server} ended during the handshake`, { server });
}
