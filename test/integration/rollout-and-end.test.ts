// The end of an instance that is asked for while a rollout is under way: at whatever moment it comes, the instance ends, with
// the answers that are due, and nothing of it serves on.

import { describe, expect, it } from 'vitest';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { installedGateway } from '../support/installed-program.ts';
import { executions } from '../support/ledger.ts';
import { servingPids } from '../support/serving-process.ts';
import { signalledAtClaim } from '../support/signalled-at-claim.ts';
import { stillAlive } from '../support/sleepers.ts';
import { until } from '../support/until.ts';

const table = systemProcesses();

describe('the end of an instance', () => {
  it.each(['before', 'after'] as const)(
    'that a signal asks for right %s a successor takes over comes with its answers #rollout #drain',
    async (when) => {
      await using folder = await temporaryFolder();
      const ledger = folder.file('ledger');
      await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
      await using gateway = await installedGateway(home);
      await signalledAtClaim(gateway.main, 'SIGTERM', when);
      using client = new HttpClient(gateway.url);
      const calling = client.call('own__slow', { nonce: 'slow', ms: 2_500 });
      await until(() => executions(ledger, 'slow') === 1, 'the call');
      const below = await table.descendants(gateway.pid);
      await home.run(['rollout']);
      expect(await calling).toMatchObject({ result: { structuredContent: { ms: 2_500 } } });
      const ended = await gateway.started.ended;
      expect(ended).toMatchObject({ code: 0, signal: null });
      expect(ended.stderr).not.toContain('stopped at once');
      // The reaper looks for what is left of processes before the last one, and ends then.
      await until(async () => (await stillAlive(below)).length === 0, 'nothing is left of it');
      expect(executions(ledger, 'slow')).toBe(1);
      // Its place is free.
      await using again = await home.serve();
      expect(again.url).toContain('127.0.0.1');
    },
  );

  it('that `holdfast shutdown` asks for ends a rollout that has begun #rollout #drain', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const calling = client.call('own__slow', { nonce: 'slow', ms: 2_500 });
    await until(() => executions(ledger, 'slow') === 1, 'the call');
    const rolling = home.run(['rollout']);
    await until(async () => (await servingPids(served.pid)).length === 2, 'a successor');
    expect(await home.run(['shutdown'])).toMatchObject({ code: 0 });
    expect(await served.ended).toMatchObject({ code: 0, signal: null });
    expect(await calling).toMatchObject({ result: { structuredContent: { ms: 2_500 } } });
    expect([0, 3]).toContain((await rolling).code);
  });
});
