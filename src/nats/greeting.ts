// What listens at an address, asked before the client of NATS connects to it: so a wrong address is told apart from
// a server that is not there at the moment. The client itself keeps the socket open for ever if nothing greets it.
// A NATS server speaks first; most others answer a line that they do not understand.

import { connect } from 'node:net';
import type { Clock } from '../kernel/clock.ts';

export type Greeting =
  | { readonly is: 'nats' }
  | { readonly is: 'other' }
  /** Nothing was said in time, or it was closed without a word. */
  | { readonly is: 'silent' }
  | { readonly is: 'unreachable'; readonly error: Error };

const askAfterMs = 1_000;
const silentAfterMs = 5_000;
const usualPort = 4_222;

/** Never rejects. An abort ends it as `silent`. */
export function greetingAt(
  { hostname, port }: URL,
  clock: Clock,
  signal: AbortSignal,
): Promise<Greeting> {
  return new Promise((resolve) => {
    const socket = connect(Number(port) || usualPort, hostname.replace(/^\[|\]$/g, ''));
    const done = (greeting: Greeting) => {
      signal.removeEventListener('abort', silent);
      for (const timer of timers) timer[Symbol.dispose]();
      socket.destroy();
      resolve(greeting);
    };
    const silent = () => done({ is: 'silent' });
    const timers = [
      clock.after(askAfterMs, () => socket.write('PING\r\n\r\n')),
      clock.after(silentAfterMs, silent),
    ];
    signal.addEventListener('abort', silent, { once: true });
    socket.on('error', (error) => done({ is: 'unreachable', error }));
    socket.on('close', silent);
    socket.on('data', (bytes: Buffer) => done({ is: isNats(bytes) ? 'nats' : 'other' }));
  });
}

function isNats(bytes: Buffer): boolean {
  return bytes.subarray(0, 5).toString('latin1') === 'INFO ';
}
