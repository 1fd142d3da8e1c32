// The three reference servers of the MCP project, each with one line of config.

import { realpath, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';

const { resolve } = createRequire(import.meta.url);

function reference(name: string, ...args: string[]) {
  const folder = dirname(resolve(`@modelcontextprotocol/server-${name}/package.json`));
  return { command: 'node', args: [join(folder, 'dist/index.js'), ...args] };
}

describe('servers of other people', () => {
  let cli: CommandLine;

  beforeAll(async () => {
    cli = await commandLine();
    await cli.servers({
      everything: reference('everything'),
      files: reference('filesystem', '.'),
      memory: { ...reference('memory'), env: { MEMORY_FILE_PATH: cli.file('memory.json') } },
    });
    await writeFile(cli.file('note.txt'), 'written by hand\n');
  });

  afterAll(() => cli[Symbol.asyncDispose]());

  it('everything: echoes, and shows an image as one line #command-line', async () => {
    const echo = await cli.run(['call', 'everything/echo', 'message=hello']);
    expect(echo).toMatchObject({ code: 0, stdout: 'Echo: hello\n', stderr: '' });
    const image = await cli.run(['call', 'everything/get-tiny-image']);
    expect(image.stdout).toMatch(/^\[image image\/png [\d.]+ kB\]$/m);
  });

  it('filesystem: reads a file, and refuses one outside its folder #command-line', async () => {
    const path = join(await realpath(cli.folder), 'note.txt');
    const read = await cli.run(['call', 'files/read_text_file', `path=${path}`]);
    expect(read).toMatchObject({ code: 0, stdout: 'written by hand\n', stderr: '' });
    const outside = await cli.run(['call', 'files/read_text_file', 'path=/etc/passwd']);
    expect(outside.code).toBe(1);
    expect(outside.stdout).toContain('Access denied');
  });

  it('memory: remembers from one command to the next #command-line', async () => {
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes engines'] }];
    const args = JSON.stringify({ entities });
    expect(await cli.run(['call', 'memory/create_entities', args])).toMatchObject({ code: 0 });
    const found = await cli.run(['call', 'memory/search_nodes', 'query=engines']);
    expect(found.stdout).toContain('Ada');
  });

  it('are found by one search over all of them #command-line', async () => {
    const { code, stdout, stderr } = await cli.run(['search', 'knowledge', 'graph', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { hits, errors } = JSON.parse(stdout);
    expect(hits[0].server).toBe('memory');
    expect(errors).toEqual([]);
  });
});
