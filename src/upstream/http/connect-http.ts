// Connects to a remote server. The first exchanges show whether its address supports Streamable
// HTTP; if not, it may support the 2024 transport.

import type { Connection, ConnectionListener } from '../connection.ts';
import { HttpConnection } from './http-connection.ts';
import type { HttpParts } from './http-parts.ts';
import { SseConnection } from './sse-2024-connection.ts';

/** Over Streamable HTTP; rejects with `NotStreamable` where the address does not support it. */
export async function connectHttp(
  parts: HttpParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const known = await parts.eras.known();
  const connection = new HttpConnection(parts, generation, listener);
  try {
    await connection.start(signal, known);
    await parts.eras.kept();
    return connection;
  } catch (error) {
    await connection.close('start-failed');
    throw error;
  }
}

/** Over the HTTP+SSE transport of 2024. */
export async function connectSse(
  parts: HttpParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const connection = new SseConnection(parts, generation, listener);
  try {
    await connection.start(signal);
    return connection;
  } catch (error) {
    await connection.close('start-failed');
    throw error;
  }
}
