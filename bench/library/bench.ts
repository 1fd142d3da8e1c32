// The library against a bare pipe and against the SDK's client, each with a server process of its
// own.

import { fileURLToPath } from 'node:url';
import { Goals } from '../goals.ts';
import { inTurns, median, ratioOf, shownRatio } from '../ratios.ts';
import type { EchoClient } from './client.ts';
import { bareClient } from './clients/bare.ts';
import { hostClient } from './clients/host.ts';
import { sdkClient } from './clients/sdk.ts';
import { type Load, measure, type Sample } from './measure.ts';

const server = fileURLToPath(new URL('../servers/echo.mjs', import.meta.url));
const kilobyte = 'x'.repeat(1000);
const alone: Load = {
  title: '1 KB, 1 in flight',
  text: kilobyte,
  repeat: 1,
  calls: 3_000,
  inFlight: 1,
};
const crowd: Load = { ...alone, title: '1 KB, 64 in flight', calls: 20_000, inFlight: 64 };
const big: Load = {
  title: '10 MB result',
  text: 'x'.repeat(1_000_000),
  repeat: 10,
  calls: 5,
  inFlight: 1,
};

/** Says whether every goal was met. */
export async function benchLibrary(rounds: number): Promise<boolean> {
  const bare = await bareClient(process.execPath, [server]);
  const host = await hostClient(process.execPath, [server]);
  const sdk = await sdkClient(process.execPath, [server]);
  const clients = [bare, host, sdk];
  const goals = new Goals();
  for (const load of [alone, crowd, big]) {
    for (const client of clients) await measure(client, load);
    const samples = await inTurns(clients, rounds, (client) => measure(client, load));
    const ratio = (own: EchoClient, base: EchoClient, pick: (sample: Sample) => number) =>
      ratioOf(samples.get(own)?.map(pick) ?? [], samples.get(base)?.map(pick) ?? []);
    console.log(`\nlibrary, ${load.title} (${rounds} rounds of ${load.calls} calls)`);
    for (const client of clients) {
      const compared =
        load.inFlight === 1
          ? `${shownRatio(ratio(client, bare, latency))} of the bare p50`
          : `${shownRatio(ratio(client, bare, throughput))} of the bare throughput`;
      console.log(`  ${row(client.name, samples.get(client) ?? [])}   ${compared}`);
    }
    if (load === alone) goals.atMost(1.3, 'p50, of the bare pipe,', ratio(host, bare, latency));
    if (load === crowd) {
      goals.atLeast(0.8, 'throughput, of the bare pipe,', ratio(host, bare, throughput));
    }
    goals.atLeast(1, "throughput, of the SDK's client,", ratio(host, sdk, throughput));
  }
  for (const client of clients) await client[Symbol.asyncDispose]();
  return goals.allMet;
}

function row(name: string, samples: readonly Sample[]): string {
  const perSecond = Math.round(median(samples.map(throughput))).toLocaleString('en');
  const p50 = median(samples.map(latency)).toFixed(0);
  return `${name.padEnd(12)} ${perSecond.padStart(8)} calls/s   p50 ${p50.padStart(7)} us`;
}

function latency(sample: Sample): number {
  return sample.p50Us;
}

function throughput(sample: Sample): number {
  return sample.perSecond;
}
