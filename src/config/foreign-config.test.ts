// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the subject

import { describe, expect, it } from 'vitest';
import { parseDocument } from './document.ts';
import { foreignConfig, type ReadText } from './foreign-config.ts';

const variables = {
  env: { TOKEN: 's3cret' },
  folder: '/project',
  home: '/home/me',
  inputs: new Map(),
};
const files: Record<string, string> = {
  '/project/.env': 'A=1\n# no\nexport B="two words"\nC=file',
  '/project/bad.env': 'NODE_OPTIONS=--inspect',
};
const readText: ReadText = (file) => {
  const text = files[file];
  return text === undefined ? { kind: 'failed', code: 'ENOENT' } : { kind: 'text', text };
};
const read = (content: unknown) =>
  foreignConfig(
    parseDocument(JSON.stringify(content), 'mcp.json'),
    'mcp.json',
    variables,
    readText,
  );
const one = (entry: unknown) => {
  const loaded = read({ mcpServers: { it: entry } });
  return loaded.config.mcpServers['it'] ?? loaded.disabled.get('it');
};

describe("another client's file", () => {
  it('is read from mcpServers or from servers', () => {
    const entry = { command: 'x', args: ['${workspaceFolder}'] };
    const expected = { command: 'x', args: ['/project'], cwd: '/project' };
    expect(one(entry)).toMatchObject(expected);
    expect(read({ servers: { it: entry } }).config.mcpServers['it']).toMatchObject(expected);
  });

  it('without servers is refused with what was expected', () => {
    expect(() => read({ editor: {} })).toThrow(
      /mcp\.json has no servers: .*"mcpServers" or "servers"/,
    );
  });

  it('may have any other keys, which are one notice', () => {
    const { config, notices } = read({
      numStartups: 7,
      constructor: {},
      telemetry: { enabled: true },
      mcpServers: { a: { command: 'x', autoApprove: ['y'], gallery: true, headers: {} } },
    });
    expect(config.mcpServers['a']).toMatchObject({ command: 'x' });
    expect(config.telemetry.eventLog).toBe(true);
    expect(notices).toHaveLength(1);
    for (const key of [
      'numStartups',
      'telemetry.enabled',
      'mcpServers.a.autoApprove',
      'mcpServers.a.headers',
    ]) {
      expect(notices[0]).toContain(key);
    }
  });

  it.each([
    [{ url: 'http://x/', type: 'streamable-http' }, { type: 'http' }],
    [{ url: 'http://x/', type: 'streamableHttp' }, { type: 'http' }],
    [{ url: 'http://x/', transport: 'sse' }, { type: 'sse' }],
    [{ serverUrl: 'http://x/' }, { type: 'http', url: 'http://x/' }],
    [{ httpUrl: 'http://x/' }, { type: 'http', url: 'http://x/' }],
    [{ command: 'x', timeout: 90_000 }, { callTimeoutMs: 90_000 }],
    [{ command: 'x', timeout: 60 }, { callTimeoutMs: 60_000 }],
    [{ command: 'x', timeout: 0 }, { callTimeoutMs: 60_000 }],
    [
      { command: 'x', timeout: 900_000 },
      { callTimeoutMs: 900_000, maxCallMs: 900_000 },
    ],
    [{ command: 'x', env: { PORT: 80, GONE: null } }, { env: { PORT: '80' } }],
    [{ command: 'x', disabledTools: ['rm'] }, { tools: { rm: { hidden: true } } }],
  ])('with its own keys, %j, is understood', (entry, ours) => {
    expect(one(entry)).toMatchObject(ours);
  });

  it.each([{ disabled: true }, { enabled: false }])('switches a server off by %j', (off) => {
    expect(one({ command: 'x', args: ['${NOPE}'], ...off })).toContain(
      'switched off by mcpServers.it',
    );
  });

  it('uses its envFile, with env taking precedence', () => {
    expect(
      one({ command: 'x', envFile: '${workspaceFolder}/.env', env: { C: 'own' } }),
    ).toMatchObject({
      env: { A: '1', B: 'two words', C: 'own' },
    });
    expect(one({ command: 'x', envFile: 'gone.env' })).toBe(
      'mcpServers.it.envFile names "gone.env", which cannot be read (ENOENT)',
    );
  });

  it('may set a variable that makes programs run other code only where it says so #least-environment', () => {
    const cause =
      'mcpServers.it.env.NODE_OPTIONS names "NODE_OPTIONS", which can make programs run other code: remove it, or add "allowEnv": ["NODE_OPTIONS"] to the server if you want that';
    expect(one({ command: 'x', env: { NODE_OPTIONS: '--inspect' } })).toBe(cause);
    expect(one({ command: 'x', envFile: 'bad.env' })).toBe(cause);
    const allowEnv = ['NODE_OPTIONS'];
    expect(one({ command: 'x', envFile: 'bad.env', allowEnv })).toMatchObject({
      env: { NODE_OPTIONS: '--inspect' },
    });
  });

  it('never shows what a variable in the name of an envFile holds', () => {
    expect(one({ command: 'x', envFile: '${TOKEN}/.env' })).toBe(
      'mcpServers.it.envFile names "${TOKEN}/.env", which cannot be read (ENOENT)',
    );
  });

  it('says in one line what it calls a server whose name has several', () => {
    const { notices } = read({ servers: { 'a\nb': { command: 'x' } } });
    expect(notices).toEqual(['mcp.json: the server "a\\nb" is called "a-b" here']);
  });

  it('ignores thousands of unsupported keys in one notice that names a few', () => {
    const keys = Array.from({ length: 5_000 }, (_, at) => [`k${at}`, at]);
    const { notices } = read({ ...Object.fromEntries(keys), servers: {} });
    expect(notices).toEqual([
      expect.stringMatching(/ignored unsupported keys: k0, k1, .* and 4980 more$/),
    ]);
  });

  it('uses only the defaults of its inputs', () => {
    const inputs = [
      { id: 'region', default: 'eu' },
      { id: 'key', type: 'promptString' },
    ];
    const { config, disabled, notices } = read({
      inputs,
      servers: {
        a: { command: 'x', args: ['${input:region}'] },
        b: { command: 'x', args: ['${input:key}'] },
      },
    });
    expect(config.mcpServers['a']).toMatchObject({ args: ['eu'] });
    expect(disabled.get('b')).toMatch(/^servers\.b\.args\[0\] needs the input "key"/);
    expect(notices).toEqual([]);
  });

  it('loses only the servers that cannot be understood', () => {
    const { config, disabled } = read({
      mcpServers: {
        a: { type: 'websocket', url: 'ws://x/' },
        b: {},
        c: 3,
        d: { command: 'x', args: ['${NOPE}'] },
        ok: { command: 'x' },
      },
    });
    expect(Object.keys(config.mcpServers)).toEqual(['ok']);
    expect([...disabled.keys()].sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(disabled.get('a')).toContain('is "websocket": expected "stdio"');
    expect(disabled.get('b')).toContain('needs a "command"');
    expect(disabled.get('c')).toContain('mcpServers.c is 3: expected an object');
    expect(disabled.get('d')).toContain('NOPE');
  });

  it('never shows what a variable holds', () => {
    const { disabled } = read({ mcpServers: { a: { command: 'x', lazy: '${TOKEN}' } } });
    expect(disabled.get('a')).toContain('${TOKEN}');
  });

  it('keeps its names where they are legal and says how others are called', () => {
    const { config, notices } = read({
      mcpServers: {
        'My Files': { command: 'x' },
        'My-Files': { command: 'x' },
        'my-files': { command: 'x' },
      },
    });
    expect(Object.keys(config.mcpServers)).toEqual(['My-Files-2', 'My-Files', 'my-files-3']);
    expect(notices).toEqual([
      'mcp.json: the server "My Files" is called "My-Files-2" here',
      'mcp.json: the server "my-files" is called "my-files-3" here',
    ]);
  });

  it('never starts Holdfast itself as a server', () => {
    const { config, disabled } = read({
      mcpServers: { holdfast: { command: 'holdfast', args: ['connect'] } },
    });
    expect(config.mcpServers).toEqual({});
    expect(disabled.get('holdfast')).toContain('reserved for Holdfast');
  });

  it('is refused when it gives a server twice', () => {
    const text = '{"x":1,"x":2,"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}';
    expect(() => foreignConfig(parseDocument(text, 'f'), 'f', variables, readText)).toThrow(
      /^f:1:48: the key "a" is given twice: remove one$/,
    );
  });
});
