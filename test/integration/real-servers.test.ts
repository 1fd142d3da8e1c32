// The official servers, each with one line of config, through the library.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Host } from '../../src/host/host.ts';
import { temporaryFolder } from '../support/faulty.ts';
import { hostWith, statusOf, textOf } from '../support/host.ts';

const require = createRequire(import.meta.url);
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let host: Host;

function program(name: string): string {
  const root = dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`));
  return join(root, 'dist', 'index.js');
}

beforeAll(async () => {
  folder = await temporaryFolder();
  await mkdir(folder.file('docs'));
  await writeFile(folder.file('docs/a.txt'), 'seaweed holds fast');
  host = await hostWith({
    everything: { command: 'node', args: [program('server-everything'), 'stdio'] },
    files: { command: 'node', args: [program('server-filesystem'), folder.file('docs')] },
    memory: {
      command: 'node',
      args: [program('server-memory')],
      env: { MEMORY_FILE_PATH: folder.file('memory.json') },
    },
  });
});

afterAll(async () => {
  await host.close();
  await folder[Symbol.asyncDispose]();
});

it('server-everything echoes #both-eras', async () => {
  expect(textOf(await host.call('everything', 'echo', { message: 'hi' }))).toBe('Echo: hi');
  expect(statusOf(host, 'everything')).toMatchObject({ state: 'ready', era: 'legacy' });
});

it('server-filesystem reads and writes files #both-eras', async () => {
  const path = folder.file('docs/a.txt');
  expect(textOf(await host.call('files', 'read_text_file', { path }))).toBe('seaweed holds fast');
  await host.call('files', 'write_file', { path: folder.file('docs/b.txt'), content: 'kelp' });
  expect(await readFile(folder.file('docs/b.txt'), 'utf8')).toBe('kelp');
  const outside = await host.call('files', 'read_text_file', { path: '/etc/hostname' });
  expect(outside.isError).toBe(true);
});

it('server-memory remembers #both-eras', async () => {
  const entities = [{ name: 'Holdfast', entityType: 'anchor', observations: ['grips rock'] }];
  await host.call('memory', 'create_entities', { entities });
  const graph = textOf(await host.call('memory', 'read_graph'));
  expect(graph).toContain('grips rock');
});

it('all three are listed and searched together #discovery #search', async () => {
  const found = await host.discover();
  const servers = new Set(found.map(({ server }) => server));
  expect([...servers]).toEqual(['everything', 'files', 'memory']);
  expect(found.some((entry) => 'error' in entry)).toBe(false);
  const { outcome } = await host.search('write a file');
  expect(outcome).toMatchObject({
    kind: 'found',
    hits: expect.arrayContaining([
      expect.objectContaining({ server: 'files', tool: 'write_file' }),
    ]),
  });
});
