// Holdfast as process 1, as in a container without an init: what its servers leave behind is collected,
// signals and the exit code pass through, and the end is the end of everything. The pid namespace that
// a container would have is made with `unshare`, and hidden from Holdfast itself, so that its servers
// have none of their own.

import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { below, type ProcessRow } from '../../src/supervise/process/watch/process-table.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { StdioClient } from '../support/gateway-stdio-client.ts';
import { pathWithoutUnshare } from '../support/path-without-unshare.ts';
import { until } from '../support/until.ts';

const namespace = ['--pid', '--fork', '--mount-proc', '--kill-child'];
const { stdout } = spawnSync('/bin/sh', ['-c', 'command -v unshare'], { encoding: 'utf8' });
const unshare = stdout.trim();
const canUnshare = spawnSync(unshare || 'unshare', [...namespace, '/bin/true']).status === 0;
const inContinuousIntegration = process.env['CI'] !== undefined;

/** Each call leaves a process behind that has lost its parent and ends a moment later. */
const leavingServer = `
while IFS= read -r line; do
  id=\${line#*'"id":'}
  id=\${id%%[,\\}]*}
  case $line in
    *'"method":"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"l","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer='"result":{"tools":[{"name":"leave","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) (sleep 0.05 &); answer='"result":{"content":[]}' ;;
    *'"method":"ping"'*) answer='"result":{}' ;;
    *'"id":'*) answer='"error":{"code":-32601,"message":"Method not found"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$answer"
done`;

const table = systemProcesses();
let home: GatewayHome;
let path: string;

beforeAll(async () => {
  home = await GatewayHome.create();
  // In a file, because the config would replace its variables.
  await writeFile(home.file('server.sh'), leavingServer);
  const command = { command: '/bin/sh', args: [home.file('server.sh')] };
  await home.configure({ mcpServers: { l: command } });
  path = pathWithoutUnshare(home.file('path'));
});

afterAll(async () => {
  await home[Symbol.asyncDispose]();
});

/** The gateway over stdio as process 1 of a namespace; `rows` are the processes in it. */
function asProcessOne() {
  const { args, env } = home.stdioCommand;
  const child = spawn(unshare, [...namespace, process.execPath, ...args], {
    cwd: home.folder,
    env: { ...env, PATH: path },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const rows = async (): Promise<readonly ProcessRow[]> =>
    below(child.pid ?? 0, await table.rows());
  const first = async (): Promise<number> =>
    (await rows()).find(({ parent }) => parent === child.pid)?.pid ?? 0;
  return { client: new StdioClient(child), rows, first };
}

describe.skipIf(!canUnshare && !inContinuousIntegration)('holdfast serve as process 1', () => {
  it('collects what its servers leave behind #no-orphans #no-growth', async () => {
    const { client, rows } = asProcessOne();
    await using _client = client;
    await client.initialize();
    for (let id = 1; id <= 20; id++) {
      const answer = await client.ask('tools/call', { name: 'l__leave', arguments: {} }, id);
      expect(answer).toMatchObject({ result: { content: [] } });
    }
    const isQuiet = async () => !(await rows()).some(({ isZombie }) => isZombie);
    const sleepers = async () => (await rows()).length;
    // The gateway, its init, the reaper and the server: what the calls left is more than that.
    await until(async () => (await isQuiet()) && (await sleepers()) < 12, 'the zombies to be gone');
  });

  it('ends on SIGTERM with exit code 0, and with its client', async () => {
    const terminated = asProcessOne();
    await terminated.client.initialize();
    process.kill(await terminated.first(), 'SIGTERM');
    expect(await terminated.client.ended).toMatchObject({ code: 0, stderr: '' });
    const left = asProcessOne();
    await left.client.initialize();
    expect(await left.client.end()).toMatchObject({ code: 0, stderr: '' });
    expect([await terminated.rows(), await left.rows()]).toEqual([[], []]);
  });

  it('ends in order on SIGTERM after rollouts by SIGHUP #rollout', async () => {
    const { client, rows, first } = asProcessOne();
    await client.initialize();
    for (const count of [1, 2]) {
      process.kill(await first(), 'SIGHUP');
      const taken = () => client.stderr.split('has taken over').length > count;
      await until(async () => taken(), 'a rollout');
      expect(
        await client.ask('tools/call', { name: 'l__leave', arguments: {} }, count),
      ).toMatchObject({
        result: { content: [] },
      });
    }
    process.kill(await first(), 'SIGTERM');
    const { code, stderr } = await client.ended;
    expect({ code, isAtOnce: stderr.includes('at once') }).toEqual({ code: 0, isAtOnce: false });
    expect(await rows()).toEqual([]);
  });
});
