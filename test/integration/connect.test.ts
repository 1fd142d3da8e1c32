// `holdfast connect`: many windows, one instance; and a session that outlives it.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import {
  holderPid,
  instanceEnded,
  instancePid,
  openWindow,
  statusOf,
} from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { executions, phases } from '../support/ledger.ts';
import { until } from '../support/until.ts';

describe('connect', () => {
  it('survives the instance: the session goes on, the next call works, nothing runs twice #one-instance #never-twice', async () => {
    await using home = await GatewayHome.create();
    const ledger = home.file('ledger');
    await home.configure({ mcpServers: { bank: faultyStdio({ ledger }) } });
    {
      await using window = await openWindow(home);
      await window.call('bank__add', { key: 'a', amount: 1, nonce: 'before' });
      const first = instancePid(home);
      const lost = window.call('bank__add', {
        ...{ key: 'a', amount: 1, nonce: 'during', fault: { kind: 'hang', effect: true } },
      });
      await until(() => phases(ledger, 'during').includes('done'), 'the effect has happened');
      process.kill(first, 'SIGKILL');
      const fault = (await lost)._meta['holdfast/fault'];
      expect(fault).toMatchObject({ code: 'outcome_unknown', dispatched: 'maybe' });
      const next = await window.call('bank__add', { key: 'a', amount: 1, nonce: 'after' });
      expect(next.isError).not.toBe(true);
      expect(instancePid(home)).not.toBe(first);
      for (const nonce of ['before', 'during', 'after']) expect(executions(ledger, nonce)).toBe(1);
      const { tools } = await window.client.listTools();
      expect(tools.map(({ name }) => name)).toContain('bank__add');
    }
    await instanceEnded(home);
  });

  it('sends a call with a key again, and it runs once #idempotency-key', async () => {
    await using home = await GatewayHome.create();
    const ledger = home.file('ledger');
    await home.configure({ mcpServers: { bank: faultyStdio({ ledger }) } });
    {
      await using window = await openWindow(home);
      const call = (nonce: string) =>
        window.call(
          'bank__add',
          { key: 'a', amount: 1, nonce },
          { 'holdfast/idempotencyKey': nonce },
        );
      const answered = await call('one');
      process.kill(instancePid(home), 'SIGKILL');
      expect((await call('one')).content).toEqual(answered.content);
      expect(executions(ledger, 'one')).toBe(1);
    }
    await instanceEnded(home);
  });

  it('gets another instance if the next ones are told to end while they start #one-instance', async () => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    {
      await using window = await openWindow(home);
      await window.call('files__whoami');
      let last = instancePid(home);
      process.kill(last, 'SIGKILL');
      let isAnswered = false;
      // It changes nothing, so that it may have been sent to the one that was killed.
      const next = window.client.listTools().finally(() => {
        isAnswered = true;
      });
      for (let round = 0; round < 2; round += 1) {
        const former = last;
        const hasNext = () => {
          last = holderPid(home) ?? former;
          return isAnswered || last !== former;
        };
        await until(hasNext, 'the next instance to have the lock');
        if (!isAnswered) process.kill(last, 'SIGTERM');
      }
      expect((await next).tools.map(({ name }) => name)).toContain('files__whoami');
      expect(window.stderr()).toBe('');
    }
    await instanceEnded(home);
  });

  it('joins holdfast serve, and leaves it running', async () => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    await using _served = await home.serve();
    {
      await using window = await openWindow(home);
      expect((await window.call('files__whoami')).isError).not.toBe(true);
      expect((await statusOf(home)).startedBy).toBe('serve');
    }
    expect((await statusOf(home)).startedBy).toBe('serve');
  });

  it('says why no instance can be started, and answers what waits', async () => {
    await using home = await GatewayHome.create();
    writeFileSync(home.configFile, '{"mcpServers": {"x": {"comand": "y"}}}');
    const child = spawn(process.execPath, [mainProgram, 'connect', '--config', home.configFile], {
      env: home.env,
      cwd: home.folder,
    });
    const started = new Started(child);
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
    await started.printed('"id":1');
    child.stdin.end();
    const { stdout, stderr } = await started.stop();
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
      id: 1,
      error: { data: { code: 'unavailable' } },
    });
    expect(stderr).toMatch(/no instance .* could be started: .*comand/);
  });
});

describe('a config in a project folder', () => {
  const config = (file: string) => ({
    mcpServers: { evil: { command: '/bin/sh', args: ['-c', `touch ${file}`], lazy: false } },
  });

  it('runs nothing until it is trusted, and again when it was changed #one-instance', async () => {
    await using home = await GatewayHome.create();
    const project = join(home.folder, 'project', 'deep');
    mkdirSync(project, { recursive: true });
    const file = join(home.folder, 'project', 'holdfast.json');
    const mark = home.file('ran');
    writeFileSync(file, JSON.stringify(config(mark)));
    const connect = async () => {
      const child = spawn(process.execPath, [mainProgram, 'connect', '--idle-end', '1'], {
        env: home.env,
        cwd: project,
      });
      child.stdin.end();
      return await new Started(child).ended;
    };
    const refused = await connect();
    expect([refused.code, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toContain(`holdfast trust ${file}`);
    const trusted = await home.run(['trust', file]);
    expect([trusted.code, trusted.stdout]).toEqual([0, `${file} is trusted as it is now\n`]);
    expect((await connect()).code).toBe(0);
    writeFileSync(file, JSON.stringify({ ...config(mark), maxIdle: 3 }));
    expect(await connect()).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`has changed since it was trusted`),
    });
    // An instance that is started later looks at the file again.
    const approved = [
      'serve',
      '--config',
      file,
      '--for-connect',
      '1',
      '--approved',
      '0'.repeat(64),
    ];
    const started = new Started(
      spawn(process.execPath, [mainProgram, ...approved], { env: home.env }),
    );
    expect(await started.ended).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('since it was trusted'),
    });
    const linked = join(home.folder, 'linked.json');
    symlinkSync(file, linked);
    expect((await home.run(['trust', linked])).stdout).toBe(`${file} is trusted as it is now\n`);
    expect((await home.run(['trust', '/nowhere'])).code).toBe(2);
    const folder = await home.run(['trust', join(home.folder, 'project')]);
    expect([folder.code, folder.stderr]).toEqual([
      2,
      expect.stringContaining(`is a directory; name the file in it: ${file}`),
    ]);
  });

  // What stands in a pipe can be read once: a second reading would see an empty file.
  it('is judged by the bytes that are used, not by another reading #one-instance', async () => {
    await using home = await GatewayHome.create();
    const mark = home.file('ran');
    writeFileSync(home.file('piped'), JSON.stringify(config(mark)));
    const words = 'cat "$1" | "$2" "$3" serve --stdio --config /dev/stdin --approved "$4"';
    const serve = async (approved: string) => {
      const args = ['-c', words, 'sh', home.file('piped'), process.execPath, mainProgram, approved];
      return await new Started(spawn('/bin/sh', args, { env: home.env })).ended;
    };
    const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');
    const refused = await serve(sha256(''));
    expect([refused.code, existsSync(mark)]).toEqual([4, false]);
    expect(refused.stderr).toContain('has changed since it was trusted');
    expect((await serve(sha256(readFileSync(home.file('piped'))))).stderr).not.toContain('denied');
  });
});
