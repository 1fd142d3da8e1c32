// A host with real servers is handed over to another host, with a played parent of the processes: the pipes and what
// is in them move, the processes stay.

import { expect, it } from 'vitest';
import { configFromObject } from '../../../src/config/load.ts';
import type { CallResult } from '../../../src/host/call-result.ts';
import { hostFrom, type OpenedHost } from '../../../src/host/create-host.ts';
import { processEnvironment } from '../../../src/supervise/process/start/environment.ts';
import { isAlive, statusOf, textOf } from '../../support/host.ts';
import { crossing } from '../../support/next-host.ts';
import { PlayedHolder } from '../../support/played-holder.ts';
import { until } from '../../support/until.ts';

/** `wait` is answered when `go` is called, in two parts. */
const script = `
let rest = '', waiting;
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const tools = ['wait', 'go', 'pid'].map((name) => ({ name, inputSchema: { type: 'object' } }));
process.stdin.on('data', (chunk) => {
  rest += chunk;
  const lines = rest.split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (method === 'initialize') say(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
    else if (method === 'tools/list') say(id, { tools });
    else if (method === 'tools/call' && params.name === 'wait') waiting = id;
    else if (method === 'tools/call') {
      say(id, text(String(process.pid)));
      if (params.name === 'go') say(waiting, text('waited'));
    } else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }) + '\\n');
  }
});
`;

function hostOf(holder: PlayedHolder): OpenedHost {
  const folder = process.cwd();
  const env = processEnvironment();
  const mcpServers = { s: { command: process.execPath, args: ['-e', script] } };
  const loaded = configFromObject({ mcpServers }, { baseDir: folder, env });
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  const around = { env, folder, stateDir: null, startedBy: 'test', report };
  return hostFrom(loaded, { ...around, holder: holder.next() });
}

it('keeps its processes, and ends what was begun, in three hosts one after the other #rollout', async () => {
  using holder = new PlayedHolder();
  const hosts = [hostOf(holder)];
  const call = async (host: OpenedHost | undefined, tool: string) =>
    textOf((await host?.call('s', tool)) as CallResult);
  const pid = await call(hosts[0], 'pid');
  const { children } = statusOf(hosts[0] as OpenedHost, 's');
  const waiting = call(hosts[0], 'wait');
  await until(() => statusOf(hosts[0] as OpenedHost, 's').inFlight === 1, 'it is under way');
  for (let count = 0; count < 2; count++) {
    const next = hostOf(holder);
    const { handed, connections } = await crossing({ host: hosts.at(-1) as never });
    await next.restore({ ...handed, connections }).adopted;
    hosts.push(next);
    expect(await call(next, 'pid')).toBe(pid);
    expect(statusOf(next, 's').children).toEqual(children);
  }
  expect(await call(hosts[2], 'go')).toBe(pid);
  expect(await waiting).toBe('waited');
  await hosts[0]?.close();
  await hosts[1]?.close();
  expect(isAlive(children[0]?.pid ?? 0)).toBe(true);
  expect(await call(hosts[2], 'pid')).toBe(pid);
  await hosts[2]?.close();
  expect(isAlive(children[0]?.pid ?? 0)).toBe(false);
});
