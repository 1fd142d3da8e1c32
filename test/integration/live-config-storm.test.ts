// The config file is edited again and again while clients call: a server that comes and goes, a limit that
// changes, a tool that is hidden and shown. Calls to servers that were not changed never notice.

import { renameSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { residentMb } from '../../bench/gateway/procfs.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { workingPid } from '../support/serving-process.ts';
import { until } from '../support/until.ts';

/** `HOLDFAST_STORM=10` is the whole of it: 200 edits in 10 seconds, 200 calls a second. */
const seconds = Number(process.env['HOLDFAST_STORM'] ?? '2');
/** What it takes is looked at only there: a test is no place for it. */
const isWhole = seconds >= 10;
const editsPerSecond = 20;
const callsPerSecond = 200;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const configText = (number: number) =>
  JSON.stringify({
    http: { auth: 'none' },
    mcpServers: {
      still: faultyStdio(),
      limited: { ...faultyStdio(), concurrency: 8 + (number % 2) },
      veiled: { ...faultyStdio(), tools: { echo: { hidden: number % 2 === 1 } } },
      ...(number % 2 === 0 ? { guest: faultyStdio() } : {}),
    },
  });

interface Seen {
  calls: number;
  failed: string[];
}

describe('a config that is edited all the time', () => {
  it('costs no call of another server, and no process #live-config #generations', async () => {
    await using home = await GatewayHome.create();
    writeFileSync(home.configFile, configText(0));
    await using gateway = await home.serve();
    using client = new HttpClient(gateway.url);
    const pidOf = async (server: string) =>
      (await client.call(`${server}__whoami`)).result.structuredContent.pid as number;
    const servers = ['still', 'limited', 'veiled'];
    const before = await Promise.all(servers.map(pidOf));
    await client.call('guest__echo', { text: 'x' });
    const seen: Seen = { calls: 0, failed: [] };
    const call = async (tool: string, mayFail: boolean) => {
      seen.calls += 1;
      const { result, error } = await client.call(tool, { text: 'x' });
      const isWell = error === undefined && result.isError !== true;
      if (!isWell && !mayFail) seen.failed.push(`${tool}: ${JSON.stringify(error ?? result)}`);
    };
    const startMb = residentMb(workingPid(gateway.pid));
    const endsAt = Date.now() + seconds * 1_000;
    const underway: Promise<void>[] = [];
    const calling = (async () => {
      for (let number = 0; Date.now() < endsAt; number += 1) {
        const isFree = number % 4 === 3;
        const tool = isFree
          ? number % 8 === 3
            ? 'guest__echo'
            : 'veiled__echo'
          : ['still__echo', 'limited__echo', 'veiled__get'][number % 4];
        underway.push(call(tool ?? '', isFree));
        await pause(1_000 / callsPerSecond);
      }
    })();
    for (let number = 1; Date.now() < endsAt; number += 1) {
      const isRenamed = number % 3 === 0;
      const file = isRenamed ? `${home.configFile}.new` : home.configFile;
      writeFileSync(file, configText(number));
      if (isRenamed) renameSync(file, home.configFile);
      await pause(1_000 / editsPerSecond);
    }
    await calling;
    await Promise.all(underway);
    expect(seen.failed).toEqual([]);
    expect(seen.calls).toBeGreaterThan(seconds * 40);
    writeFileSync(home.configFile, configText(0));
    await until(
      async () => (await client.call('guest__echo', { text: 'x' })).result?.isError !== true,
      'the last edit is taken over',
    );
    expect(await Promise.all(servers.map(pidOf))).toEqual(before);
    if (isWhole) expect(residentMb(workingPid(gateway.pid)) - startMb).toBeLessThan(80);
  });
});
