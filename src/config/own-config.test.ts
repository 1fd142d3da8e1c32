// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the subject

import { describe, expect, it } from 'vitest';
import { Fault } from '../kernel/fault.ts';
import { parseDocument } from './document.ts';
import { ownConfig } from './own-config.ts';

const variables = {
  env: { TOKEN: 's3cret' },
  folder: '/srv',
  home: '/home/me',
  inputs: new Map(),
};
const read = (text: string) =>
  ownConfig(parseDocument(text, 'holdfast.json'), 'holdfast.json', variables);
const linesOf = (text: string): readonly string[] => {
  try {
    read(text);
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid_request')
      return error.message.split('\n');
    throw error;
  }
  return [];
};
const entry = (members: string) => `{ "mcpServers": { "files": { "command": "x", ${members} } } }`;

describe('variables that can make a program run other code', () => {
  const servers = (bad: string) =>
    read(`{ "mcpServers": { "bad": { "command": "x", ${bad} }, "good": { "command": "x" } } }`);

  it.each([
    ['"env": { "NODE_OPTIONS": "--require s3cret" }', 'env.NODE_OPTIONS names "NODE_OPTIONS"'],
    ['"env": { "LD_PRELOAD": "x" }', 'env.LD_PRELOAD names "LD_PRELOAD"'],
    ['"env": { "DYLD_INSERT_LIBRARIES": "x" }', 'env.DYLD_INSERT_LIBRARIES'],
    ['"env": { "ENV": "x" }, "allowEnv": ["BASH_ENV"]', 'env.ENV names "ENV"'],
    ['"env": { "BASH_FUNC_ls%%": "() { x; }" }', 'env["BASH_FUNC_ls%%"] names'],
    ['"inheritEnv": ["OK", "BASH_ENV"]', 'inheritEnv[1] names "BASH_ENV"'],
    ['"inheritEnv": ["LD_*"], "allowEnv": ["LD_PRELOAD"]', 'inheritEnv[0] is "LD_*"'],
    ['"inheritEnv": ["LD_LIBRARY_*"]', 'inheritEnv[0] is "LD_LIBRARY_*"'],
  ])('disable the one server that sets them: %s #least-environment', (bad, cause) => {
    const { config, disabled } = servers(bad);
    expect(Object.keys(config.mcpServers)).toEqual(['good']);
    expect(disabled.get('bad')).toContain(`mcpServers.bad.${cause}`);
    expect(disabled.get('bad')).toContain('allowEnv');
    expect(disabled.get('bad')).not.toContain('s3cret');
  });

  it.each([
    '"env": { "NODE_OPTIONS": "x", "LD_PRELOAD": "y" }, "allowEnv": ["LD_PRELOAD", "NODE_OPTIONS"]',
    '"inheritEnv": ["BASH_ENV"], "allowEnv": ["BASH_ENV"]',
    '"env": { "NODE_ENV": "x", "env": "y", "PYTHONPATH": "src", "LD": "z" }',
    '"inheritEnv": ["NODE_*", "L*"]',
  ])('are taken where the entry allows them, and others always: %s', (good) => {
    expect(servers(good).disabled.size).toBe(0);
  });

  it('are allowed by their whole names only', () => {
    expect(linesOf(entry('"allowEnv": ["LD_*"]'))[0]).toContain(
      'mcpServers.files.allowEnv[0] is "LD_*": expected the whole name of a variable',
    );
  });
});

describe('a file called holdfast.json', () => {
  it('resolves the working directory against its own folder', () => {
    const { config } = read(
      '{"mcpServers":{"a":{"command":"x"},"b":{"command":"x","cwd":"sub"},"c":{"command":"x","cwd":"/abs"}}}',
    );
    expect(Object.values(config.mcpServers).map((server) => 'cwd' in server && server.cwd)).toEqual(
      ['/srv', '/srv/sub', '/abs'],
    );
  });

  it('may name its JSON Schema, which is no part of the config', () => {
    expect(read('{ "$schema": "./x.json" }').config).not.toHaveProperty('$schema');
  });

  it.each([
    [entry('"comand": "y"'), 'unknown key "comand" in mcpServers.files: did you mean "command"?'],
    ['{ "servers": {} }', 'unknown key "servers" at the top level: did you mean "mcpServers"?'],
    [
      entry('"restart": { "maxx": 1 }'),
      'unknown key "maxx" in mcpServers.files.restart: did you mean "max"?',
    ],
    [
      entry('"tools": { "a": { "cache": 1 } }'),
      'unknown key "cache" in mcpServers.files.tools.a: did you mean "cacheMs"?',
    ],
    [
      entry('"headers": {}'),
      'the key "headers" in mcpServers.files has no effect for this type of server',
    ],
    [entry('"lazy": "yes"'), 'mcpServers.files.lazy is "yes": expected true or false'],
    [entry('"queue": -1'), 'mcpServers.files.queue is -1: expected at least 0'],
    [entry('"queue": 1.5'), 'mcpServers.files.queue is 1.5: expected a whole number'],
    [entry('"args": "-y"'), 'mcpServers.files.args is a text: expected a list [ … ]'],
    [entry('"args": [1]'), 'mcpServers.files.args[0] is a number: expected text in double quotes'],
    [
      entry('"env": { "PIN": 1234 }'),
      'mcpServers.files.env.PIN is a number: expected text in double quotes',
    ],
    [
      entry('"inheritEnv": ["A B"]'),
      'mcpServers.files.inheritEnv[0] is "A B": expected "NAME" or "PREFIX_*"',
    ],
    [
      entry('"tools": { "w": { "replay": "maybe" } }'),
      'mcpServers.files.tools.w.replay is "maybe": expected "never" or "safe"',
    ],
    [entry('"type": "ws"'), 'mcpServers.files.type is "ws": expected "stdio", "http" or "sse"'],
    [
      entry('"callTimeoutMs": 9, "maxCallMs": 1'),
      'mcpServers.files.maxCallMs must not be less than callTimeoutMs',
    ],
    [
      '{ "mcpServers": { "a": {} } }',
      'mcpServers.a needs a "command" (a program to run) or a "url" (an address to connect to)',
    ],
    [
      '{ "mcpServers": { "a": { "type": "http" } } }',
      'mcpServers.a needs a "url" (an address to connect to)',
    ],
    [
      '{ "mcpServers": { "a b": { "command": "x" } } }',
      '"a b" cannot be the name of a server: use 1 to 64',
    ],
    ['{ "mcpServers": { "Holdfast": { "command": "x" } } }', 'mcpServers.Holdfast is reserved'],
    [
      '{ "mcpServers": { "a": { "command": "x" }, "A": { "command": "x" } } }',
      'mcpServers.A differs from "a" only in case',
    ],
    ['{ "mcpServers": [] }', 'mcpServers is a list: expected an object'],
    ['[]', 'the config is a list: expected an object'],
    ['{ "maxIdle": null }', 'maxIdle is null: expected a whole number'],
    ['{ "maxIdle": 1, "maxIdle": 2 }', 'the key "maxIdle" is given twice: remove one'],
  ])('with %s is refused with the place and the expectation', (text, words) => {
    const [line, ...others] = linesOf(text);
    expect(others).toEqual([]);
    expect(line).toMatch(/^holdfast\.json:1:\d+: /);
    expect(line).toContain(words);
  });

  it('reports all problems at once, each with its own line and column', () => {
    const text =
      '{\n  "maxIdle": "x",\n  "mcpServers": {\n    "a": { "comand": "y" },\n    "a": 3\n  }\n}';
    expect(linesOf(text).map((line) => line.split(' ')[0])).toEqual([
      'holdfast.json:5:5:',
      'holdfast.json:2:3:',
    ]);
  });

  it('reports the first of thousands of problems, and how many more there are', () => {
    const keys = Array.from({ length: 5_000 }, (_, at) => `"k${at}": 1`);
    const lines = linesOf(`{ ${keys.join(', ')} }`);
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('and 4980 more');
  });

  it('says in one line what is wrong with a key that has several', () => {
    expect(linesOf('{ "a\\nb": 1 }')).toEqual([
      expect.stringMatching(/^holdfast\.json:1:3: unknown key "a\\nb" at the top level/),
    ]);
    expect(linesOf('{ "naming": "a\\nb" }')).toHaveLength(1);
    expect(linesOf('{ "mcpServers": { "a\\nb": {} } }')).toHaveLength(1);
  });

  it('never shows what a variable holds', () => {
    const lines = linesOf(entry('"lazy": "${TOKEN}", "cwd": 3'));
    expect(lines.join()).toContain('${TOKEN}');
    expect(lines.join()).not.toContain('s3cret');
  });

  it('loses only the one server whose variable is not set', () => {
    const { config, disabled } = read(
      '{"mcpServers":{"a":{"url":"${env:A_URL}"},"b":{"url":"http://b/","headers":{"X":"${TOKEN}"}},"c":{"command":"x","args":["${P}","${Q}"]}}}',
    );
    expect(Object.keys(config.mcpServers)).toEqual(['b']);
    expect(config.mcpServers['b']).toMatchObject({ headers: { X: 's3cret' } });
    expect([...disabled.keys()]).toEqual(['a', 'c']);
    expect(disabled.get('a')).toMatch(/mcpServers\.a\.url needs the environment variable A_URL/);
    expect(disabled.get('c')).toMatch(/args\[0\].* P,.*args\[1\].* Q,/);
  });

  it('still refuses an unknown key in a server whose variable is not set', () => {
    const lines = linesOf('{"mcpServers":{"a":{"url":"${env:A_URL}","hedaers":{}}}}');
    expect(lines).toEqual([expect.stringContaining('did you mean "headers"?')]);
  });

  it('keeps a server that is switched off out, whatever its variables', () => {
    const { config, disabled } = read(entry('"disabled": true, "args": ["${NOPE}"]'));
    expect(config.mcpServers).toEqual({});
    expect(disabled.get('files')).toBe('switched off by mcpServers.files.disabled in the config');
  });

  it('gives a config that nobody can change and that inherits nothing', () => {
    const { config } = read(entry('"env": { "A": "b" }'));
    const files = config.mcpServers['files'];
    expect(Object.isFrozen(config) && Object.isFrozen(files?.limits)).toBe(true);
    expect(files?.type === 'stdio' && Object.isFrozen(files.env)).toBe(true);
    expect(config.mcpServers['toString']).toBeUndefined();
    expect(files?.tools['constructor']).toBeUndefined();
  });
});
