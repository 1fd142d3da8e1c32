// The handles of Node below its sockets. Only a bare handle can be sent over a channel and kept without that
// anything is read from it: a socket reads as soon as there is one. Node has no public name for them; what is used of
// them is written down here, and is the same from Node 18 on.

import type { Server, Socket } from 'node:net';

export interface RawHandle {
  readonly fd?: number;
  close(): void;
  readStop?(): void;
}

interface HasHandle {
  _handle: RawHandle | null;
}

/** The handle of a socket that is left without one. Synchronously after its start, not a byte has been read. */
export function takenFrom(socket: Socket): RawHandle | undefined {
  const holding = socket as unknown as HasHandle;
  const handle = holding._handle;
  if (handle === null) return undefined;
  handle.readStop?.();
  holding._handle = null;
  socket.destroy();
  return handle;
}

/** The handle of a listening socket, which goes on listening. */
export function listeningHandle(server: Server): RawHandle | undefined {
  return (server as unknown as HasHandle)._handle ?? undefined;
}

/** What came with a message, if it is such a handle. */
export function rawHandle(value: unknown): RawHandle | undefined {
  const isOne =
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<RawHandle>).close === 'function';
  return isOne ? (value as RawHandle) : undefined;
}
