// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the subject

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configFromObject, loadConfig } from './load.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: string | Buffer) => {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
};
const env = { HOME: '/nowhere' };

describe('loading the config', () => {
  it('finds holdfast.json above the working directory and resolves against its folder', () => {
    const file = write('holdfast.json', '\uFEFF{"mcpServers":{"a":{"command":"x"}}}');
    mkdirSync(join(folder, 'deep/er'), { recursive: true });
    const loaded = loadConfig({ cwd: join(folder, 'deep/er'), env });
    expect(loaded.file).toBe(file);
    expect(loaded.config.mcpServers['a']).toMatchObject({ cwd: folder });
  });

  it('reports where it searched when there is none', () => {
    expect(() => loadConfig({ cwd: folder, env })).toThrow(
      `no holdfast.json found: looked in ${folder}, the folders above it and /nowhere/.config/holdfast/holdfast.json; create one`,
    );
  });

  it('does not let a file that everyone can write decide what runs, unless it is named', () => {
    const file = write('holdfast.json', '{}');
    chmodSync(file, 0o666);
    expect(() => loadConfig({ cwd: folder, env })).toThrow(`name it with --config ${file}`);
    expect(loadConfig({ file, cwd: '/', env }).file).toBe(file);
  });

  it('takes unknown keys strictly only in a file called holdfast.json', () => {
    const text = '{"mcpServers":{"a":{"command":"x","nope":1}}}';
    expect(() => loadConfig({ file: write('holdfast.json', text), cwd: '/', env })).toThrow(/nope/);
    expect(loadConfig({ file: write('mcp.json', text), cwd: '/', env }).notices).toHaveLength(1);
  });

  it('takes the folder above .vscode as the project', () => {
    mkdirSync(join(folder, '.vscode'));
    write('.env', 'A=1');
    const file = write('.vscode/mcp.json', '{"servers":{"a":{"command":"x","envFile":".env"}}}');
    expect(loadConfig({ file, cwd: '/', env }).config.mcpServers['a']).toMatchObject({
      cwd: folder,
      env: { A: '1' },
    });
  });

  it.each([
    ['gone.json', 'there is no such file'],
    ['.', 'this is a directory'],
  ])('names the reason when %s cannot be read', (name, reason) => {
    expect(() => loadConfig({ file: name, cwd: folder, env })).toThrow(reason);
  });

  it('refuses text that is not UTF-8', () => {
    const file = write('holdfast.json', Buffer.from([0x7b, 0xff, 0x7d]));
    expect(() => loadConfig({ file, cwd: '/', env })).toThrow(`${file}: it is not UTF-8 text`);
  });
});

describe('a config given as an object', () => {
  it('follows the rules of the file, relative to the given folder', () => {
    const { file, config } = configFromObject(
      { mcpServers: { a: { command: 'x', args: ['${A}'], cwd: undefined } } },
      { baseDir: '/base', env: { A: 'b' } },
    );
    expect(file).toBeNull();
    expect(config.mcpServers['a']).toMatchObject({ cwd: '/base', args: ['b'] });
  });

  it('is refused in the same words, without a place', () => {
    const input = { mcpServers: { a: { comand: 'x' } } };
    expect(() => configFromObject(input, { baseDir: '/', env })).toThrow(
      /^mcpServers\.a needs a "command".*\nunknown key "comand" in mcpServers\.a: did you mean "command"\?$/,
    );
  });
});
