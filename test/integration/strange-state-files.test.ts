// Something else has the name of a file of the instance: a named pipe, which whoever opens it waits for, a
// socket, a folder or a link. The instance serves without that file, says so, and ends when it is told to.

import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openWindow, statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

const makers = {
  pipe: (path: string) => void execFileSync('mkfifo', [path]),
  folder: (path: string) => void mkdirSync(path),
  link: (path: string) => symlinkSync('/dev/zero', path),
  socket: async (path: string) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path, resolve));
    onTestFinished(() => void server.close());
  },
} as const;

/** Folders and links in place of the others: sqlite-own-files.test.ts. */
const inPlace = [
  ['pipe', 'state.db'],
  ['pipe', 'state.db-wal'],
  ['pipe', 'state.db-shm'],
  ['pipe', 'state.db-journal'],
  ['socket', 'state.db'],
  ['folder', 'state.db'],
  ['link', 'state.db-wal'],
] as const;

async function homeWith(kind: keyof typeof makers, name: string): Promise<GatewayHome> {
  const home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
  const { folder } = home.place;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await makers[kind](join(folder, name));
  return home;
}

describe('an instance', () => {
  it.each(inPlace)(
    'with a %s in place of %s keeps its data in memory, says so, and ends #own-state #disk-faults',
    async (kind, name) => {
      await using home = await homeWith(kind, name);
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      // With a key, the call needs the database. What was stored under it before is not known.
      const meta = { 'holdfast/idempotencyKey': 'key' };
      expect(await client.call('files__echo', { text: 'x' }, meta)).toHaveProperty('result');
      const { disk } = await statusOf(home);
      expect(disk).toEqual({ ok: false, problem: expect.stringContaining(`(${name} is `) });
      expect(disk.problem).toMatch(/kept in memory and lost at the end: move it away/);
      expect((await served.stop()).code).toBe(0);
    },
  );

  it.each(['pipe', 'folder'] as const)(
    'whose log is a %s is started by a window all the same #own-state',
    async (kind) => {
      await using home = await homeWith(kind, 'instance.log');
      await using window = await openWindow(home);
      expect(await window.call('files__echo', { text: 'x' })).toHaveProperty('content');
      await home.run(['shutdown']);
    },
  );

  it('does not write its log through a link #own-state', async () => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    const { folder } = home.place;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const target = home.file('target');
    writeFileSync(target, 'x'.repeat(1_100_000));
    symlinkSync(target, join(folder, 'instance.log'));
    await using window = await openWindow(home);
    await window.call('files__echo', { text: 'x' });
    await home.run(['shutdown']);
    expect(readFileSync(target).length).toBe(1_100_000);
    expect(lstatSync(join(folder, 'instance.log')).isSymbolicLink()).toBe(true);
  });
});
