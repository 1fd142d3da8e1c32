// `cwd: "client"`: a server runs in the folder of each window, one process for each folder. Only windows
// have a folder: nobody else can use such a server, or say where it runs.

import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  instanceEnded,
  instancePid,
  openWindow,
  statusOf,
  type Window,
} from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { until } from '../support/until.ts';

/** Says where it runs, and with which arguments. */
const where = `
  const { existsSync } = require('node:fs');
  const { basename } = require('node:path');
  const { createInterface } = require('node:readline');
  if (existsSync('broken')) throw new Error('this project is broken');
  const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    if (method === 'initialize') {
      const serverInfo = { name: 'where', version: '1' };
      return reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
    }
    if (method === 'tools/list') {
      const names = ['am_i', 'in_' + basename(process.cwd())];
      return reply(id, { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) });
    }
    if (method !== 'tools/call') return reply(id, {});
    const said = { cwd: process.cwd(), args: process.argv.slice(1), folder: process.env.FOLDER, start };
    reply(id, { content: [{ type: 'text', text: JSON.stringify(said) }] });
  });
  const start = Math.random();
`;

/** As it stands in a config. */
const variable = (name: string) => `\${${name}}`;

const whereServer = {
  command: process.execPath,
  args: [
    '-e',
    where,
    `${variable('workspaceFolder')}/src`,
    variable('workspaceFolderBasename'),
    `$${variable('workspaceFolder')}`,
  ],
  env: { FOLDER: variable('workspaceFolder') },
  cwd: 'client',
};

async function homeWithFolders() {
  const home = await GatewayHome.create({
    mcpServers: { where: whereServer, other: faultyStdio() },
  });
  const folders = ['one', 'two'].map((name) => home.file(name));
  for (const folder of folders) mkdirSync(folder);
  return { home, folders: folders.map((folder) => realpathSync(folder)) as [string, string] };
}

async function whereIs(window: Window) {
  const { content } = await window.call('where__am_i');
  return JSON.parse(content[0].text) as {
    cwd: string;
    args: string[];
    folder: string;
    start: number;
  };
}

describe('a server in the folder of its client', () => {
  it('has one process for each folder, which windows of the same folder share #one-instance', async () => {
    const { home, folders } = await homeWithFolders();
    await using _home = home;
    const [one, two] = folders;
    symlinkSync(one, home.file('link'));
    {
      await using first = await openWindow(home, one);
      await using second = await openWindow(home, two);
      await using third = await openWindow(home, home.file('link'));
      const [a, b, c] = [await whereIs(first), await whereIs(second), await whereIs(third)];
      expect([a.cwd, b.cwd, c.cwd]).toEqual([one, two, one]);
      const literal = variable('workspaceFolder');
      expect(a).toMatchObject({ folder: one, args: [`${one}/src`, 'one', literal] });
      expect(b).toMatchObject({ folder: two, args: [`${two}/src`, 'two', literal] });
      expect(c.start).toBe(a.start);
      expect(b.start).not.toBe(a.start);
    }
    await instanceEnded(home);
  });

  it('is refused to everybody else, with the key; other servers are not affected #one-instance', async () => {
    const { home } = await homeWithFolders();
    await using _home = home;
    {
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      const answer = await client.call('where__am_i');
      expect(answer.result._meta['holdfast/fault']).toMatchObject({ code: 'invalid_request' });
      expect(JSON.stringify(answer.result.content)).toContain('cwd: \\"client\\"');
      expect((await client.call('other__echo', { text: 'x' })).result.isError).not.toBe(true);
      const session = await client.session();
      const { json } = await session.ask('tools/list');
      expect(JSON.stringify(json)).toContain('other__echo');
      for (const args of [
        ['call', 'where/am_i'],
        ['start', 'where'],
      ]) {
        const { code, stderr } = await home.run(args);
        expect([code, stderr]).toEqual([2, expect.stringContaining('cwd: "client"')]);
      }
    }
    const doctor = await home.run(['doctor']);
    expect(doctor.stdout).toMatch(/^· where .*runs in the folder of each window/m);
    const check = await home.run(['check', 'where', '--wait', '3']);
    expect([check.code, check.stdout]).toEqual([3, expect.stringContaining('cwd: "client"')]);
    const alone = await home.run(['call', 'where/am_i']);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('cwd: "client"')]);
  });

  it('that was removed is no failure of the server #restart-budget', async () => {
    const { home, folders } = await homeWithFolders();
    await using _home = home;
    const [one, two] = folders;
    // A failure of the server would be its last.
    const restart = { max: 1 };
    await home.configure({ mcpServers: { where: { ...whereServer, restart } } });
    {
      await using first = await openWindow(home, one);
      await using second = await openWindow(home, two);
      rmSync(one, { recursive: true });
      expect(existsSync(one)).toBe(false);
      for (let n = 0; n < 3; n += 1) {
        const { _meta: meta } = await first.call('where__am_i');
        expect(meta['holdfast/fault'].detail).toContain('does not exist');
      }
      expect((await whereIs(second)).cwd).toBe(two);
    }
    await instanceEnded(home);
  });
});

describe('what is known of a server in one folder', () => {
  const listed = async ({ client }: Window) =>
    (await client.listTools()).tools.map(({ name }) => name).filter((name) => name.includes('in_'));

  it('is not given to clients elsewhere: results, answers of keys and lists #own-answers-only', async () => {
    const { home, folders } = await homeWithFolders();
    await using _home = home;
    await home.configure({
      mcpServers: { where: { ...whereServer, tools: { am_i: { cacheMs: 60_000 } } } },
    });
    const [one, two] = folders;
    const key = { 'holdfast/idempotencyKey': 'same' };
    {
      await using served = await home.serve();
      await using first = await openWindow(home, one);
      await using second = await openWindow(home, two);
      expect((await whereIs(first)).cwd).toBe(one);
      expect((await whereIs(second)).cwd).toBe(two);
      expect((await whereIs(first)).cwd).toBe(one);
      const keyed = await first.call('where__am_i', {}, key);
      expect(JSON.stringify(keyed.content)).toContain(one);
      const other = await second.call('where__am_i', {}, key);
      expect(JSON.stringify(other.content)).not.toContain(one);
      expect(await listed(first)).toEqual(['where__in_one']);
      expect(await listed(second)).toEqual(['where__in_two']);
      using client = new HttpClient(served.url);
      const { result } = await client.call('where__am_i');
      expect(result._meta['holdfast/fault']).toMatchObject({ code: 'invalid_request' });
      expect((await client.modern('tools/list')).text).not.toContain('where__');
    }
  });

  it('is no failure elsewhere #restart-budget', async () => {
    const { home, folders } = await homeWithFolders();
    await using _home = home;
    const restart = { max: 2 };
    await home.configure({ mcpServers: { where: { ...whereServer, restart } } });
    const [one, two] = folders;
    writeFileSync(join(one, 'broken'), '');
    {
      await using first = await openWindow(home, one);
      await using second = await openWindow(home, two);
      for (let n = 0; n < 6; n += 1) {
        expect((await first.call('where__am_i')).isError).toBe(true);
      }
      expect((await whereIs(second)).cwd).toBe(two);
      const { children } = (await statusOf(home)).servers[0];
      expect(children).toMatchObject([{ folder: two }]);
    }
    await instanceEnded(home);
  });

  it('stays with a client that has a connection of its own, over a restart #one-instance', async () => {
    const { home, folders } = await homeWithFolders();
    await using _home = home;
    await home.configure({ mcpServers: { where: { ...whereServer, isolation: 'client' } } });
    {
      await using window = await openWindow(home, folders[0]);
      expect((await whereIs(window)).cwd).toBe(folders[0]);
      process.kill(instancePid(home), 'SIGKILL');
      await until(async () => {
        const { content, isError } = await window.call('where__am_i');
        return isError !== true && content[0].text.includes(folders[0]);
      }, 'it runs there again');
    }
    await instanceEnded(home);
  });
});

describe('the config of such a server', () => {
  it.each([
    [{ lazy: false }, 'lazy'],
    [{ isolation: 'shared' }, 'isolation'],
  ])('is refused with %j', async (more, key) => {
    await using home = await GatewayHome.create({
      mcpServers: { where: { ...whereServer, ...more } },
    });
    const { code, stderr } = await home.run(['tools']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(key)]);
  });
});
