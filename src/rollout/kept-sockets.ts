// The listening sockets that the holder keeps, for a server of this process: found again by name, and listened on as
// if this process had opened them.

import { once } from 'node:events';
import type { Server } from 'node:net';
import type { KeptSockets } from '../kernel/kept-sockets.ts';
import type { RawHandle } from './holder/raw-handle.ts';
import type { HolderClient } from './holder-client.ts';

export function keptSockets(holder: HolderClient): KeptSockets {
  return {
    resume: async (name, server, backlog) => {
      const handle = await holder.listener(name);
      if (handle === undefined) return false;
      await listenOn(server, handle, backlog);
      return true;
    },
    keep: (name, server) => holder.keepListener(name, server),
  };
}

/** Resolves when it listens. The handle is the server's from now on. */
export async function listenOn(server: Server, handle: RawHandle, backlog?: number): Promise<void> {
  const listening = once(server, 'listening');
  // Node takes the handle of a TCP socket in `listen`, but not that of a local one; this is what `listen` calls.
  const internal = server as unknown as InternalServer;
  internal._handle = handle;
  internal._listen2(null, null, -1, backlog ?? defaultBacklog, undefined);
  await listening;
}

interface InternalServer {
  _handle: RawHandle | null;
  _listen2(address: null, port: null, type: number, backlog: number, fd: undefined): void;
}

/** Node's own. */
const defaultBacklog = 511;
