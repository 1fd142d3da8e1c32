// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the forms are the subject

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDocument } from './document.ts';
import { isLate, lasting, latePieces, wordsOf } from './late-values.ts';
import { configFromObject } from './load.ts';
import { ownConfig } from './own-config.ts';
import { specHash } from './spec-hash.ts';

function read(entry: object, env: Record<string, string> = {}) {
  const text = JSON.stringify({ mcpServers: { it: entry, other: { command: 'x' } } });
  const variables = { env, folder: '/srv/conf', home: '/home/me', inputs: new Map() };
  return ownConfig(parseDocument(text, 'holdfast.json'), 'holdfast.json', variables);
}

function serverOf(entry: object, env: Record<string, string> = {}) {
  const { config, disabled } = read(entry, env);
  const server = config.mcpServers['it'];
  if (server === undefined) throw new Error(disabled.get('it'));
  return server;
}

function piecesOf(text: string, env: Record<string, string> = {}) {
  const server = serverOf({ command: 'x', env: { KEY: text } }, env);
  return latePieces((server.type === 'stdio' && server.env['KEY']) || '');
}

const causeOf = (entry: object, env: Record<string, string> = {}) => {
  const { config, disabled } = read(entry, env);
  expect(Object.keys(config.mcpServers)).toEqual(['other']);
  return disabled.get('it');
};

describe('a value from a file or a command', () => {
  it('stays to be read, with the path or the words that it names', () => {
    const file = (path: string) => ({ kind: 'file', path });
    expect(piecesOf('${file:/run/key}')).toEqual([file('/run/key')]);
    expect(piecesOf('Bearer ${file:key.txt}!')).toEqual([
      'Bearer ',
      file('/srv/conf/key.txt'),
      '!',
    ]);
    expect(piecesOf('${file:~/key}')).toEqual([file('/home/me/key')]);
    expect(piecesOf('${file:a b}${file:$x}')).toEqual([
      file('/srv/conf/a b'),
      file('/srv/conf/$x'),
    ]);
    const cmd = { kind: 'cmd', program: 'op', args: ['read', 'a b'], folder: '/srv/conf' };
    expect(piecesOf("x${cmd:op read 'a b'}")).toEqual(['x', cmd]);
    expect(piecesOf('${A}:${file:/k}', { A: 'me' })).toEqual(['me:', file('/k')]);
  });

  it('may stand in a header, too', () => {
    const server = serverOf({ url: 'http://x/', headers: { Authorization: 'Bearer ${cmd:k}' } });
    const text = server.type === 'stdio' ? '' : (server.headers['Authorization'] ?? '');
    expect(latePieces(text)).toMatchObject(['Bearer ', { kind: 'cmd', program: 'k' }]);
  });

  it('is never made by the value of a variable, nor by a literal', () => {
    const brought = piecesOf('${A}$${file:/k}', { A: '${cmd:evil}' });
    expect(brought).toEqual(['${cmd:evil}${file:/k}']);
    const real = serverOf({ command: 'x', env: { KEY: '${file:/k}' } });
    const mark = real.type === 'stdio' ? (real.env['KEY'] ?? '') : '';
    // Of another process: the same text with another random word.
    const foreign = mark.replace(/-[0-9a-f]{32}:/, `-${'0'.repeat(32)}:`);
    expect(foreign).not.toBe(mark);
    expect(isLate(foreign)).toBe(false);
    expect(piecesOf(foreign)).toEqual([foreign]);
  });

  it.each([
    [{ command: 'x', args: ['${file:/k}'] }, 'mcpServers.it.args[0] has "${file:/k}"'],
    [{ command: '${cmd:which x}' }, 'mcpServers.it.command has "${cmd:which x}"'],
    [{ command: 'x', cwd: '${file:/k}' }, 'mcpServers.it.cwd has'],
    [{ url: 'http://x/?key=${file:/k}' }, 'mcpServers.it.url has'],
    [{ command: 'x', inheritEnv: ['${file:/k}'] }, 'mcpServers.it.inheritEnv[0] has'],
  ])('is refused elsewhere, with where it may stand: %j', (entry, cause) => {
    expect(causeOf(entry)).toContain(cause);
    expect(causeOf(entry)).toContain(
      'only holdfast.json may have it, in the values of env and headers',
    );
  });

  it.each([
    ['${file:}', 'names no file'],
    ['${file: }', 'names no file'],
    ['${cmd:}', 'names no program'],
    ["${cmd:''}", 'names no program'],
    ["${cmd:op 'read}", 'has a quote that is never closed'],
    ['${file:/${A}/k}', 'has a form inside of a form'],
  ])('is refused where it cannot be understood: %s', (text, cause) => {
    expect(causeOf({ command: 'x', env: { KEY: text } }, { A: 'a' })).toContain(
      `mcpServers.it.env.KEY ${cause}`,
    );
  });

  it('is refused in the config of a program, which can read files itself', () => {
    const input = { mcpServers: { it: { command: 'x', env: { KEY: '${cmd:evil}' } } } };
    const { disabled } = configFromObject(input, { baseDir: '/', env: {} });
    expect(disabled.get('it')).toContain('only holdfast.json may have it');
  });

  it('has part in the fingerprint by its path, which is the same in every process', () => {
    const hashOf = (text: string) => specHash(serverOf({ command: 'x', env: { KEY: text } }));
    expect(hashOf('${file:/a}')).not.toBe(hashOf('${file:/b}'));
    expect(hashOf('${file:/a}')).not.toBe(hashOf('$${file:/a}'));
    expect(hashOf('${file:/a}')).toMatchInlineSnapshot(
      `"9e8dc2b22bf4f65809b6986f674f41ca7ec3c27f271164a5cb20fa6d2ef80df0"`,
    );
    expect(lasting('plain')).toBe('plain');
  });
});

describe('the words of a command', () => {
  it.each([
    ['op read op://x/y', ['op', 'read', 'op://x/y']],
    ['  a\t b  ', ['a', 'b']],
    [`a 'b c' "d 'e'"f`, ['a', 'b c', `d 'e'f`]],
    ["a '' b", ['a', '', 'b']],
    ['a\\ b $HOME `x` ; | > *', ['a\\', 'b', '$HOME', '`x`', ';', '|', '>', '*']],
    ['', []],
    ["a'", undefined],
    [`a "b`, undefined],
    [`"a" "b'c`, undefined],
  ])('of %j are %j', (line, words) => {
    expect(wordsOf(line)).toEqual(words);
  });

  it('are those that were quoted, whatever they contain', () => {
    const word = fc.string().map((text) => text.replaceAll("'", ''));
    fc.assert(
      fc.property(fc.array(word), (words) => {
        expect(wordsOf(words.map((one) => `'${one}'`).join(' '))).toEqual(words);
      }),
    );
  });
});
