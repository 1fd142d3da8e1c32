// Bytes to a port and what comes back, with nothing between that knows HTTP.

import { connect } from 'node:net';

export interface Talk {
  readonly heard: Buffer;
  /** Who ended it: the gateway, or we, when nothing came any more. */
  readonly endedBy: 'gateway' | 'us';
}

/**
 * Sends the chunks one after another and listens until the gateway closes the connection, or, with
 * `quietMs`, until nothing has come for so long.
 */
export function talk(port: number, chunks: readonly Buffer[], quietMs?: number): Promise<Talk> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const heard: Buffer[] = [];
    let endedBy: Talk['endedBy'] = 'gateway';
    let isRefused = false;
    socket.setNoDelay(true);
    socket.setTimeout(quietMs ?? stuckMs, () => {
      if (quietMs === undefined) reject(new Error(`no end after ${stuckMs} ms of silence`));
      endedBy = 'us';
      socket.destroy();
    });
    socket.on('data', (chunk) => heard.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A gateway that has answered may close while we still write; only no connection is a failure.
      isRefused = error.code === 'ECONNREFUSED';
      if (isRefused) reject(error);
    });
    socket.on('close', () => {
      if (!isRefused) resolve({ heard: Buffer.concat(heard), endedBy });
    });
    socket.once('connect', () => {
      const [first, ...others] = chunks;
      if (first !== undefined) socket.write(first);
      const next = (at: number) => {
        const chunk = others[at];
        if (chunk === undefined || socket.destroyed) return;
        socket.write(chunk, () => setImmediate(next, at + 1));
      };
      next(0);
    });
  });
}

const stuckMs = 20_000;
