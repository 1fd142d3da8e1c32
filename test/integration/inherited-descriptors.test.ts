// Descriptors that the starting shell has open, whatever their numbers: they reach neither the instance nor a
// server, however the instance was started. bash opens them: other shells have numbers up to 9 only.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errnoOf } from '../../src/kernel/errno.ts';
import { mainProgram } from '../support/build.ts';
import { instanceEnded, instancePid } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { legacyHello, StdioClient } from '../support/gateway-stdio-client.ts';

const hasBash = spawnSync('bash', ['-c', 'exec 4000</dev/null']).status === 0;
const isPossible = hasBash && process.platform === 'linux';

/** A server that first writes down which files it has open. */
async function homeOfLister(): Promise<GatewayHome> {
  const home = await GatewayHome.create();
  const { command, args } = faultyStdio();
  const script = 'ls -l /proc/self/fd >"$0"; exec "$@"';
  const listed = ['-c', script, home.file('listed'), command, ...args];
  await home.configure({ mcpServers: { files: { command: '/bin/sh', args: listed } } });
  writeFileSync(home.file('secret'), 'of somebody else');
  return home;
}

/** Runs `holdfast` in a shell that has the secret open, with every number that matters. */
function withOpenFiles(home: GatewayHome, args: readonly string[], more = ''): ChildProcess {
  const open = [3, 9, 16, 40, 150, 700, 4000].map((number) => `${number}<"$0"`).join(' ');
  const script = `exec ${open}; exec "$@" ${more}`;
  const words = ['-c', script, home.file('secret'), process.execPath, mainProgram, ...args];
  return spawn('bash', words, { cwd: home.folder, env: home.env });
}

const listed = (home: GatewayHome) => readFileSync(home.file('listed'), 'utf8');

describe.skipIf(!isPossible)('descriptors of the starting shell', () => {
  it('do not reach a server #least-environment', async () => {
    await using home = await homeOfLister();
    const call = ['call', 'files/echo', 'text=x', '--config', home.configFile];
    const { code, stderr } = await new Started(withOpenFiles(home, call)).ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(listed(home)).toContain(' 0 -> ');
    expect(listed(home)).not.toContain('secret');
  });

  it('do not reach an instance that a window starts, nor its servers #least-environment', async () => {
    await using home = await homeOfLister();
    const args = ['connect', '--config', home.configFile, '--idle-end', '500'];
    await using window = new StdioClient(withOpenFiles(home, args));
    window.send(legacyHello());
    await window.answer(0, 0);
    window.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const params = { name: 'files__echo', arguments: { text: 'x' } };
    expect(await window.ask('tools/call', params, 2)).toHaveProperty('result');
    const folder = `/proc/${instancePid(home)}/fd`;
    const files = readdirSync(folder).flatMap((number) => linkAt(`${folder}/${number}`));
    expect(files).not.toContain(home.file('secret'));
    expect(listed(home)).not.toContain('secret');
    await window[Symbol.asyncDispose]();
    await instanceEnded(home);
  });

  it('are read if the command line names one #config', async () => {
    await using home = await homeOfLister();
    const call = ['call', 'files/echo', 'text=x'];
    const more = `--config <(cat '${home.configFile}')`;
    const { code, stdout, stderr } = await new Started(withOpenFiles(home, call, more)).ended;
    expect([code, stdout.trim(), stderr]).toEqual([0, 'x', '']);
    expect(listed(home)).not.toContain('secret');
  });
});

/** None if it was closed since it was listed. */
function linkAt(path: string): readonly string[] {
  try {
    return [readlinkSync(path)];
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
