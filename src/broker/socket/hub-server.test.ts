// Connections that become no links: whoever is refused is gone, and none of them holds up the end of the broker. Real
// sockets on loopback.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startEmbeddedBroker } from '../../../test/support/embedded-broker.ts';
import { until } from '../../../test/support/until.ts';

const upgrade = [
  'GET / HTTP/1.1',
  'host: x',
  'connection: upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol: holdfast-broker',
];

/** A connection that never ends by itself. */
async function connected(url: string): Promise<Socket> {
  const socket = connect({
    port: Number(new URL(url).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

async function refused(url: string, more: readonly string[]): Promise<Socket> {
  const socket = await connected(url);
  socket.write(`${[...upgrade, ...more].join('\r\n')}\r\n\r\n`);
  await once(socket.resume(), 'end');
  return socket;
}

describe('connections that show no credential', () => {
  it('are closed, the oldest first, before there are too many; links are let in and stay #no-growth', async () => {
    await using broker = await startEmbeddedBroker({}, { maxStrangers: 4 });
    const before = await broker.open('ann', 'one', new AbortController().signal);
    const many: Socket[] = [];
    for (let count = 0; count < 12; count += 1) many.push(await connected(broker.url));
    for (const socket of many) socket.resume().write('GET / HTTP/1.1\r\n');
    const open = () => many.map((socket) => !socket.readableEnded && !socket.destroyed);
    await until(() => open().filter(Boolean).length === 4, 'the others are closed');
    expect(open().slice(-4)).toEqual([true, true, true, true]);
    await using later = await broker.open('boss', 'two', new AbortController().signal);
    expect(await later.present()).toContain('ann.mcp');
    await before.close();
    for (const socket of many) socket.destroy();
  });
});

const wrong = 'authorization: Bearer hfw_wrong';

describe('a connection whose upgrade is refused', () => {
  it.each([
    ['its credential is wrong', [wrong]],
    ['it has no key', ['authorization: Bearer ann', 'sec-websocket-key: x']],
  ])('because %s is gone, whether its other side ends it or not #no-growth', async (_, more) => {
    await using broker = await startEmbeddedBroker();
    const socket = await refused(broker.url, more);
    // It hears of it when it writes to what is there no longer.
    await until(() => {
      if (!socket.destroyed) socket.write('x');
      return socket.destroyed;
    }, 'it is gone');
  });

  it('does not hold up the end of the broker, and neither does one that says nothing #stop-ladder', async () => {
    const broker = await startEmbeddedBroker();
    const sockets = [await refused(broker.url, [wrong]), await connected(broker.url)];
    await broker.stop();
    for (const socket of sockets) socket.destroy();
  });
});
