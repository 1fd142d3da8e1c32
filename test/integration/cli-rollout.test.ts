// `holdfast rollout` and the state of rollouts over the control socket, for instances that cannot roll: none runs, or
// it was started without a process that holds it. The installed files are a copy, so that a test can change them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { installed } from '../support/installed-program.ts';
import { until } from '../support/until.ts';

const config = { mcpServers: { files: faultyStdio() } };

describe('holdfast rollout', () => {
  it('says that no instance runs', async () => {
    await using home = await GatewayHome.create(config);
    const { code, stderr } = await home.run(['rollout']);
    expect(code).toBe(3);
    expect(stderr).toContain('is running; start one with: holdfast serve');
  });

  it('is refused by an instance that nothing holds, which serves on and says that files have changed', async () => {
    await using home = await GatewayHome.create(config);
    const main = await installed(join(dirname(home.configFile), 'program'));
    const words = [main, 'serve', '--listen', '127.0.0.1:0', '--config', home.configFile];
    const env = { ...home.env, HOLDFAST_HOLDER: '' };
    const instance = spawn(process.execPath, words, { env, stdio: 'ignore' });
    try {
      await until(async () => (await statusOf(home))['instance'] !== null, 'it serves');
      expect(await statusOf(home)).toMatchObject({
        rollout: 'stable',
        rollouts: { cause: null, at: null, count: 0, generation: 1, launchPathStable: true },
      });
      const { code, stderr } = await home.run(['rollout']);
      expect(code).toBe(3);
      expect(stderr).toContain('holdfast shutdown');
      const asked = JSON.parse((await home.run(['rollout', '--json'])).stdout);
      expect(asked.fault).toMatchObject({ code: 'unavailable' });
      await utimes(main, 1, 1);
      expect(await statusOf(home)).toMatchObject({
        rollout: 'pending',
        rollouts: { cause: expect.stringContaining('another version is installed') },
      });
      const { stdout } = await home.run(['status']);
      expect(stdout).toContain('rollout pending: another version is installed');
      expect((await home.run(['call', 'files/echo', 'text=on'])).code).toBe(0);
    } finally {
      const ended = once(instance, 'exit');
      instance.kill('SIGTERM');
      await ended;
    }
  });
});
