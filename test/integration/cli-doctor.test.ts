// holdfast doctor: what it says is true of a real start, in words, and nothing of it is left.

import { stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { commandLine } from '../support/command-line.ts';
import { faultyHttp, faultyStdio } from '../support/faulty.ts';
import { processesWith } from '../support/host.ts';
import { statusServer, uselessServers } from '../support/status-server.ts';

interface Check {
  readonly kind: 'ok' | 'note' | 'finding';
  readonly subject: string;
  readonly text: string;
  readonly remedy?: string;
}

describe('the doctor', () => {
  it('finds what only a real start shows, several at a time, and leaves nothing #command-line', async () => {
    await using cli = await commandLine();
    await using web = await statusServer();
    await using remote = await faultyHttp();
    const mark = `doctor-${process.pid}-${web.port}`;
    const dying = `console.error('Error: no license'); process.exit(3)`;
    await cli.servers({
      good: { ...faultyStdio(), args: [...faultyStdio().args, '--ledger', cli.file(mark)] },
      pinned: { ...faultyStdio(), lazy: false },
      remote: { url: remote.url },
      dying: { command: 'node', args: ['-e', dying] },
      eager: { command: 'node', args: ['-e', dying], lazy: false },
      silent: {
        command: 'node',
        args: ['-e', 'setInterval(() => {}, 1000)', mark],
        startTimeoutMs: 1_000,
      },
      ...uselessServers(web),
    });
    const { code, stdout, stderr } = await cli.run(['doctor', '--json']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const { checks } = JSON.parse(stdout) as { checks: readonly Check[] };
    const of = (name: string) => checks.find(({ subject }) => subject === name);
    expect(of('good')).toMatchObject({
      kind: 'ok',
      text: expect.stringContaining('tools · ready'),
    });
    expect(of('pinned')?.kind).toBe('ok');
    expect(of('remote')).toMatchObject({
      kind: 'ok',
      text: expect.stringContaining(`${remote.url} · MCP `),
    });
    const words: Record<string, RegExp> = {
      dying: /did not start: Error: no license \(it exited with code 3\)/,
      eager: /did not start: Error: no license \(it exited with code 3\)/,
      silent: /not ready within 1000 ms/,
      login: /127\.0\.0\.1:\d+\/401 answers 401: it requires a login/,
      missing: /\/404 answers 404: there is nothing at this path/,
      failing: /\/500 answers 500: the server there has an internal error/,
      page: /\/200 answers 200 with a web page \(HTML\)/,
      moved: /\/307 redirects \(307\) to https:\/\/elsewhere\.example\/mcp/,
      refused: /127\.0\.0\.1:9\/mcp cannot be reached: .*refused \(ECONNREFUSED\)/,
      unknown:
        /no-such-host\.invalid\/mcp cannot be reached: the host name .*\((ENOTFOUND|EAI_AGAIN)\)/,
      tls: /https:\/\/127\.0\.0\.1:\d+\/200 cannot be reached: TLS: /,
    };
    for (const [name, pattern] of Object.entries(words)) {
      expect(of(name), name).toMatchObject({
        kind: 'finding',
        text: expect.stringMatching(pattern),
      });
      expect(of(name)?.remedy, name).toMatch(/\S/);
    }
    // A relative path means nothing without the folder.
    expect(of('dying')?.remedy).toContain(`by hand: cd ${cli.folder} && node -e 'console.error`);
    expect(processesWith(mark)).toEqual([]);
  });

  it('starts nothing with --no-start, and still looks at commands and addresses #command-line', async () => {
    await using cli = await commandLine();
    await using web = await statusServer();
    const starts = cli.file('starts');
    const { command, args } = faultyStdio({ starts });
    await cli.servers({
      good: { command, args },
      absent: { command: 'no-such-command' },
      missing: { url: `http://127.0.0.1:${web.port}/404` },
    });
    const { code, stdout } = await cli.run(['doctor', '--no-start']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✓ good +\/.*node$/m);
    expect(stdout).toMatch(/^✗ absent +the command 'no-such-command' was not found/m);
    expect(stdout).toMatch(/^✗ missing +http.* answers 404/m);
    await expect(stat(starts)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('ends with what it has started when it is interrupted #command-line', async () => {
    await using cli = await commandLine();
    const mark = `doctor-interrupted-${process.pid}`;
    const hanging = `console.error('here'); setInterval(() => {}, 1000)`;
    await cli.servers({ slow: { command: 'node', args: ['-e', hanging, mark] } });
    const started = cli.start(['doctor'], { env: { HOLDFAST_LOG: 'info' } });
    await started.said('slow starting');
    started.kill('SIGINT');
    expect((await started.ended).code).toBe(130);
    expect(processesWith(mark)).toEqual([]);
  });
});
