// `holdfast logs`, and what a person sees in a terminal: a narrow one, a pipe, and Ctrl-C.

import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { ctrlC, Terminal } from '../support/terminal.ts';
import { until } from '../support/until.ts';

/** Copies a file to its stderr, line by line, as it grows; and prints on stdout what is no MCP. */
const noisy = `
  const { readFileSync } = require('node:fs');
  const { createInterface } = require('node:readline');
  console.log('a banner');
  let seen = 0;
  setInterval(() => {
    const text = readFileSync(process.argv[1], 'utf8');
    process.stderr.write(text.slice(seen));
    seen = text.length;
  }, 20);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const serverInfo = { name: 'noisy', version: '1' };
    const result = method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
      : method === 'tools/list'
        ? { tools: [{ name: 'go', inputSchema: { type: 'object' } }] }
        : { content: [] };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
`;

const secret = 'hunter2-hunter2';

describe('logs', () => {
  let home: GatewayHome;
  let served: Awaited<ReturnType<GatewayHome['serve']>>;
  let script: string;

  beforeAll(async () => {
    home = await GatewayHome.create();
    script = home.file('script');
    writeFileSync(script, 'first line\n');
    const entry = { command: process.execPath, args: ['-e', noisy, script] };
    await home.configure({
      mcpServers: { noisy: { ...entry, env: { API_KEY: secret } }, still: faultyStdio() },
    });
    served = await home.serve();
    using client = new HttpClient(served.url);
    await client.call('noisy__go');
    await until(async () => (await logs('noisy')).stdout.includes('first line'), 'it has written');
  });

  afterAll(async () => {
    await served.stop();
    await home[Symbol.asyncDispose]();
  });

  const logs = (...args: string[]) => home.run(['logs', ...args]);
  const terminal = (args: readonly string[], columns = 40) => {
    const { env, folder: cwd, configFile } = home;
    const words = [mainProgram, ...args, '--config', configFile];
    return new Terminal({ args: words, env, cwd, columns, rows: 12 });
  };

  it('shows what a server has written that is not MCP #command-line', async () => {
    const { code, stdout, stderr } = await logs('noisy');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^--- process \d+\n\d\d:\d\d:\d\d stdout: a banner\n/);
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d first line$/m);
  });

  it('has one JSON object for each line with --json #command-line', async () => {
    const { stdout } = await logs('noisy', '--json');
    const [banner] = stdout.split('\n').map((line) => (line === '' ? null : JSON.parse(line)));
    expect(banner).toEqual({
      at: expect.any(Number),
      pid: expect.any(Number),
      stream: 'stdout',
      text: 'a banner',
    });
  });

  it('shows no secret and no control character #stderr-guarded', async () => {
    appendFileSync(script, `the key is ${secret}, \u001b[31mred\u001b[0m\n`);
    await until(async () => (await logs('noisy')).stdout.includes('the key'), 'it is written');
    const { stdout } = await logs('noisy');
    expect(stdout).not.toContain(secret);
    expect(stdout).toContain('\\x1b[31mred');
  });

  it('of a server that has written nothing, or is not there, says so #command-line', async () => {
    const still = await logs('still');
    expect([still.code, still.stdout]).toEqual([0, '']);
    expect(still.stderr).toContain('still has written nothing since the instance was started');
    const wrong = await logs('nosy');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('noisy')]);
  });

  it('without an instance says how to get one #command-line', async () => {
    await using other = await GatewayHome.create({ mcpServers: { s: { command: 'x' } } });
    const { code, stderr } = await other.run(['logs', 's']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('holdfast serve')]);
  });

  it('follows, in a narrow terminal, until Ctrl-C #command-line', async () => {
    const screen = terminal(['logs', 'noisy', '-f']);
    await screen.showed('first line');
    const long = 'long '.repeat(20).trim();
    appendFileSync(script, `while it is watched\n${long}\n`);
    await screen.showed('while it is watched');
    await screen.showed(long);
    screen.type(ctrlC);
    expect(await screen.ended()).toBe(0);
  });

  it('follows into a pipe, and ends when nobody reads #command-line', async () => {
    const words = [mainProgram, 'logs', 'noisy', '-f', '--config', home.configFile];
    const child = spawn(process.execPath, words, { env: home.env });
    const started = new Started(child);
    await started.printed('first line');
    child.stdout.destroy();
    const writing = setInterval(() => appendFileSync(script, 'more\n'), 50);
    try {
      expect(await started.ended).toMatchObject({ code: 0 });
    } finally {
      clearInterval(writing);
    }
  });

  it('follows over a restart of the server: another process begins #command-line', async () => {
    const screen = terminal(['logs', 'noisy', '-f']);
    await screen.showed('first line');
    await home.run(['reload', 'noisy']);
    using client = new HttpClient(served.url);
    await client.call('noisy__go');
    const processes = () => screen.lines.filter((line) => line.startsWith('--- process')).length;
    await until(() => processes() === 2, 'the other process is shown');
    screen.type(ctrlC);
    expect(await screen.ended()).toBe(0);
  });

  it('status --watch fits a terminal of 40 columns, and ends with Ctrl-C #command-line', async () => {
    const screen = terminal(['status', '--watch']);
    await screen.showed('Press Ctrl-C to stop');
    const page = screen.lines.slice(0, -1);
    expect(page.filter((line) => line.length > 40)).toEqual([]);
    expect(page.join('\n')).toContain('noisy');
    screen.type(ctrlC);
    expect(await screen.ended()).toBe(0);
  });
});
