// Listening sockets that outlive the process that opened them: somebody else has a copy of each, and gives it to the
// process that comes next, so that no client is refused in between.

import type { Server } from 'node:net';

export interface KeptSockets {
  /** Makes the server listen on the socket that an earlier process has kept by this name; false if there is none. */
  resume(name: string, server: Server, backlog?: number): Promise<boolean>;
  /** This server listens: its socket is kept for the next process. */
  keep(name: string, server: Server): void;
}
