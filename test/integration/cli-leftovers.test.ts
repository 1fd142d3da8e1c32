// Messages that once sent a person the wrong way: next steps about another config, failures that were mended,
// processes that have ended, names that were cut.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { statusOf } from '../support/connect-window.ts';
import { faultyHttp, faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { pathWithoutUnshare } from '../support/path-without-unshare.ts';
import { Terminal } from '../support/terminal.ts';

describe('the next step', () => {
  let cli: CommandLine;

  beforeAll(async () => {
    cli = await commandLine();
    const broken = { command: 'no-such-command' };
    await cli.servers({ good: faultyStdio(), broken }, 'my other.json');
    await cli.servers({}, 'empty.json');
  });

  afterAll(() => cli[Symbol.asyncDispose]());

  it.each([
    [['status']],
    [['shutdown']],
    [['logs', 'good']],
    [['call', 'broken/x']],
    [['call', 'good/nothing']],
    [['call', 'good/fail', 'text=no']],
    [['tools', 'good/nothing']],
    [['check', 'good/nothing', '--wait', '20']],
    [['search', 'xyzzy']],
    [['stop', 'nope']],
  ])('of %j is about the config that was named #command-line', async (words) => {
    const { stdout, stderr } = await cli.run([...words, '--config', 'my other.json']);
    const named = /holdfast (?:serve|status|doctor|tools)\b( --config 'my other\.json')?/g;
    const steps = [...`${stdout}${stderr}`.matchAll(named)];
    expect(steps.length, stderr).toBeGreaterThan(0);
    for (const [step, option] of steps) expect(option, step).toBeDefined();
    const json = await cli.run([...words, '--config', 'my other.json', '--json']);
    for (const [step, option] of json.stdout.matchAll(named)) expect(option, step).toBeDefined();
  });

  it('of doctor and of an empty config is, too #command-line', async () => {
    for (const words of [['doctor'], ['status'], ['tools']]) {
      const { stdout, stderr } = await cli.run([...words, '--config', 'empty.json']);
      expect(stdout + stderr).toContain('then: holdfast doctor --config empty.json');
    }
  });
});

describe('LATEST in status', () => {
  it('shows no process that has ended, and no failure that the config has mended #command-line', async () => {
    await using cli = await commandLine();
    await cli.servers({ one: faultyStdio(), two: { command: 'no-such-command' } });
    await cli.run(['tools']);
    const before = await cli.run(['status']);
    expect(before.stdout).toMatch(/^one .* ago · ready: in \S+ ms · modern 2026-07-28$|just now/m);
    expect(before.stdout).not.toMatch(/ pid \d/);
    expect(before.stdout).toMatch(/^two .*no-such-command/m);
    await cli.servers({ one: faultyStdio(), two: faultyStdio() });
    const after = await cli.run(['status']);
    expect(after.stdout).toMatch(/^two +idle +stdio +not used since its entry was changed$/m);
    const json = JSON.parse((await cli.run(['status', 'two', '--json'])).stdout);
    expect(json.servers[0]).toMatchObject({ cause: null, stderr: [] });
    expect(JSON.stringify(json.timeline)).toContain('no-such-command');
    expect(JSON.stringify(json.timeline)).not.toContain('"spec"');
    await cli.run(['tools', 'two', '--fresh']);
    expect((await cli.run(['status'])).stdout).toMatch(/^two .*· ready: in/m);
  });
});

describe('a running gateway', () => {
  let home: GatewayHome;
  let served: Served;
  let remote: Awaited<ReturnType<typeof faultyHttp>>;

  beforeAll(async () => {
    remote = await faultyHttp();
    home = await GatewayHome.create();
    const servers = { files: faultyStdio(), off: { ...faultyStdio(), disabled: true } };
    await home.configure({ mcpServers: { ...servers, far: { url: remote.url } } });
    served = await home.serve();
  });

  afterAll(async () => {
    await served.stop();
    await home[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await home.run(args);
    return `${code} ${stdout}${stderr}`;
  };

  it('says what was done to a server that was not running, or is disabled #command-line', async () => {
    expect(await said('stop', 'files')).toBe('0 files was not running\n');
    expect(await said('reload', 'files')).toMatch(/^0 files was not running; its failures are/);
    await home.run(['start', 'files']);
    expect(await said('reload', 'files')).toBe('0 files is reloaded\n');
    for (const verb of ['stop', 'reload', 'start']) {
      expect(await said(verb, 'off')).toMatch(/^2 holdfast: off is disabled: switched off by /);
    }
  });

  it('says of a remote server that its log is elsewhere, and does not follow it #command-line', async () => {
    for (const more of [[], ['-f']]) {
      expect(await said('logs', 'far', ...more)).toMatch(
        /^0 holdfast: far is a remote server \(http\): it writes its log where it runs; .*holdfast status --config \S+ far\n$/,
      );
    }
  });
});

describe('search', () => {
  it.each(['', ' ', '!?'])(
    'for %j is a wrong use, and starts nothing #command-line',
    async (words) => {
      await using cli = await commandLine();
      await cli.servers({ good: faultyStdio() });
      const { code, stderr } = await cli.run(['search', words]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('has no word to search for')]);
      expect(JSON.parse((await cli.run(['search', words, '--json'])).stdout).fault.code).toBe(
        'invalid_request',
      );
      expect((await cli.run(['status'])).stdout).toMatch(/^good .*not used yet$/m);
    },
  );
});

describe('doctor', () => {
  it('replaces secrets, and not its own words that a setting happens to be #command-line', async () => {
    await using cli = await commandLine();
    const env = { MODE: 'command', MY_TOKEN: 'correct', LONG: 'value-1234567' };
    const args = ['--token', 'correct', '--long', 'value-1234567'];
    await cli.servers({ s: { command: 'no-such-command', args, env } });
    const { stdout } = await cli.run(['doctor']);
    expect(stdout).toContain("the command 'no-such-command' was not found");
    expect(stdout).not.toContain('[env MODE]');
    await cli.servers({ s: { command: 'false', args, env } });
    const started = (await cli.run(['doctor'])).stdout;
    expect(started).toMatch(/--token '?\[env MY_TOKEN\]'? --long '?\[env LONG\]/);
    expect(started).not.toContain('value-1234567');
  });
});

describe('the state directory', () => {
  it.each([true, false])(
    'is said to be hidden from a server only if it is: %s #one-instance #command-line',
    async (isHidden) => {
      await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
      const PATH = isHidden ? home.env['PATH'] : pathWithoutUnshare(home.file('path'));
      await using _served = await home.serve(undefined, { PATH: PATH ?? '' });
      await home.run(['start', 'files']);
      expect((await statusOf(home))['servers'][0].stateHidden).toBe(isHidden);
      const told = 'The state directory and the control socket are not hidden from: files';
      expect((await home.run(['status'])).stdout.includes(told)).toBe(!isHidden);
      const one = (await home.run(['status', 'files'])).stdout;
      expect(one.includes('can see the state directory')).toBe(!isHidden);
    },
  );

  it('is said by doctor to be hidden or not #command-line', async () => {
    await using cli = await commandLine();
    await cli.servers({ files: faultyStdio() });
    for (const isStarted of [false, true]) {
      if (isStarted) await cli.run(['tools']);
      const usual = await cli.run(['doctor']);
      expect(usual.stdout).toMatch(
        /^✓ isolation +the state directory .* are hidden from servers$/m,
      );
    }
    const env = { PATH: pathWithoutUnshare(cli.file('path')) };
    const without = await cli.run(['doctor'], { env });
    expect(without.stdout).toMatch(/^· isolation +the state directory .* are not hidden/m);
  });
});

describe('tools in 40 columns', () => {
  it('shows names whole; ages and descriptions get what is left #command-line', async () => {
    await using cli = await commandLine();
    await cli.servers({ 'a-server-with-a-name': faultyStdio() });
    await cli.run(['tools']);
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: cli.file('home'), HOLDFAST_STATE: cli.file('state') };
    const args = [mainProgram, 'tools'];
    const screen = new Terminal({ args, env, cwd: cli.folder, columns: 40, rows: 40 });
    expect(await screen.ended()).toBe(0);
    const lines = screen.lines.filter((line) => line.startsWith('a-server'));
    expect(lines.join('\n')).toContain('a-server-with-a-name/received');
    expect(lines.filter((line) => line.length > 40 || /name\/\w*…/.test(line))).toEqual([]);
  });
});
