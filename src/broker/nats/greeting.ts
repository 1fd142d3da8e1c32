// What listens at an address where no NATS server has answered: asked only after a connection has failed, so that
// a wrong address is told apart from a server that is not there at the moment. A NATS server speaks first; most
// others answer a line that they do not understand.

import { connect } from 'node:net';
import type { Clock } from '../../kernel/clock.ts';

const patienceMs = 1_000;

/** Never rejects. */
export function greetingAt(
  { hostname, port }: URL,
  clock: Clock,
): Promise<'nats' | 'other' | 'silent'> {
  return new Promise((resolve) => {
    const socket = connect(Number(port) || 4222, hostname.replace(/^\[|\]$/g, ''));
    const done = (what: 'nats' | 'other' | 'silent') => {
      timer[Symbol.dispose]();
      socket.destroy();
      resolve(what);
    };
    const timer = clock.after(patienceMs, () => done('silent'));
    socket.on('error', () => done('silent'));
    socket.on('close', () => done('silent'));
    socket.on('connect', () => socket.write('PING\r\n\r\n'));
    socket.on('data', (bytes: Buffer) => done(isNats(bytes) ? 'nats' : 'other'));
  });
}

function isNats(bytes: Buffer): boolean {
  return bytes.subarray(0, 5).toString('latin1') === 'INFO ';
}
