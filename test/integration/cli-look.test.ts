// The commands that look around: tools, search, status and doctor.

import { appendFile, chmod, readdir, stat } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { faultyHttp, faultyStdio } from '../support/faulty.ts';

/** As it stands in a config. */
const variable = (name: string) => `\${${name}}`;

describe('looking around', () => {
  let cli: CommandLine;

  beforeAll(async () => {
    cli = await commandLine();
    await cli.servers({
      good: { ...faultyStdio(), tools: { get: { replay: 'safe' } } },
      trusted: { ...faultyStdio(), trusted: true },
      broken: { command: 'no-such-command' },
      token: { command: 'node', env: { TOKEN: variable('env:NO_SUCH_TOKEN') } },
      off: { command: 'node', disabled: true },
    });
    await cli.servers({ broken: { command: 'no-such-command' } }, 'only-broken.json');
    await cli.servers({ good: faultyStdio() }, 'only-good.json');
  });

  afterAll(() => cli[Symbol.asyncDispose]());

  it('lists all tools, with one line on standard error for each server that fails #command-line', async () => {
    const { code, stdout, stderr } = await cli.run(['tools']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^good\/echo +Returns its arguments/m);
    expect(stdout).toMatch(/^trusted\/add +\S/m);
    const complaints = stderr.trimEnd().split('\n');
    expect(complaints).toHaveLength(2);
    expect(complaints[0]).toMatch(/^holdfast: broken: the command 'no-such-command' was not found/);
    expect(complaints[1]).toMatch(/^holdfast: token is disabled: .*NO_SUCH_TOKEN/);
  });

  it('exits 3 only if no server could be asked #command-line', async () => {
    const { code, stdout, stderr } = await cli.run(['tools', '--config', 'only-broken.json']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/^holdfast: broken: .*\n$/);
  });

  it('lists as JSON in one shape, with the faults inside #command-line', async () => {
    const { code, stdout, stderr } = await cli.run(['tools', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { tools, errors } = JSON.parse(stdout);
    expect(tools[0]).toMatchObject({
      server: 'good',
      name: 'echo',
      inputSchema: { type: 'object' },
    });
    expect(errors).toMatchObject([{ code: 'unavailable', server: 'broken' }]);
    const one = JSON.parse((await cli.run(['tools', 'good', '--json'])).stdout);
    expect(one.tools[0]).toMatchObject({ server: 'good', name: 'echo' });
    expect(one.errors).toEqual([]);
  });

  it.each([
    ['good/get', 'safe: set in the config'],
    ['trusted/get', 'safe: the server is trusted and the tool has readOnlyHint'],
    ['good/echo', 'never: the tool has readOnlyHint, but good is not trusted; set "trusted": true'],
    ['trusted/add', 'never: the tool is not known to be safe to repeat'],
  ])('shows %s with its schema and its replay contract #command-line', async (address, replay) => {
    const { code, stdout } = await cli.run(['tools', address]);
    expect(code).toBe(0);
    expect(stdout).toContain(`${address}\n`);
    expect(stdout).toContain('"type": "object"');
    expect(stdout).toContain(`Replay\n${replay}`);
  });

  it('finds tools by words #command-line', async () => {
    const { code, stdout } = await cli.run(['search', 'arguments', 'byte', '--limit', '1']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^good\/echo +\S[^\n]*\n$/);
    const json = JSON.parse((await cli.run(['search', 'xyzzy', '--json'])).stdout);
    expect(json).toMatchObject({ hits: [], total: 0, errors: [{ server: 'broken' }] });
    const nothing = await cli.run(['search', 'xyzzy', '--config', 'only-good.json']);
    expect(nothing).toMatchObject({ code: 0, stdout: '' });
    expect(nothing.stderr).toBe(
      "holdfast: no tool matches 'xyzzy'; list all tools with: holdfast tools --config only-good.json\n",
    );
  });

  it('takes the file of another client as it is #config', async () => {
    const foreign = { ...faultyStdio(), type: 'stdio', gallery: true };
    await cli.servers({ 'my server': foreign }, 'mcp.json');
    const { code, stdout, stderr } = await cli.run([
      'call',
      'my-server/echo',
      'text=hi',
      '--config',
      'mcp.json',
    ]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'hi\n', stderr: '' });
  });

  describe('status', () => {
    it('tells idle and disabled servers with their cause, and changes nothing #command-line', async () => {
      await using other = await commandLine();
      await other.servers({ good: faultyStdio(), token: { command: variable('NO_SUCH_COMMAND') } });
      const { code, stdout, stderr } = await other.run(['status']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Holdfast \S+ · 2 servers · .*holdfast\.json$/m);
      expect(stdout).toMatch(/\nNo instance of this config is running: .*holdfast serve\n$/);
      expect(stdout).toMatch(/^good +idle +stdio +not used yet$/m);
      expect(stdout).toMatch(
        /^token +disabled +stdio +mcpServers\.token\.command needs .*NO_SUCH_COMMAND/m,
      );
      expect(await readdir(other.folder)).not.toContain('state');
    });

    it('has the shape of the contract as JSON #command-line', async () => {
      const status = JSON.parse((await cli.run(['status', '--json'])).stdout);
      expect(status).toMatchObject({ instance: null, rollout: 'stable', calls: { total: 0 } });
      expect(status.servers.map(({ name }: { name: string }) => name)).toEqual([
        'broken',
        'good',
        'off',
        'token',
        'trusted',
      ]);
    });

    it("shows a server's events from the log of earlier commands #command-line", async () => {
      await cli.run(['call', 'good/add', 'key=a', 'amount=1', 'fault={"kind":"crash-mid-effect"}']);
      await cli.run(['call', 'good/echo', 'text=hi']);
      await appendFile(cli.file('state/events.jsonl'), 'not JSON\n{"kind":"later-invention"}\n');
      const { code, stdout } = await cli.run(['status', 'good']);
      expect(code).toBe(0);
      const words = stdout.split('\n').map((line) => line.slice(10));
      expect(words).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^ready +in .* · pid \d+ · modern/),
          expect.stringMatching(/^lost +exited with code 1/),
          expect.stringMatching(/^call +add outcome_unknown in/),
          expect.stringMatching(/^call +echo ok in/),
        ]),
      );
      const json = JSON.parse((await cli.run(['status', 'good', '--json'])).stdout);
      expect(json.servers).toHaveLength(1);
      expect(json.timeline.at(-1)).toMatchObject({ server: 'good', kind: 'stopped' });
    });
  });

  describe('doctor', () => {
    it('says that all is well with exit code 0 #command-line', async () => {
      const { code, stdout, stderr } = await cli.run(['doctor', '--config', 'only-good.json']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^✓ node +v\d/m);
      expect(stdout).toMatch(/^✓ good +\/.*node · MCP 2026-07-28 · \d+ tools · ready in /m);
      expect(stdout).toMatch(/^[✓·] processes +(pidns|cgroup|marker|group): /m);
      expect(stdout).toMatch(/No problems found\.\n$/);
    });

    it('names a remedy for every finding and exits 1 #command-line', async () => {
      const refusing = await faultyHttp();
      await refusing[Symbol.asyncDispose]();
      await using locked = await faultyHttp({ faults: [{ kind: 'http-401', when: 'at-any' }] });
      await using open = await faultyHttp();
      await cli.servers(
        {
          absent: { command: 'no-such-command' },
          lost: { command: 'node', cwd: 'nowhere' },
          token: { command: 'node', env: { TOKEN: variable('env:NO_SUCH_TOKEN') } },
          off: { command: 'node', disabled: true },
          refusing: { url: refusing.url },
          locked: { url: locked.url },
          open: { url: open.url },
        },
        'sick.json',
      );
      await chmod(cli.file('sick.json'), 0o664);
      await chmod(cli.file('state'), 0o755);
      const { code, stdout } = await cli.run(['doctor', '--config', 'sick.json', '--json']);
      expect(code).toBe(1);
      const { ok, checks } = JSON.parse(stdout);
      expect(ok).toBe(false);
      const findings = checks.filter(({ kind }: { kind: string }) => kind === 'finding');
      const subjects = findings.map(({ subject }: { subject: string }) => subject);
      expect(subjects.sort()).toEqual([
        'absent',
        'config',
        'locked',
        'lost',
        'refusing',
        'state',
        'token',
      ]);
      expect(findings.every(({ remedy }: { remedy: string }) => remedy.length > 0)).toBe(true);
      const texts = findings.map(({ text }: { text: string }) => text).join('\n');
      expect(texts).toMatch(/no-such-command' was not found on PATH: /);
      expect(texts).toMatch(/cannot be reached: nothing listens there.* \(ECONNREFUSED\)/);
      expect(texts).toMatch(/answers 401/);
      expect((await stat(cli.file('state'))).mode & 0o777).toBe(0o755);
      await chmod(cli.file('state'), 0o700);
    });

    it('reports a config that cannot be read, and goes on with the rest #command-line', async () => {
      await using other = await commandLine();
      const { code, stdout } = await other.run(['doctor']);
      expect(code).toBe(1);
      expect(stdout).toMatch(/^✗ config +no holdfast\.json found.*\n +→ /m);
      expect(stdout).toMatch(/^✓ state /m);
    });
  });

  it('says of --timeout that progress extends it #command-line', async () => {
    const { stdout } = await cli.run(['call', '--help']);
    expect(stdout.replace(/\s+/g, ' ')).toContain('progress extends it, up to maxCallMs');
  });

  it('answers --help of every command with an example #command-line', async () => {
    for (const verb of ['call', 'tools', 'search', 'status', 'doctor', 'demo']) {
      const { code, stdout, stderr } = await cli.run([verb, '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('--config <FILE>');
      expect(stdout).toContain('--json');
      expect(stdout).toMatch(new RegExp(`Examples?:\\n  holdfast ${verb}`));
    }
  });
});
