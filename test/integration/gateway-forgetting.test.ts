// Ten thousand legacy clients that never say goodbye. The gateway runs in a process of its own whose
// clock the test moves, so that their half hour is over at once; what it has in use is measured there.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LeanSocket, leanPost } from '../support/gateway-lean-socket.ts';
import { type Json, StdioClient } from '../support/gateway-stdio-client.ts';
import { legacyHeaders } from '../support/http-front.ts';

const program = fileURLToPath(new URL('../support/gateway-with-a-clock.ts', import.meta.url));
const crowd = 10_000;
const megabyte = 1_048_576;
const sockets = 16;

const message = (method: string, params: object, id?: number) =>
  JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params });
const hello = message(
  'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  0,
);
const initialized = message('notifications/initialized', {});
const echo = message('tools/call', { name: 'files__echo', arguments: { text: 'x' } }, 1);
const ping = message('ping', {}, 2);

/** One client: it says hello, makes a call, and is never heard of again. */
async function visit(socket: LeanSocket): Promise<string> {
  const { head } = await socket.send(leanPost(hello, legacyHeaders()));
  const session = /\r\nmcp-session-id: *([^\r]+)/i.exec(head)?.[1] ?? '';
  await socket.send(leanPost(initialized, legacyHeaders(session)));
  const { body } = await socket.send(leanPost(echo, legacyHeaders(session)));
  if (!body.includes('"structuredContent":{"text":"x"}')) throw new Error(`no answer: ${body}`);
  return session;
}

async function visits(port: number, count: number): Promise<string[]> {
  const sessions: string[] = [];
  let left = count;
  const lane = async () => {
    const socket = await LeanSocket.open(port);
    while (left-- > 0) sessions.push(await visit(socket));
    socket.close();
  };
  await Promise.all(Array.from({ length: sockets }, lane));
  return sessions;
}

async function statusOf(port: number, session: string | undefined): Promise<string | undefined> {
  const socket = await LeanSocket.open(port);
  const { head } = await socket.send(leanPost(ping, legacyHeaders(session)));
  socket.close();
  return head.split(' ')[1];
}

describe('ten thousand clients that never say goodbye', () => {
  it('leave nothing behind when their time is over #sessions #gone-client', async () => {
    const args = ['--expose-gc', '--import', 'tsx', program];
    const gateway = new StdioClient(spawn(process.execPath, args, { stdio: 'pipe' }));
    let lines = 0;
    const next = async (): Promise<Json> => JSON.parse(await gateway.line(lines++));
    const told = (word: string): Promise<Json> => {
      gateway.write(`${word}\n`);
      return next();
    };
    const port = Number(new URL((await next()).url).port);
    // What is compiled and cached on the way is not what clients leave behind.
    await visits(port, crowd / 10);
    await told('idle');
    const before = await told('heap');

    const began = performance.now();
    const sessions = await visits(port, crowd);
    const seconds = (performance.now() - began) / 1000;
    const during = await told('heap');
    expect(new Set(sessions).size).toBe(crowd);
    expect(await statusOf(port, sessions[0])).toBe('200');
    await told('idle');
    const after = await told('heap');
    expect(await statusOf(port, sessions[0])).toBe('404');
    const { code, stderr } = await gateway.end();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });

    const size = ({ heapUsed }: Json) => `${(heapUsed / megabyte).toFixed(1)} MB`;
    const each = (during.heapUsed - before.heapUsed) / crowd;
    console.log(
      `heap in use: ${size(before)} before, ${size(during)} with ${crowd} sessions ` +
        `(${each.toFixed(0)} bytes each, opened in ${seconds.toFixed(1)} s), ${size(after)} after`,
    );
    expect(during.heapUsed).toBeGreaterThan(before.heapUsed);
    expect(after.heapUsed - before.heapUsed).toBeLessThan(5 * megabyte);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(5 * megabyte);
  });
});
