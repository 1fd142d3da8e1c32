// What commands say of the instance: which process it is, that it is ending, and what helps.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { instanceEnded, instancePid, openWindow, statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { Terminal } from '../support/terminal.ts';
import { until } from '../support/until.ts';

/** Takes seconds to stop. */
const stubborn = faultyStdio({
  faults: [
    { kind: 'ignore-eof', when: 'at-start' },
    { kind: 'ignore-term', when: 'at-start' },
  ],
});

/** A call is under way in the instance. */
async function isCalled(home: GatewayHome): Promise<boolean> {
  return (await statusOf(home))['servers'][0].inFlight === 1;
}

async function said(home: GatewayHome, ...args: string[]) {
  const { code, stdout, stderr } = await home.run(args);
  return `${code} ${stdout}${stderr}`;
}

describe('an instance that is ending', () => {
  it('is named by every command, while its calls run and while its servers are stopped #one-instance #command-line', async () => {
    const config = { mcpServers: { files: stubborn }, drainMs: 600_000 };
    await using home = await GatewayHome.create(config);
    const served = await home.serve();
    const words = [mainProgram, 'call', 'files/slow', 'ms=600000', '--config', home.configFile];
    const call = spawn(process.execPath, words, { env: home.env });
    await until(() => isCalled(home), 'the call is under way');
    await home.run(['shutdown']);
    const ending = `is ending (process ${served.pid})`;
    for (const verb of ['status', 'shutdown', 'reload']) {
      expect(await said(home, verb)).toContain(ending);
    }
    // What it does is what status is asked for; the others cannot do what they are asked for.
    expect(await said(home, 'status')).toMatch(/^0 /);
    expect(await said(home, 'reload')).toMatch(/^3 /);
    expect(await statusOf(home)).toMatchObject({ instance: null, instanceState: 'ending' });
    call.kill('SIGINT');
    await until(() => !existsSync(home.place.socket), 'it does not listen any more');
    // Its server takes seconds to stop; held here, it is still ending however slow this machine is.
    process.kill(served.pid, 'SIGSTOP');
    for (const verb of ['status', 'shutdown']) expect(await said(home, verb)).toContain(ending);
    const next = home.start(['--listen', '127.0.0.1:0', '--json']);
    const isTold = () => next.stderr.includes(`${ending}; this one starts when it has ended`);
    await until(isTold, 'the next one waits');
    process.kill(served.pid, 'SIGCONT');
    await next.printed('"url"');
    expect((await served.ended).code).toBe(0);
    expect((await next.stop()).code).toBe(0);
    expect(await said(home, 'status')).toContain('No instance of this config is running');
  });

  it('says after Ctrl-C which calls it waits for, those of commands too #drain #command-line', async () => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    const started = home.start(['--listen', '127.0.0.1:0', '--json']);
    await started.printed('\n');
    const slow = home.run(['call', 'files/slow', 'ms=8000']);
    await until(() => isCalled(home), 'the call is under way');
    started.kill('SIGINT');
    expect((await slow).code).toBe(0);
    const { code, stderr } = await started.ended;
    expect([code, stderr]).toEqual([
      0,
      'holdfast: waiting for 1 call to end, up to 10 s (drainMs); press Ctrl-C again to end at once\n',
    ]);
  });
});

describe('an instance that a window has started', () => {
  it('can be followed by serve, which says how; the window goes on with it #one-instance', async () => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    await using window = await openWindow(home);
    await window.call('files__echo', { text: 'x' });
    const pid = instancePid(home);
    expect(await statusOf(home)).toMatchObject({ pid, url: null, clients: 1 });
    const refused = await home.start([]).ended;
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(`process ${pid}`);
    expect(refused.stderr).toContain('without a port for HTTP');
    const shutdown = `holdfast shutdown --config ${home.configFile}, then run this again`;
    expect(refused.stderr).toContain(shutdown);
    await home.run(['shutdown']);
    await using served = await home.serve();
    await window.call('files__echo', { text: 'x' });
    expect(await statusOf(home)).toMatchObject({ pid: served.pid, url: served.url, clients: 1 });
  });

  it('tells which windows have other values of variables, and never a value #one-instance', async () => {
    const variable = (name: string) => `\${env:${name}}`;
    const env = { A: variable('MY_TOKEN'), B: variable('MY_MODE') };
    await using home = await GatewayHome.create({
      mcpServers: { files: { ...faultyStdio(), env } },
    });
    const values = { MY_TOKEN: 'first-value', MY_MODE: 'same-value' };
    {
      await using first = await openWindow(home, home.folder, values);
      await using same = await openWindow(home, home.folder, values);
      const others = { ...values, MY_TOKEN: 'other-value', UNNAMED: 'x' };
      await using other = await openWindow(home, home.folder, others);
      const status = await statusOf(home);
      expect(status['differing']).toEqual([{ pid: expect.any(Number), variables: ['MY_TOKEN'] }]);
      const { pid } = status['differing'][0];
      const page = await home.run(['status']);
      const told = `The window of process ${pid} has other values of MY_TOKEN than this instance`;
      expect(page.stdout).toContain(told);
      const doctor = await home.run(['doctor', '--no-start']);
      expect(doctor.stdout).toContain(told);
      expect(other.stderr()).toContain('this window has other values of MY_TOKEN');
      expect(first.stderr() + same.stderr()).toBe('');
      const all = JSON.stringify([status, page, doctor, other.stderr()]);
      expect(all).not.toMatch(/(first|other|same)-value/);
    }
    await instanceEnded(home);
  });
});

describe('the header of status', () => {
  it.each([80, 40])(
    'has url, pid, uptime and clients in %i columns #command-line',
    async (columns) => {
      await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      await client.call('files__echo', { text: 'x' });
      const args = [mainProgram, 'status', '--config', home.configFile];
      const screen = new Terminal({ args, env: home.env, cwd: home.folder, columns, rows: 20 });
      expect(await screen.ended()).toBe(0);
      const table = screen.lines.findIndex((line) => line.startsWith('SERVER'));
      const header = screen.lines.slice(0, table).join(' · ');
      for (const part of [served.url, `pid ${served.pid}`, 'up ', '1 client', '1 server']) {
        expect(header).toContain(part);
      }
      expect(screen.lines.filter((line) => line.length > columns)).toEqual([]);
    },
  );
});
