// `cwd: "client"`: a server runs in the folder of each window, one process for each folder. Only windows
// have a folder: nobody else can use such a server, or say where it runs.

import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { folderVariables } from '../../src/config/client-folders.ts';
import { instanceEnded, openWindow, type Window } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

/** Says where it runs, and with which arguments. */
const where = `
  const { createInterface } = require('node:readline');
  const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    if (method === 'initialize') {
      const serverInfo = { name: 'where', version: '1' };
      return reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
    }
    if (method === 'tools/list') {
      return reply(id, { tools: [{ name: 'am_i', inputSchema: { type: 'object' } }] });
    }
    if (method !== 'tools/call') return reply(id, {});
    const said = { cwd: process.cwd(), args: process.argv.slice(1), folder: process.env.FOLDER, start };
    reply(id, { content: [{ type: 'text', text: JSON.stringify(said) }] });
  });
  const start = Math.random();
`;

const whereServer = {
  command: process.execPath,
  args: ['-e', where, `${folderVariables.path}/src`, folderVariables.name],
  env: { FOLDER: folderVariables.path },
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
      expect(a).toMatchObject({ folder: one, args: [`${one}/src`, 'one'] });
      expect(b).toMatchObject({ folder: two, args: [`${two}/src`, 'two'] });
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
    expect(doctor.stdout).toMatch(/^✓ where .*runs in the folder of each window/m);
    const alone = await home.run(['call', 'where/am_i']);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('cwd: "client"')]);
  });

  it('that was removed is no failure of the server #restart-budget', async () => {
    const { home, folders } = await homeWithFolders();
    await using _home = home;
    const [one, two] = folders;
    {
      await using first = await openWindow(home, one);
      await using second = await openWindow(home, two);
      rmSync(one, { recursive: true });
      expect(existsSync(one)).toBe(false);
      for (let n = 0; n < 12; n += 1) {
        const { _meta: meta } = await first.call('where__am_i');
        expect(meta['holdfast/fault'].detail).toContain('does not exist');
      }
      expect((await whereIs(second)).cwd).toBe(two);
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
