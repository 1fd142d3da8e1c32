// `npm run bench`: the library against a bare pipe and against the SDK's client, in one run. Prints
// a table and, against the floor, whether each goal of the project is met. Method: bench/README.md.

import { fileURLToPath } from 'node:url';
import type { EchoClient } from './client.ts';
import { bareClient } from './clients/bare.ts';
import { hostClient } from './clients/host.ts';
import { sdkClient } from './clients/sdk.ts';
import { type Load, median, type Ratio, ratioOf, runRounds, type Sample } from './measure.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 15);
const server = fileURLToPath(new URL('./servers/echo.mjs', import.meta.url));
const kilobyte = 'x'.repeat(1000);

const loads: readonly Load[] = [
  { title: '1 KB, 1 in flight', text: kilobyte, repeat: 1, calls: 3_000, inFlight: 1 },
  { title: '1 KB, 64 in flight', text: kilobyte, repeat: 1, calls: 20_000, inFlight: 64 },
  { title: '10 MB result', text: 'x'.repeat(1_000_000), repeat: 10, calls: 5, inFlight: 1 },
];

const clients: readonly EchoClient[] = [
  await bareClient(process.execPath, [server]),
  await hostClient(process.execPath, [server]),
  await sdkClient(process.execPath, [server]),
];
const [bare, host, sdk] = ['bare pipe', 'host.call', 'SDK Client'];
let missed = 0;

for (const load of loads) {
  const samples = await runRounds(clients, load, rounds);
  console.log(`\n${load.title} (${rounds} rounds of ${load.calls} calls)`);
  for (const { name } of clients) console.log(`  ${row(name, samples, load)}`);
  judge(load, samples);
}
for (const client of clients) await client[Symbol.asyncDispose]();
process.exitCode = missed === 0 ? 0 : 1;

function row(name: string, samples: Map<string, Sample[]>, { inFlight }: Load): string {
  const own = samples.get(name) ?? [];
  const perSecond = median(own.map((sample) => sample.perSecond));
  const p50 = median(own.map((sample) => sample.p50Us));
  const figures = `${Math.round(perSecond).toLocaleString('en').padStart(8)} calls/s   p50 ${p50.toFixed(0).padStart(7)} us`;
  const ratio = ratioOf(samples, name, bare, inFlight === 1 ? latency : throughput);
  const against = inFlight === 1 ? 'of the bare p50' : 'of the bare throughput';
  return `${name.padEnd(12)} ${figures}   ${shown(ratio)} ${against}`;
}

function judge({ title }: Load, samples: Map<string, Sample[]>): void {
  if (title === '1 KB, 1 in flight') {
    goal(
      'p50 at most 1.3x the bare client',
      ratioOf(samples, host, bare, latency),
      (r) => r <= 1.3,
    );
  } else if (title === '1 KB, 64 in flight') {
    const ratio = ratioOf(samples, host, bare, throughput);
    goal('at least 0.8x the bare throughput', ratio, (r) => r >= 0.8);
  }
  goal('faster than the SDK Client', ratioOf(samples, host, sdk, throughput), (r) => r > 1);
}

function goal(title: string, ratio: Ratio, isMet: (median: number) => boolean): void {
  const verdict = isMet(ratio.median) ? 'met   ' : 'MISSED';
  if (verdict === 'MISSED') missed += 1;
  console.log(`  ${verdict} ${title}: ${shown(ratio)}`);
}

function shown({ median: middle, low, high }: Ratio): string {
  return `${middle.toFixed(2)}x (${low.toFixed(2)}-${high.toFixed(2)})`;
}

function latency(sample: Sample): number {
  return sample.p50Us;
}

function throughput(sample: Sample): number {
  return sample.perSecond;
}
