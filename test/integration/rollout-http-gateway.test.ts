// Large messages over HTTP that the fence of a rollout cuts in the middle: they arrive whole, on the connection on which
// they were begun.

import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { processesOf } from '../rollout/processes.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { modernBody, modernHeaders } from '../support/http-front.ts';

const text = 'y'.repeat(5_000_000);

function requestText(): string {
  const body = JSON.stringify(modernBody('tools/call', { name: 'own__echo', arguments: { text } }));
  const headers = Object.entries(modernHeaders('tools/call', 'own__echo'));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const length = `content-length: ${Buffer.byteLength(body)}`;
  return `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}${length}\r\nconnection: close\r\n\r\n${body}`;
}

async function opened(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

/** Everything until its end. */
function read(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.once('error', reject);
    socket.once('end', () => resolve(Buffer.concat(chunks).toString()));
  });
}

function echoed(response: string): unknown {
  expect(response).toMatch(/^HTTP\/1\.1 200/);
  const from = response.indexOf('{"jsonrpc"');
  return JSON.parse(response.slice(from, response.lastIndexOf('}') + 1)).result.structuredContent;
}

describe('a message of 5 MB over HTTP during a rollout', () => {
  it('is taken whole, as a request that the fence cuts #rollout', async () => {
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio() } });
    await using served = await home.serve();
    const socket = await opened(served.url);
    const response = read(socket);
    const whole = requestText();
    socket.write(whole.slice(0, 3_000_000));
    const { code, stderr } = await home.run(['rollout']);
    expect([code, stderr]).toEqual([0, '']);
    // The process before waits for the rest of it.
    expect((await processesOf(served.pid)).serving).toHaveLength(2);
    socket.write(whole.slice(3_000_000));
    expect(echoed(await response)).toEqual({ text });
  });

  it('is given whole, as an answer that the fence cuts #rollout', async () => {
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio() } });
    await using served = await home.serve();
    const socket = await opened(served.url);
    // Not read: most of the answer stays with the process that has begun it.
    socket.pause();
    socket.write(requestText());
    await new Promise((resolve) => socket.once('readable', resolve));
    const { code, stderr } = await home.run(['rollout']);
    expect([code, stderr]).toEqual([0, '']);
    expect((await processesOf(served.pid)).serving).toHaveLength(2);
    expect(echoed(await read(socket))).toEqual({ text });
  });
});
