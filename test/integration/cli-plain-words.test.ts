// Small things that a person meets at a command line, each of which once said something wrong or unreadable.

import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';

/** A server with one tool of this description; it never lists its tools if there is none. */
async function tinyServer(cli: CommandLine, description: string | null): Promise<object> {
  const program = `
    import { createInterface } from 'node:readline';
    const tools = ${JSON.stringify(description === null ? null : [{ name: 'odd', description, inputSchema: { type: 'object' } }])};
    for await (const line of createInterface(process.stdin)) {
      const { id, method } = JSON.parse(line);
      const answer = (member) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...member }));
      if (method === 'initialize')
        answer({ result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 't', version: '1' } } });
      else if (method === 'tools/list' && tools) answer({ result: { tools } });
      else if (method === 'tools/list') console.error('asked for tools');
      else if (id !== undefined) answer({ error: { code: -32601, message: 'Method not found' } });
    }`;
  await writeFile(cli.file('tiny.mjs'), program);
  return { command: 'node', args: ['tiny.mjs'] };
}

describe('text from outside', () => {
  const unruly =
    'C1 \u009b31m, bidi \u202e\u2066\u200f, tags \u{e0041}\u{e0042}, a selector \u{e0100}';

  it('contains no control characters as JSON either, and means the same #command-line', async () => {
    await using cli = await commandLine();
    await cli.servers({ tiny: await tinyServer(cli, unruly) });
    for (const words of [['tools'], ['tools', 'tiny'], ['tools', 'tiny/odd'], ['search', 'bidi']]) {
      const { code, stdout } = await cli.run([...words, '--json']);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(/[\u0080-\u009f\u200f\u202e\u2066]|[\u{e0000}-\u{e0fff}]/u);
      expect(JSON.stringify(JSON.parse(stdout))).toContain('bidi');
    }
    const listed = JSON.parse((await cli.run(['tools', '--json'])).stdout);
    expect(listed.tools[0].description).toBe(unruly);
  });

  it('is never cut inside a flag #command-line', async () => {
    await using cli = await commandLine();
    for (const start of ['', 'a', 'ab', 'abc']) {
      await cli.servers({ tiny: await tinyServer(cli, `${start}${'🇩🇪'.repeat(300)} flags`) });
      for (const words of [['tools'], ['search', 'odd']]) {
        const { stdout } = await cli.run([...words, '--fresh']);
        expect(stdout).toMatch(/^tiny\/odd +[abc]*(?:🇩🇪)+…\n$/u);
      }
    }
  });
});

describe('an interrupt', () => {
  it.each([[['search', 'x']], [['tools']], [['tools', 'tiny']]])(
    'of %j is not reported as a failure of a server #command-line',
    async (words) => {
      await using cli = await commandLine();
      await cli.servers({ tiny: await tinyServer(cli, null), other: faultyStdio() });
      const started = cli.start(words, { env: { HOLDFAST_LOG: 'info' } });
      await started.said('tiny starting');
      started.kill('SIGINT');
      const { code, stdout, stderr } = await started.ended;
      expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
      expect(stderr).not.toMatch(/\[unavailable\]|\[draining\]|next:/);
    },
  );
});

describe('a config that is not JSON', () => {
  const toml = '# servers\n[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "x"]\n';

  it.each([
    ['config.toml', toml, 'TOML'],
    ['holdfast.json', toml, 'TOML'],
    ['config.yaml', 'mcpServers:\n  files:\n    command: npx\n', 'YAML'],
  ])('is reported with its format: %s with %j #command-line', async (name, text, format) => {
    await using cli = await commandLine();
    await writeFile(cli.file(name), text);
    const { code, stderr } = await cli.run(['status', '--config', name]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      new RegExp(`^holdfast: .*${name}: this is ${format}; Holdfast reads JSON`),
    );
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it('is not reported so where only a comma is missing', async () => {
    await using cli = await commandLine();
    await writeFile(cli.file('holdfast.json'), '{ "mcpServers": {} "naming": "prefix" }');
    expect((await cli.run(['status'])).stderr).toMatch(/holdfast\.json:1:\d+: expected ","/);
  });
});

describe('an old Node', () => {
  it('is reported in one line #command-line', async () => {
    await using cli = await commandLine();
    const pretend = `Object.defineProperty(process, 'version', { value: 'v18.20.8' })`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(pretend)}`;
    expect(await cli.run(['status'], { env: { NODE_OPTIONS } })).toMatchObject({
      code: 2,
      stdout: '',
      stderr:
        'holdfast: this is Node v18.20.8, which is too old for Holdfast; install Node 20.19 or later\n',
    });
  });

  it('can link everything that is loaded before that line', async () => {
    // Every Node that knows modules has these.
    const old = ['node:fs', 'node:module', 'node:v8'];
    const seen = new Set<string>();
    const follow = async (file: string): Promise<void> => {
      if (seen.has(file)) return;
      seen.add(file);
      const text = await readFile(file, 'utf8');
      for (const [, name = ''] of text.matchAll(/^(?:import|export)\b[^'"(]*["']([^"']+)["']/gm)) {
        if (name.startsWith('.')) await follow(join(dirname(file), name));
        else expect(old, file).toContain(name);
      }
    };
    await follow(mainProgram);
    expect(seen.size).toBeLessThan(6);
  });
});

describe('two configs of one user', () => {
  it('show only the events of their own servers #command-line', async () => {
    await using cli = await commandLine();
    await cli.servers({ same: faultyStdio() }, 'one.json');
    await cli.servers({ same: { command: 'no-such-command' } }, 'two.json');
    const storyOf = async (config: string) =>
      (await cli.run(['status', 'same', '--config', config])).stdout;
    await cli.run(['call', 'same/echo', 'text=hi', '--config', 'one.json']);
    await cli.run(['call', 'same/echo', 'text=hi', '--config', 'two.json']);
    expect(await storyOf('one.json')).toMatch(/^\S+ +call +echo ok in /m);
    expect(await storyOf('one.json')).not.toContain('no-such-command');
    expect(await storyOf('two.json')).toContain('no-such-command');
    expect(await storyOf('two.json')).not.toMatch(/call +echo ok in /);
    const below = await cli.run(['status', 'same', '--config', './home/../one.json']);
    expect(below.stdout).toMatch(/^\S+ +call +echo ok in /m);
  });
});

describe('a command that is not found', () => {
  it('is not retryable, and shows a readable PATH #command-line', async () => {
    await using cli = await commandLine();
    await cli.servers({ absent: { command: 'no-such-command' } });
    const folders = Array.from({ length: 60 }, (_, index) => `/opt/some-tool-${index}/bin`);
    const PATH = [process.env['PATH'], ...folders].join(':');
    const { stdout } = await cli.run(['call', 'absent/x', '--json'], { env: { PATH } });
    const { fault } = JSON.parse(stdout);
    expect(fault).toMatchObject({ code: 'unavailable', retryable: false, dispatched: 'no' });
    expect(fault.detail).toMatch(/PATH: \/.*:… \(\d+ folders\)$/);
    expect(fault.detail.length).toBeLessThan(250);
  });
});
