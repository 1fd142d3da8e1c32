// A connection of a client that goes from one process to another: which connections can go, how Node's HTTP server
// lets go of one, and how another one begins with it. Not one byte may be lost on the way: a connection goes only when
// everything that was read of it belongs to requests that have been answered, and everything that was written has left.
// What the client sends meanwhile stays in the kernel, and is read by the next process.

import type { Server } from 'node:http';
import { Socket } from 'node:net';
import { ignored } from '../../../kernel/contain.ts';

/** The handle of a connection or of what listens, as `process.send` takes it and gives it. */
export type SocketHandle = object;

/** What Node's own handle of a connection offers. */
interface RawHandle {
  reading: boolean;
  readStop(): number;
  onread: unknown;
  readonly writeQueueSize?: number;
}

interface WithHandle {
  _handle: RawHandle | null;
}

/**
 * Those of the connections on which nothing was read that is not part of a whole request. Node itself knows that
 * only natively and says it in one way: it destroys them when it is asked to close those that are idle. So for this
 * turn, being destroyed only means being named. All connections of the server have to be given.
 */
export function untouched(
  server: Server,
  all: readonly Socket[],
  isUnread: (socket: Socket) => boolean,
): ReadonlySet<Socket> {
  const found = new Set<Socket>();
  for (const socket of all) {
    if (isUnread(socket)) found.add(socket);
    socket.destroy = () => {
      found.add(socket);
      return socket;
    };
  }
  try {
    server.closeIdleConnections();
  } finally {
    // What the prototype has is there again.
    for (const socket of all) Reflect.deleteProperty(socket, 'destroy');
  }
  return found;
}

/** Everything that was written has left, and its other end may still say something. */
export function isSettled(socket: Socket): boolean {
  const { _handle: handle } = socket as unknown as WithHandle;
  if (handle === null || socket.destroyed || socket.readableEnded) return false;
  return socket.writableLength === 0 && (handle.writeQueueSize ?? 0) === 0 && socket.writable;
}

/** Takes the connection out of the server; here it counts as closed. Whoever gets the handle closes it. */
export function taken(socket: Socket): SocketHandle | undefined {
  const own = socket as unknown as WithHandle;
  const { _handle: handle } = own;
  if (handle === null) return undefined;
  // The parser reads the handle itself until somebody else wants the data.
  socket.on('data', ignored);
  handle.reading = false;
  handle.readStop();
  handle.onread = ignored;
  own._handle = null;
  socket.destroy();
  return handle;
}

/**
 * Calls `begin` when the client says something. Node's HTTP server expects that of a connection soon after it has begun,
 * and answers one that stays silent with an error; this one has had requests, and may wait for its next one so long.
 */
export function whenItSpeaks(socket: Socket, withinMs: number, begin: () => void): void {
  const late = () => void socket.destroy();
  const ended = () => void socket.end();
  socket.on('error', ignored);
  socket.once('end', ended);
  socket.setTimeout(withinMs, late);
  socket.once('data', (chunk) => {
    socket.off('end', ended);
    socket.setTimeout(0, late);
    socket.pause();
    socket.unshift(chunk);
    begin();
    socket.resume();
  });
}

/** A connection that another process has let go of, as this server would have accepted it. */
export function socketOf(handle: SocketHandle): Socket {
  // The option has no type: it is what `net.Server` itself gives.
  const options: object = { handle, allowHalfOpen: true, readable: true, writable: true };
  return new Socket(options);
}

/** What a server listens with. */
export function handleOf(server: Server): SocketHandle | undefined {
  return (server as unknown as WithHandle)._handle ?? undefined;
}
