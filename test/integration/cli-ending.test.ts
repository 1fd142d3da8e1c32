// How commands end when they are not left to end by themselves: interrupted once or twice, or with
// nobody reading what they print. No process is left behind; `no-survivors` looks after this file.

import { open, readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';

describe('the end of a command', () => {
  let cli: CommandLine;
  /** Takes long to stop. */
  const stubborn = faultyStdio({
    faults: [
      { kind: 'ignore-eof', when: 'at-start' },
      { kind: 'ignore-term', when: 'at-start' },
    ],
  });
  const talkative = { env: { HOLDFAST_LOG: 'info' } };

  beforeAll(async () => {
    cli = await commandLine();
    await cli.servers({
      plain: faultyStdio(),
      many: faultyStdio({ faults: [{ kind: 'many-tools', when: 'at-start', count: 5000 }] }),
      lingering: faultyStdio({ faults: [{ kind: 'ignore-eof', when: 'at-start' }] }),
      stubborn,
    });
  });

  afterAll(() => cli[Symbol.asyncDispose]());

  it('an interrupt cancels the call, stops its server and exits 130 #command-line', async () => {
    const { said, kill, ended } = cli.start(['call', 'plain/slow', 'ms=60000'], talkative);
    await said('plain ready');
    kill('SIGINT');
    const { code, signal, stdout } = await ended;
    expect({ code, signal, stdout }).toEqual({ code: 130, signal: null, stdout: '' });
    const log = await readFile(cli.file('state/events.jsonl'), 'utf8');
    expect(log).toMatch(/"kind":"stopped","server":"plain"[^\n]*\n$/);
  });

  it('a termination does the same with 143 #command-line', async () => {
    const { said, kill, ended } = cli.start(['call', 'plain/slow', 'ms=60000'], talkative);
    await said('plain ready');
    kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 143, signal: null });
  });

  it('a second interrupt ends it at once, and the server with it #command-line', async () => {
    const { said, kill, ended } = cli.start(['call', 'stubborn/slow', 'ms=60000'], talkative);
    await said('stubborn ready');
    kill('SIGINT');
    await said('stubborn stopping');
    kill('SIGINT');
    const { code, signal, stderr } = await ended;
    // A shell reports 130, as for any program that a signal has ended.
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGINT' });
    expect(stderr).not.toContain('stubborn stopped');
  });

  it('what failed is printed before the servers are stopped #command-line', async () => {
    const call = ['call', 'stubborn/slow', 'ms=60000', '--timeout', '300'];
    const { said, kill, ended } = cli.start(call, talkative);
    await said('did not answer within 300 ms');
    kill('SIGINT');
    kill('SIGTERM');
    const { stderr } = await ended;
    expect(stderr).not.toContain('stubborn stopped');
    expect(stderr.match(/did not answer/g)).toHaveLength(1);
  });

  it('as JSON it is one document, printed before the servers are stopped #command-line', async () => {
    const call = ['call', 'stubborn/slow', 'ms=60000', '--timeout', '300', '--json'];
    const { printed, kill, ended } = cli.start(call, talkative);
    await printed('"fault"');
    kill('SIGINT');
    kill('SIGTERM');
    const { stdout, stderr } = await ended;
    expect(stderr).not.toContain('stubborn stopped');
    expect(JSON.parse(stdout).fault).toMatchObject({ code: 'timeout', dispatched: 'maybe' });
  });

  it('a failure that was printed keeps its exit code #command-line', async () => {
    const call = ['call', 'lingering/slow', 'ms=60000', '--timeout', '300'];
    const { said, kill, ended } = cli.start(call, talkative);
    await said('did not answer within 300 ms');
    kill('SIGINT');
    const { code, stderr } = await ended;
    expect({ code, isStopped: stderr.includes('lingering stopped') }).toEqual({
      code: 3,
      isStopped: true,
    });
  });

  it('a second interrupt does not hide that the call may have run #command-line', async () => {
    const { said, kill, ended } = cli.start(['call', 'stubborn/slow', 'ms=60000'], talkative);
    await said('stubborn ready');
    kill('SIGINT');
    await said('stubborn/slow had been sent and may have run');
    kill('SIGINT');
    const { signal, stdout, stderr } = await ended;
    expect({ signal, stdout }).toEqual({ signal: 'SIGINT', stdout: '' });
    expect(stderr).toMatch(/had been sent and may have run\n(.*\n)*holdfast: stopped at once\n$/);
    expect(stderr).not.toContain('stubborn stopped');
  });

  it('a gateway that cannot listen says so before it stops its servers #command-line', async () => {
    await using other = await commandLine();
    await other.servers({ stubborn: { ...stubborn, lazy: false } });
    // An address that no machine has.
    const words = ['serve', '--listen', '192.0.2.1:4200'];
    const { code, stderr } = await other.run(words, talkative);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^holdfast: cannot listen on .*\n(.*\n)*holdfast: stubborn stopping/m);
  });

  it('an interrupt ends a watch with exit code 0 #command-line', async () => {
    const { printed, kill, ended } = cli.start(['status', '--watch']);
    await printed('stubborn');
    kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it('a watch shows what happens meanwhile #command-line', async () => {
    const { printed, kill, ended } = cli.start(['status', 'plain', '--watch', '--json']);
    await printed('"timeline"');
    await cli.run(['call', 'plain/set', 'key=a', 'value=1']);
    await printed('"tool":"set"');
    kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0 });
  });

  it('a reader that goes away is no failure #command-line', async () => {
    const { printed, stopReading, ended } = cli.start(['tools', 'many']);
    await printed('many/');
    stopReading();
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it('output that cannot be written is a failure #command-line', async () => {
    await using full = await open('/dev/full', 'w');
    const { code, stderr } = await cli.run(['call', 'plain/echo', 'text=hi'], {
      stdoutFd: full.fd,
    });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        'holdfast: the output could not be written (ENOSPC); check the disk or the pipe that it goes to\n',
    });
  });

  it('without a usable state directory it works all the same, and says so #command-line', async () => {
    await writeFile(cli.file('a-file'), '');
    const { code, stdout, stderr } = await cli.run(['call', 'plain/echo', 'text=hi'], {
      env: { HOLDFAST_STATE: cli.file('a-file/state') },
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hi\n' });
    expect(stderr).toMatch(
      /^holdfast: the state directory .* cannot be used \([A-Z]+\).*doctor\n$/,
    );
  });
});
