// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the forms are the subject
// Values from files and commands, from holdfast.json to the real process and the real request: read
// anew for each start, never shown, and a cause that a person finds when one cannot be had.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { outputOf } from '../../src/host/servers/secret-command.ts';
import { Fault } from '../../src/kernel/fault.ts';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { newSpawner } from '../support/recorded-child.ts';
import { newTag, sleeper, sleepersWith, stillAlive } from '../support/sleepers.ts';
import { until } from '../support/until.ts';

async function valuesIn(cli: CommandLine, names: readonly string[]) {
  const words = ['call', 'it/whoami', `valuesOf=${JSON.stringify(names)}`, '--json'];
  const { stdout, stderr } = await cli.run(words, { env: { CANARY: 'of-the-user' } });
  expect(stderr).toBe('');
  return JSON.parse(stdout).structuredContent.values;
}

describe('a value from a file or a command', () => {
  it('reaches the process, without one line end, and is not read again #late-secrets', async () => {
    await using cli = await commandLine();
    await writeFile(cli.file('key'), 'from ${HOME} ${cmd:touch evil}\n\n', { mode: 0o600 });
    await writeFile(cli.file('crlf'), 'two\nlines\r\n', { mode: 0o644 });
    const env = {
      FILE: 'a-${file:key}-b',
      CRLF: '${file:crlf}',
      WORDS: "${cmd:printf %s.%s. 'one; $HOME' `two`}",
      ENVIRONMENT: '${cmd:env}',
      INPUT: "${cmd:sh -c 'cat; echo end'}",
      FOLDER: '${cmd:pwd}',
    };
    await cli.servers({ it: { ...faultyStdio(), env } });
    const values = await valuesIn(cli, Object.keys(env));
    expect(values).toMatchObject({
      FILE: 'a-from ${HOME} ${cmd:touch evil}\n-b',
      CRLF: 'two\nlines',
      WORDS: 'one; $HOME.`two`.',
      INPUT: 'end',
      FOLDER: cli.folder,
    });
    expect(values.ENVIRONMENT).toMatch(/^PATH=/m);
    expect(values.ENVIRONMENT).not.toContain('CANARY');
  });

  it('is read anew for each start: a secret that was replaced is used #late-secrets', async () => {
    await using cli = await commandLine();
    await writeFile(cli.file('key'), 'first-value', { mode: 0o600 });
    const env = { KEY: '${file:key}', OUT: '${cmd:cat key}' };
    await cli.servers({ it: { ...faultyStdio(), env } });
    const serving = cli.start(['serve', '--listen', '127.0.0.1:0', '--json']);
    await serving.printed('\n');
    expect(await valuesIn(cli, ['KEY', 'OUT'])).toEqual({ KEY: 'first-value', OUT: 'first-value' });
    await writeFile(cli.file('key'), 'second-value');
    // The same process as before.
    expect(await valuesIn(cli, ['KEY'])).toEqual({ KEY: 'first-value' });
    expect((await cli.run(['reload', 'it'])).code).toBe(0);
    const replaced = { KEY: 'second-value', OUT: 'second-value' };
    expect(await valuesIn(cli, ['KEY', 'OUT'])).toEqual(replaced);
    serving.kill('SIGTERM');
    expect((await serving.ended).code).toBe(0);
  });

  it('is sent as a header #late-secrets', async () => {
    const heard: IncomingHttpHeaders[] = [];
    const http = createServer((request, response) => {
      heard.push(request.headers);
      response.writeHead(401).end();
    });
    await once(http.listen(0, '127.0.0.1'), 'listening');
    const { port } = http.address() as AddressInfo;
    await using cli = await commandLine();
    await writeFile(cli.file('key'), 'key-0815\n', { mode: 0o600 });
    const headers = { Authorization: 'Bearer ${file:key}', 'X-Also': '${cmd:echo also-this}' };
    await cli.servers({ it: { url: `http://127.0.0.1:${port}/mcp`, headers } });
    await cli.run(['call', 'it/x']);
    expect(heard[0]).toMatchObject({ authorization: 'Bearer key-0815', 'x-also': 'also-this' });
    await writeFile(cli.file('key'), 'key-0815\nX-Evil: 1');
    const { code, stderr } = await cli.run(['call', 'it/x']);
    expect(code).toBe(3);
    expect(stderr).toContain(
      'header Authorization would have characters that header values cannot',
    );
    expect(stderr).not.toContain('0815');
    http.close();
  });
});

describe('a value that cannot be had', () => {
  const bad = async (cli: CommandLine, name: string, content: string, mode: number) => {
    await writeFile(cli.file(name), content);
    await chmod(cli.file(name), mode);
  };

  it('is the cause of a start that failed, in the call, status and doctor #late-secrets', async () => {
    await using cli = await commandLine();
    await bad(cli, 'writable', 'canary-1', 0o620);
    await bad(cli, 'world', 'canary-2', 0o602);
    await bad(cli, 'large', 'canary-3'.repeat(8_193), 0o600);
    await bad(cli, 'binary', '\u0000', 0o600);
    await writeFile(cli.file('latin'), Buffer.from([0xe9, 0x63]), { mode: 0o600 });
    await bad(cli, 'empty', '\n', 0o600);
    spawnSync('mkfifo', [cli.file('pipe')]);
    const cases: Readonly<Record<string, readonly [form: string, cause: string]>> = {
      missing: ['${file:none}', `the file ${cli.file('none')}, for env KEY, does not exist`],
      writable: ['${file:writable}', 'can be written by other users: remove that with chmod go-w'],
      world: ['${file:world}', 'can be written by other users'],
      large: ['${file:large}', 'has more than 65536 bytes'],
      folder: ['${file:.}', 'is not a regular file'],
      pipe: ['${file:pipe}', 'is not a regular file'],
      device: ['${file:/dev/zero}', 'is not a regular file'],
      latin: ['${file:latin}', 'is not UTF-8 text'],
      binary: ['${file:binary}', 'env KEY would have characters that env values cannot have'],
      empty: ['${file:empty}', 'is empty'],
      absent: [
        '${cmd:no-such-program x}',
        "for env KEY: the command 'no-such-program' was not found on PATH",
      ],
      failing: [
        "${cmd:sh -c 'echo canary-4; echo canary-5 >&2; exit 3'}",
        'the command sh, for env KEY, ended with exit code 3: run it by hand to see why',
      ],
      killed: ["${cmd:sh -c 'kill -9 $$'}", 'was ended by SIGKILL'],
      flood: ["${cmd:sh -c 'yes canary-6'}", 'printed more than 65536 bytes'],
      silent: ['${cmd:true}', 'the output of true, for env KEY, is empty'],
    };
    const servers = Object.entries(cases).map(([name, [form]]) => {
      return [name, { ...faultyStdio(), env: { KEY: form } }] as const;
    });
    await cli.servers({ ...Object.fromEntries(servers), good: faultyStdio() });
    const doctor = await cli.run(['doctor']);
    const shown = [doctor.stdout, doctor.stderr];
    for (const [name, [, cause]] of Object.entries(cases)) {
      expect(doctor.stdout).toMatch(new RegExp(`^\\S+ +${name} .*${escaped(cause)}`, 'm'));
    }
    expect(doctor.stdout).toMatch(/^\S+ +good .*ready in/m);
    expect(doctor.stdout).not.toContain('run it by hand: cd ');
    expect(doctor.stdout).toContain('correct that value in the config');
    const { code, stdout } = await cli.run(['call', 'failing/echo', '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout).fault).toMatchObject({ code: 'unavailable', dispatched: 'no' });
    const status = await cli.run(['status', 'failing']);
    expect(status.stdout).toContain(cases['failing']?.[1]);
    expect([...shown, stdout, status.stdout].join()).not.toMatch(/canary-\d/);
  });

  it.skipIf(process.getuid?.() !== 0)('may be a file of another user', async () => {
    await using cli = await commandLine();
    await bad(cli, 'theirs', 'canary-1', 0o644);
    await chown(cli.file('theirs'), 65_534, 65_534);
    await cli.servers({ it: { ...faultyStdio(), env: { KEY: '${file:theirs}' } } });
    const { code, stderr } = await cli.run(['call', 'it/echo']);
    expect({ code, stderr }).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('belongs to another user'),
    });
  });
});

describe('a command for a value', () => {
  const run = (tag: string) => ({
    ...{ name: 'it', command: '/bin/sh', args: ['-c', `${sleeper} ${tag} & ${sleeper} ${tag}`] },
    ...{ env: {}, inheritEnv: [], cwd: '/', memoryMb: null, processes: null },
  });

  it('is ended with everything it started when its time is over #late-secrets', async () => {
    await using spawner = newSpawner();
    const clock = new ManualClock();
    const tag = newTag();
    const { signal } = new AbortController();
    const limits = { ms: 10_000, bytes: 100 };
    const outcome = outputOf({ spec: run(tag), spawn: spawner.spawn, clock, signal, ...limits });
    const sleepers = await sleepersWith(tag, 2);
    // They run before its time begins.
    await until(() => clock.pending > 0, 'its time has begun');
    clock.advance(9_999);
    expect(await stillAlive(sleepers)).toHaveLength(2);
    clock.advance(1);
    expect(await outcome).toEqual({ kind: 'failed', cause: 'did not end within 10000 ms' });
    expect(await stillAlive(sleepers)).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('is ended when the start is given up #late-secrets', async () => {
    await using spawner = newSpawner();
    const clock = new ManualClock();
    const tag = newTag();
    const stop = new AbortController();
    const rest = { clock, signal: stop.signal, ms: 10_000, bytes: 100 };
    const outcome = outputOf({ spec: run(tag), spawn: spawner.spawn, ...rest });
    const sleepers = await sleepersWith(tag, 2);
    const reason = new Fault('cancelled', 'not needed', { server: 'it' });
    stop.abort(reason);
    await expect(outcome).rejects.toBe(reason);
    expect(await stillAlive(sleepers)).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
