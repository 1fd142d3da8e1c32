// Legacy clients that never close their session. The gateway runs in a process of its own whose clock is moved
// from here, so that their half hour is over at once; what it has in use is measured there.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LeanSocket, leanPost } from '../support/gateway-lean-socket.ts';
import { type Json, StdioClient } from '../support/gateway-stdio-client.ts';
import { legacyHeaders } from '../support/http-front.ts';

const program = fileURLToPath(new URL('gateway-with-a-clock.ts', import.meta.url));
const built = new URL('../proof/built.mjs', import.meta.url).href;
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

async function statusOf(port: number, session: string): Promise<string | undefined> {
  const socket = await LeanSocket.open(port);
  const { head } = await socket.send(leanPost(ping, legacyHeaders(session)));
  socket.close();
  return head.split(' ')[1];
}

export interface SessionsSeen {
  /** Different ones. */
  readonly sessions: number;
  /** Those of them, tried one in a hundred, that the gateway knew then, and that it knows afterwards. */
  readonly knownThen: number;
  readonly knownAfterwards: number;
  readonly tried: number;
  readonly exit: { readonly code: number | null; readonly stderr: string };
  readonly bytesEach: number;
  readonly heapGrowthBytes: number;
  readonly bufferGrowthBytes: number;
  readonly seconds: number;
}

/** So many clients come, make a call and are never heard of again; then their time is over. */
export async function abandonedSessions(count: number): Promise<SessionsSeen> {
  const args = ['--expose-gc', '--import', 'tsx', '--import', built, program];
  await using gateway = new StdioClient(spawn(process.execPath, args, { stdio: 'pipe' }));
  let lines = 0;
  const next = async (): Promise<Json> => JSON.parse(await gateway.line(lines++));
  const told = (word: string): Promise<Json> => {
    gateway.write(`${word}\n`);
    return next();
  };
  const port = Number(new URL((await next()).url).port);
  // What is compiled and cached on the way is not what clients leave behind.
  await visits(port, Math.ceil(count / 10));
  await told('idle');
  const before = await told('heap');

  const began = performance.now();
  const sessions = await visits(port, count);
  const seconds = (performance.now() - began) / 1_000;
  const during = await told('heap');
  const some = sessions.filter((_, at) => at % 100 === 0);
  const knownThen = await known(port, some);
  await told('idle');
  const after = await told('heap');
  const knownAfterwards = await known(port, some);
  const { code, stderr } = await gateway.end();
  return {
    sessions: new Set(sessions).size,
    ...{ knownThen, knownAfterwards, tried: some.length, seconds },
    exit: { code, stderr },
    bytesEach: (during.heapUsed - before.heapUsed) / count,
    heapGrowthBytes: after.heapUsed - before.heapUsed,
    bufferGrowthBytes: after.arrayBuffers - before.arrayBuffers,
  };
}

async function known(port: number, sessions: readonly string[]): Promise<number> {
  let found = 0;
  for (const session of sessions) {
    if ((await statusOf(port, session)) === '200') found += 1;
  }
  return found;
}
