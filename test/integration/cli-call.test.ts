// `holdfast call`, as a person or a script uses it.

import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';

describe('holdfast call', () => {
  let cli: CommandLine;

  beforeAll(async () => {
    cli = await commandLine();
    await cli.servers({
      plain: faultyStdio(),
      safe: { ...faultyStdio(), tools: { slow: { replay: 'safe' } } },
      counted: faultyStdio({ starts: cli.file('starts') }),
      dying: faultyStdio({
        faults: [{ kind: 'crash-after-effect', when: 'at-call', tool: 'add' }],
      }),
    });
  });

  afterAll(() => cli[Symbol.asyncDispose]());

  const base64 = (text: string) => Buffer.from(text).toString('base64');

  it('prints the text of the answer and nothing else #command-line', async () => {
    const { code, stdout, stderr } = await cli.run(['call', 'plain/echo', 'text=hello world']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'hello world\n', stderr: '' });
  });

  it('prints the whole result byte for byte with --json #byte-exact', async () => {
    const result =
      '{"content": [ ],  "n":9007199254740993,"x":1.0,"e":1e400, "structuredContent":{"a":1,"a":2},"\\u0061":"\\ud83d"}';
    const { code, stdout } = await cli.run([
      'call',
      'plain/raw',
      `result=${base64(result)}`,
      '--json',
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${result}\n` });
  });

  it('sends a JSON argument and standard input byte for byte #byte-exact', async () => {
    const args = '{"n": 9007199254740993,  "x":1.0, "a":1,"a":2, "s":"\\u00e9\\/"}';
    for (const [words, stdin] of [
      [[args], ''],
      [['-'], args],
    ] as const) {
      const { stdout } = await cli.run(['call', 'plain/echo', ...words, '--json'], { stdin });
      expect(stdout).toContain(`"structuredContent":${args}`);
    }
  });

  it('puts key=value pairs together without touching a number #byte-exact', async () => {
    const { stdout } = await cli.run([
      'call',
      'plain/echo',
      'n=9007199254740993',
      'b=true',
      's=a b',
      '--json',
    ]);
    expect(stdout).toContain('"structuredContent":{"n":9007199254740993,"b":true,"s":"a b"}');
  });

  it('prints what a tool calls an error, says so, and exits 1 #command-line', async () => {
    const { code, stdout, stderr } = await cli.run(['call', 'plain/fail', 'text=no luck']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'no luck\n' });
    expect(stderr).toBe(
      'holdfast: plain/fail returned an error (isError) · next: holdfast tools plain/fail\n',
    );
  });

  it('relays an error of the server with exit code 1 #command-line', async () => {
    const args = ['call', 'plain/rpc_fail', 'code=-32001', 'message=nope'];
    const { code, stderr } = await cli.run(args);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'holdfast: plain/rpc_fail: nope [rpc_error] · next: holdfast tools plain/rpc_fail\n',
    });
    const { code: jsonCode, stdout } = await cli.run([...args, '--json']);
    expect(jsonCode).toBe(1);
    expect(JSON.parse(stdout).fault).toMatchObject({
      code: 'rpc_error',
      server: 'plain',
      tool: 'rpc_fail',
      rpc: { code: -32001, message: 'nope' },
    });
  });

  it('exits 5 where the outcome is unknown #command-line', async () => {
    const { code, stdout, stderr } = await cli.run(['call', 'dying/add', 'key=a', 'amount=1']);
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toMatch(
      /^holdfast: dying\/add was sent and may have run, .*not repeated.*\[outcome_unknown\].* · next: holdfast status dying\n$/,
    );
  });

  it('exits 3 where the answer takes longer than --timeout #command-line', async () => {
    const { code, stderr } = await cli.run(['call', 'plain/slow', 'ms=60000', '--timeout', '200']);
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^holdfast: plain did not answer within 200 ms.*if it needs longer, call it with a longer timeout \[timeout\] · next: holdfast status plain\n$/,
    );
    expect(stderr, 'the flag was given').not.toContain('callTimeoutMs');
    // Nobody has said that it may run twice.
    expect(stderr).toContain('may still have run; check its effect before you send it again');
  });

  it('does not warn of a repeated call where the tool is safe to repeat #command-line', async () => {
    const { code, stderr } = await cli.run(['call', 'safe/slow', 'ms=60000', '--timeout', '200']);
    expect(code).toBe(3);
    expect(stderr).toContain('may still have run; if it needs longer');
  });

  it('refuses arguments that are not JSON before anything is started #command-line', async () => {
    for (const [words, stdin] of [
      [['{"a":'], ''],
      [['[1]'], ''],
      [['word'], ''],
      [['-'], '{"a":1} x'],
    ] as const) {
      const { code, stdout, stderr } = await cli.run(['call', 'counted/echo', ...words], { stdin });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^holdfast: .*argument.*\n$/);
    }
    expect(existsSync(cli.file('starts'))).toBe(false);
  });

  it.each(['', ' \n'])('says that standard input had nothing: %j #command-line', async (stdin) => {
    const { code, stdout, stderr } = await cli.run(['call', 'counted/echo', '-'], { stdin });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'holdfast: nothing came on standard input; write one JSON object to it, {} for no arguments; see its arguments with: holdfast tools counted/echo\n',
    });
    expect(existsSync(cli.file('starts'))).toBe(false);
  });
});
