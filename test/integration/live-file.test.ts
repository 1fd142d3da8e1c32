// A running gateway follows its config file, however the file is changed.

import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Started } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { until } from '../support/until.ts';

const text = (servers: readonly string[], more: object = {}) =>
  JSON.stringify({
    http: { auth: 'none' },
    mcpServers: Object.fromEntries(servers.map((name) => [name, faultyStdio()])),
    ...more,
  });

interface Running extends AsyncDisposable {
  readonly started: Started;
  readonly url: string;
  /** The servers whose tools are listed. */
  servers(): Promise<readonly string[]>;
  pidOf(server: string): Promise<number>;
}

async function serve(home: GatewayHome): Promise<Running> {
  const started = home.start(['--listen', '127.0.0.1:0', '--json']);
  await started.printed('\n');
  const { url } = JSON.parse(started.stdout.split('\n')[0] ?? '');
  const client = new HttpClient(url);
  return {
    started,
    url,
    servers: async () => {
      const { tools } = (await client.modern('tools/list')).json.result;
      const names = tools.map(({ name }: { name: string }) => name.split('__')[0]);
      return [...new Set<string>(names)].filter((name) => name !== 'holdfast').sort();
    },
    pidOf: async (server) => (await client.call(`${server}__whoami`)).result.structuredContent.pid,
    [Symbol.asyncDispose]: async () => {
      client[Symbol.dispose]();
      await started.stop();
    },
  };
}

async function lists(running: Running, servers: readonly string[]): Promise<void> {
  await until(async () => String(await running.servers()) === String(servers), `lists ${servers}`);
}

describe('the config file of a running gateway', () => {
  it('is followed when it is written, replaced, or linked elsewhere; other servers keep their process #live-config', async () => {
    await using home = await GatewayHome.create();
    const file = home.configFile;
    writeFileSync(file, text(['a']));
    await using running = await serve(home);
    const pid = await running.pidOf('a');
    writeFileSync(file, text(['a', 'b']));
    await lists(running, ['a', 'b']);
    writeFileSync(`${file}.new`, text(['a', 'b', 'c']));
    renameSync(`${file}.new`, file);
    await lists(running, ['a', 'b', 'c']);
    const elsewhere = join(home.folder, 'dotfiles');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'holdfast.json'), text(['a', 'd']));
    unlinkSync(file);
    symlinkSync(join(elsewhere, 'holdfast.json'), file);
    await lists(running, ['a', 'd']);
    writeFileSync(join(elsewhere, 'holdfast.json'), text(['a']));
    await lists(running, ['a']);
    expect(await running.pidOf('a')).toBe(pid);
    expect(running.started.stderr).toContain('the config has changed: b: added');
    expect(running.started.stderr).not.toContain('not taken over');
  });

  it('changes nothing while it is invalid, gone or a folder, says why, and is taken over when it is right again #live-config', async () => {
    await using home = await GatewayHome.create();
    const file = home.configFile;
    writeFileSync(file, text(['a']));
    await using running = await serve(home);
    const pid = await running.pidOf('a');
    const says = (words: string) =>
      until(() => running.started.stderr.includes(words), `says ${words}`);
    writeFileSync(file, '{"mcpServers": {"a": {"comand": "x"}}}');
    await says('comand');
    writeFileSync(file, text(['a']));
    await says('the config file can be used again');
    writeFileSync(file, '{"mcpServers": ');
    await says('not taken over');
    rmSync(file);
    await says('there is no such file');
    mkdirSync(file);
    await says('this is a directory');
    expect(await running.pidOf('a')).toBe(pid);
    rmSync(file, { recursive: true });
    writeFileSync(file, text(['a', 'b']));
    await lists(running, ['a', 'b']);
    expect(await running.pidOf('a')).toBe(pid);
  });

  it('that was changed a hundred times in a row ends as it was written last #live-config', async () => {
    await using home = await GatewayHome.create();
    const file = home.configFile;
    writeFileSync(file, text(['a']));
    await using running = await serve(home);
    const pid = await running.pidOf('a');
    for (let times = 0; times < 100; times += 1) {
      writeFileSync(file, text(times % 2 === 0 ? ['a', 'b'] : ['a'], { maxIdle: times }));
      await running.servers();
    }
    writeFileSync(file, text(['a', 'z']));
    await lists(running, ['a', 'z']);
    expect(await running.pidOf('a')).toBe(pid);
  });

  it('is not waited for when it has become a pipe: the gateway goes on, and says why #live-config #one-bad-neighbour', async () => {
    await using home = await GatewayHome.create();
    const file = home.configFile;
    writeFileSync(file, text(['a']));
    await using running = await serve(home);
    const pid = await running.pidOf('a');
    unlinkSync(file);
    execFileSync('mkfifo', [file]);
    await until(() => running.started.stderr.includes('ESPIPE'), 'it says why');
    expect(await running.pidOf('a')).toBe(pid);
    unlinkSync(file);
    writeFileSync(file, text(['a', 'b']));
    await lists(running, ['a', 'b']);
  });
});
