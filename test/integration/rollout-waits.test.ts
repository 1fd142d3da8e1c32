// A rollout while as many former processes as there may be still end what they have begun: it waits until one of them
// has ended. Each former process is kept by a request over HTTP of which it has half.

import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { processesOf } from '../rollout/processes.ts';
import { statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { modernBody, modernHeaders } from '../support/http-front.ts';
import { until } from '../support/until.ts';

const maxFormers = 4;
const body = JSON.stringify(
  modernBody('tools/call', { name: 'own__echo', arguments: { text: 'held' } }),
);

/** Its process has the head of a request, and waits for the body. */
async function held(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  const headers = Object.entries(modernHeaders('tools/call', 'own__echo'));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const length = `content-length: ${Buffer.byteLength(body)}`;
  // The process says that it has read the head.
  const more = 'expect: 100-continue';
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}${length}\r\n${more}\r\nconnection: close\r\n\r\n`,
  );
  await new Promise((resolve) => socket.once('data', resolve));
  return socket;
}

async function answered(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.write(body);
  await new Promise((resolve) => socket.once('end', resolve));
  return Buffer.concat(chunks).toString();
}

it('a rollout waits until one of the former processes has ended #rollout', async () => {
  await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio() } });
  await using served = await home.serve();
  const sockets: Socket[] = [];
  for (let count = 0; count < maxFormers; count++) {
    sockets.push(await held(served.url));
    expect(await home.run(['rollout'])).toMatchObject({ code: 0, stderr: '' });
  }
  expect((await processesOf(served.pid)).serving).toHaveLength(maxFormers + 1);
  const further = home.run(['rollout']);
  await until(async () => (await statusOf(home)).rollout === 'pending', 'the rollout to wait');
  const [first, ...others] = sockets;
  expect(await answered(first as Socket)).toContain('held');
  expect(await further).toMatchObject({ code: 0, stderr: '' });
  for (const socket of others) expect(await answered(socket)).toContain('held');
});
