// What a new user gets wrong: each mistake is answered with one line that names the place and the
// remedy, with the right exit code, on standard error only.

import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';

/** As it stands in a config. */
const variable = (name: string) => `\${${name}}`;

describe('bad input', () => {
  let cli: CommandLine;

  beforeAll(async () => {
    cli = await commandLine();
    await mkdir(cli.file('a-directory'));
    await mkdir(cli.file('empty'));
    await cli.servers({
      files: faultyStdio(),
      absent: { command: 'no-such-command' },
      folder: { command: './a-directory' },
      lost: { command: 'node', cwd: 'nowhere' },
      helper: { command: 'node', args: ['--help'] },
      keyless: {
        command: 'node',
        args: ['-e', 'console.error("no key\\u001b[2J"); process.exit(1)'],
      },
      token: { command: 'node', env: { TOKEN: variable('env:NO_SUCH_TOKEN') } },
      off: { command: 'node', disabled: true },
    });
  });

  afterAll(() => cli[Symbol.asyncDispose]());

  it.each([
    [
      'help for an unknown command',
      'cal --help',
      2,
      /unknown command 'cal' \(did you mean call\?\)/,
    ],
    ['an unknown option', 'token add --bogus', 2, /see: holdfast token add --help/],
    [
      'an unknown server',
      'call flies/echo',
      2,
      /no server named 'flies' .*holdfast\.json; did you mean files\?/,
    ],
    ['an unknown tool', 'call files/ecko', 2, /files has no tool 'ecko'; did you mean echo\?/],
    [
      'the name that clients see',
      'call files__echo',
      2,
      /'files__echo' is the name that MCP clients see; here write: holdfast call files\/echo\n/,
    ],
    [
      'the name that clients see, in a list',
      'tools files__echo',
      2,
      /'files__echo' is the name that MCP clients see; here write: holdfast tools files\/echo\n/,
    ],
    [
      'what begins like a name that clients see',
      'call files__nope',
      2,
      /'files__nope' has no tool name: write files\/TOOL.*holdfast tools files\n/,
    ],
    [
      'a server that is not there, without a tool',
      'call somewhere',
      2,
      /no server named 'somewhere' .*there are: absent, .*off \(disabled\), token \(disabled\)/,
    ],
    ['nearly the name of a disabled server', 'call of/x', 2, /did you mean off \(disabled\)\?/],
    ['a server without a tool', 'call files', 2, /write files\/TOOL.*holdfast tools files/],
    [
      'a command that is missing',
      'call absent/x',
      3,
      /^holdfast: absent\/x: the command 'no-such-command' was not found on PATH: \/.* · next: holdfast doctor/,
    ],
    [
      'a directory as command',
      'call folder/x',
      3,
      /^holdfast: folder\/x: the command '.*a-directory' is a directory, not a program.* · next: /,
    ],
    [
      'a missing working directory',
      'call lost/x',
      3,
      /working directory '.*nowhere' does not exist: correct "cwd" of 'lost'/,
    ],
    [
      'a server that prints help and exits',
      'call helper/x',
      3,
      /^holdfast: helper exited with code 0.* · next: .*run its command by hand/,
    ],
    [
      'a server that says why it exits',
      'call keyless/x',
      3,
      /keyless did not start: no key\\x1b\[2J \(it exited with code 1\) \[unavailable\] · next: /,
    ],
    [
      'a variable that is not set',
      'call token/x',
      2,
      /token is disabled: mcpServers\.token\.env\.TOKEN needs .*NO_SUCH_TOKEN.*: set it, or .* · next: holdfast doctor/,
    ],
    [
      'a server that is switched off',
      'call off/x',
      2,
      /off is disabled: switched off by mcpServers\.off\.disabled/,
    ],
    ['no command', '', 2, /no command given.*holdfast --help/],
    [
      'an unknown command',
      'cal files/echo',
      2,
      /unknown command 'cal' \(Did you mean call\?\); see: holdfast --help/,
    ],
    [
      'an unknown option',
      'call files/echo --jsn',
      2,
      /unknown option '--jsn' \(Did you mean --json\?\); see: holdfast call --help/,
    ],
    [
      'a missing argument',
      'call',
      2,
      /missing required argument 'SERVER\/TOOL'; see: holdfast call --help/,
    ],
    [
      'a wrong number',
      'call files/echo --timeout soon',
      2,
      /'soon' is invalid. Expected a whole number of milliseconds/,
    ],
    ['too many arguments', 'status files more', 2, /too many arguments for 'status'/],
    ['help for nothing', 'help nothing', 2, /unknown help topic; see: holdfast --help/],
    [
      'the status of nobody',
      'status flies',
      2,
      /no server named 'flies'.*did you mean files\? · next: holdfast status\n/,
    ],
  ])('%s is one line on standard error #command-line', async (_what, words, code, line) => {
    const ended = await cli.run(words === '' ? [] : words.split(' '));
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: '' });
    expect(ended.stderr).toMatch(line);
    expect(ended.stderr).toMatch(/^holdfast: [^\n]*\n$/);
  });

  it('is the same as JSON where that was asked for #command-line', async () => {
    const ended = await cli.run(['call', 'flies/echo', '--json']);
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 2, stderr: '' });
    expect(JSON.parse(ended.stdout).fault).toMatchObject({ code: 'not_found', server: 'flies' });
    const usage = await cli.run(['call', '--json']);
    expect(usage.code).toBe(2);
    expect(JSON.parse(usage.stdout).fault.code).toBe('invalid_request');
  });

  it('has no stack trace unless HOLDFAST_LOG is debug #command-line', async () => {
    const debug = await cli.run(['call', 'absent/x'], { env: { HOLDFAST_LOG: 'debug' } });
    expect(debug.stderr).toMatch(/\n {4}at /);
    const loud = await cli.run(['status'], { env: { HOLDFAST_LOG: 'loud' } });
    expect({ code: loud.code, stderr: loud.stderr }).toEqual({
      code: 2,
      stderr: 'holdfast: HOLDFAST_LOG is "loud": set it to one of error, warn, info, debug\n',
    });
  });

  describe('in the config', () => {
    const configs: Record<string, [string, RegExp]> = {
      'an unknown key': [
        '{\n  "mcpServers": { "a": { "comand": "x", "command": "y" } }\n}',
        /holdfast\.json:2:26: unknown key "comand" in mcpServers\.a: did you mean "command"\?/,
      ],
      'a syntax error': ['{\n  "mcpServers": {,}\n}', /holdfast\.json:2:18: expected a value/],
      'a key given twice': [
        '{"mcpServers":{"a":{"command":"x","command":"y"}}}',
        /given twice: remove one/,
      ],
    };

    it.each(Object.keys(configs))('%s is one line with its place #config', async (name) => {
      const [text, line] = configs[name] ?? ['', /never/];
      await mkdir(cli.file('broken'), { recursive: true });
      await writeFile(cli.file('broken/holdfast.json'), text);
      for (const verb of ['status', 'tools', 'call a/b']) {
        const ended = await cli.run(verb.split(' '), { cwd: 'broken' });
        expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 2, stdout: '' });
        expect(ended.stderr).toMatch(line);
        expect(ended.stderr).toMatch(/^holdfast: [^\n]*\n$/);
      }
    });

    it.each(['', ' \n', '// servers\n'])('an empty file says so: %j #config', async (text) => {
      await using other = await commandLine();
      await writeFile(other.file('holdfast.json'), text);
      for (const verb of ['status', 'tools', 'search x', 'call a/b']) {
        const ended = await other.run(verb.split(' '));
        expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 2, stdout: '' });
        expect(ended.stderr).toMatch(
          /^holdfast: \S+holdfast\.json: the file is empty: write \{ "mcpServers": [^\n]*\n$/,
        );
      }
    });

    it('no servers is said with the file and the next step #config', async () => {
      await using other = await commandLine();
      await other.servers({});
      const words =
        /holdfast\.json[^\n]* no servers[^\n]*add one under "mcpServers", such as .*doctor/;
      for (const verb of ['status', 'tools', 'search x', 'call a/b']) {
        const { stdout, stderr } = await other.run(verb.split(' '));
        expect(stdout + stderr, verb).toMatch(words);
      }
      const serving = other.start(['serve', '--listen', '127.0.0.1:0']);
      await serving.printed('Ctrl-C');
      serving.kill('SIGTERM');
      expect((await serving.ended).stdout).toMatch(words);
    });

    it('a file that is not there says where was looked #config', async () => {
      const named = await cli.run(['status', '--config', 'none.json']);
      expect({ code: named.code, stderr: named.stderr }).toEqual({
        code: 2,
        stderr: `holdfast: ${cli.file('none.json')}: there is no such file; check the path given by --config\n`,
      });
      const byVariable = await cli.run(['status'], { env: { HOLDFAST_CONFIG: 'none.json' } });
      expect(byVariable.stderr).toBe(named.stderr.replace('--config', 'HOLDFAST_CONFIG'));
      await using other = await commandLine();
      const found = await other.run(['tools']);
      expect(found.code).toBe(2);
      expect(found.stderr).toMatch(
        /^holdfast: no holdfast\.json found: looked in .*; create one, or name a file with --config FILE\n$/,
      );
    });

    it('a file that everyone can write is not taken unless it is named #config', async () => {
      await using other = await commandLine();
      await other.servers({ files: faultyStdio() });
      await chmod(other.file('holdfast.json'), 0o666);
      const found = await other.run(['status']);
      expect(found.code).toBe(2);
      expect(found.stderr).toMatch(/can be written by everyone.*--config/);
      const named = await other.run(['status', '--config', 'holdfast.json']);
      expect(named.code).toBe(0);
    });
  });
});
