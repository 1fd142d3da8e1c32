import { describe, expect, it } from 'vitest';
import { newHost } from '../../../test/support/fake-gateway.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';
import { maxRemembered } from './undeclared-servers.ts';

const echo: Script = { tools: [tool('t')], on: { 'tools/call': () => text('') } };

function newWorld(undeclared: Script = echo, settings: Readonly<Record<string, unknown>> = {}) {
  const world = newHost({}, { undeclared, settings });
  const call = (word: string) => world.host.callCommand(['/bin/x', word], 't');
  const names = () => world.host.servers().length;
  return { ...world, call, names };
}

describe('a command that no config names', () => {
  it('is forgotten when many others came after it, with all that was kept for it #no-growth', async () => {
    const { call, names, clock, host } = newWorld(echo, { maxIdle: 4 });
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 30; n++) await call(`${round} ${n}`);
      await clock.advanceAsync(1_000);
    }
    // Those that run: at most four are idle and open, and the last one may be ending.
    expect(names()).toBeLessThanOrEqual(maxRemembered + 5);
    await clock.advanceAsync(600_000);
    await call('last');
    expect(names()).toBeLessThanOrEqual(maxRemembered + 1);
    expect(host.status().servers.length).toBe(names());
  });

  it('that was used again is not forgotten before one that was not', async () => {
    const { call, host, clock } = newWorld();
    await call('kept');
    const [kept] = host.servers();
    for (let n = 0; n < maxRemembered + 20; n++) {
      await call(`${n}`);
      await call('kept');
    }
    await clock.advanceAsync(600_000);
    expect(host.servers()).toContain(kept);
  });

  it('that never came up is forgotten at once, but not under the feet of another call', async () => {
    const { call, names, others } = newWorld({ ...echo, on: { initialize: () => undefined } });
    const calls = [call('a').catch(() => 'failed'), call('a').catch(() => 'failed')];
    await settled();
    others?.child.exit();
    await settled();
    await settled();
    if (others) others.script = echo;
    expect(await Promise.all(calls)).toEqual(['failed', 'failed']);
    expect(names()).toBe(0);
    expect(await call('a')).toMatchObject(text(''));
  });

  it('is called again while it is being forgotten, and runs anew', async () => {
    const { call, host } = newWorld(echo, { maxIdle: 0 });
    await call('first');
    const forgetting = Array.from({ length: maxRemembered + 1 }, (_, n) => call(`${n}`));
    const again = Promise.all(forgetting).then(() => call('first'));
    expect(await again).toMatchObject(text(''));
    expect(host.servers().length).toBeLessThanOrEqual(maxRemembered + 2);
  });
});
