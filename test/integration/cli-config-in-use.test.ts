// What is said when an instance does not use its config file as it is now: after a change of a config in a project
// folder that nobody has approved. An instance that was started with the file follows it without approval.

import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { instanceEnded, statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { until } from '../support/until.ts';

const before = { mcpServers: { files: faultyStdio() } };
const after = { mcpServers: { files: faultyStdio(), more: faultyStdio() } };

interface FoundWindow {
  readonly window: Started;
  close(): Promise<void>;
}

/** A window that finds the config in its folder, and has had an answer from the instance. */
async function openIn(home: GatewayHome): Promise<FoundWindow> {
  const words = [mainProgram, 'connect', '--idle-end', '1500'];
  const child = spawn(process.execPath, words, { env: home.env, cwd: home.folder });
  const window = new Started(child);
  const close = async () => {
    child.stdin.end();
    expect((await window.ended).code).toBe(0);
  };
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await window.printed('"id":1');
  return { window, close };
}

async function outputOf(home: GatewayHome, ...words: string[]) {
  const { code, stdout, stderr } = await home.run(words);
  return { code, text: `${stdout}${stderr}` };
}

describe('a trusted config that is changed while a window is open', () => {
  it('is reported as not used, by the window and by commands, until it is trusted again and taken over #one-instance', async () => {
    await using home = await GatewayHome.create(before);
    await home.run(['trust', home.configFile]);
    const { window, close } = await openIn(home);
    const { since } = (await statusOf(home))['usedConfig'];
    await home.configure(after);
    await until(() => window.stderr.includes('holdfast trust'), 'the window tells of the change');
    const told = `${home.configFile} has changed since it was trusted; the instance runs the config of `;
    expect(window.stderr).toContain(told);
    const next = `holdfast trust ${home.configFile}, and after that: holdfast reload`;
    const codes = { status: 0, 'check files': 3, 'doctor --no-start': 1, reload: 4 };
    for (const [words, code] of Object.entries({ ...codes, 'reload --dry-run': 4 })) {
      const output = await outputOf(home, ...words.split(' '));
      expect([words, output.code]).toEqual([words, code]);
      expect(output.text.replaceAll(/\s+/g, ' ')).toContain(told);
      expect(output.text).toContain(next);
    }
    const untrusted = { kind: 'untrusted', detail: expect.stringContaining('was trusted') };
    expect((await statusOf(home))['usedConfig']).toEqual({ since, problem: untrusted });
    const reload = `holdfast reload --config ${home.configFile}`;
    expect((await home.run(['trust', home.configFile])).stdout).toBe(
      `${home.configFile} is trusted as it is now\nthe instance that runs takes it over with: ${reload}\n`,
    );
    const waiting = { since, problem: { kind: 'waiting', detail: null } };
    expect((await statusOf(home))['usedConfig']).toEqual(waiting);
    expect((await outputOf(home, 'status')).text).toContain('was trusted again');
    expect((await home.run(['reload'])).stdout).toBe('more: added\n');
    const { problem, since: later } = (await statusOf(home))['usedConfig'];
    expect([problem, later > since]).toEqual([null, true]);
    await close();
    await instanceEnded(home);
  });

  it('is followed by an instance that was started with it, and nobody says otherwise #one-instance #live-config', async () => {
    await using home = await GatewayHome.create(before);
    await home.run(['trust', home.configFile]);
    const served = home.start(['--listen', '127.0.0.1:0', '--json']);
    await served.printed('\n');
    const { window, close } = await openIn(home);
    await home.configure(after);
    await until(() => served.stderr.includes('more: added'), 'the change is taken over');
    for (const words of ['status', 'check more', 'doctor --no-start', 'reload']) {
      expect((await outputOf(home, ...words.split(' '))).text).not.toContain('trusted;');
    }
    expect((await statusOf(home))['usedConfig'].problem).toBeNull();
    expect(window.stderr).toBe('');
    await close();
    await served.stop();
  });
});
