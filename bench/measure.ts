// Measuring side by side. Every round runs all clients one after the other, so that whatever else
// the machine does hits them alike; what counts is the ratio within a round, and of those the
// median with its spread. The order turns from round to round, so that nobody is always first.

import type { EchoClient } from './client.ts';

export interface Load {
  readonly title: string;
  readonly text: string;
  readonly repeat: number;
  readonly calls: number;
  readonly inFlight: number;
}

export interface Sample {
  readonly perSecond: number;
  readonly p50Us: number;
}

export async function runRounds(
  clients: readonly EchoClient[],
  load: Load,
  rounds: number,
): Promise<Map<string, Sample[]>> {
  const samples = new Map(clients.map(({ name }) => [name, [] as Sample[]]));
  for (const client of clients) await runOnce(client, load);
  for (let round = 0; round < rounds; round += 1) {
    for (let place = 0; place < clients.length; place += 1) {
      const client = clients[(round + place) % clients.length] as EchoClient;
      samples.get(client.name)?.push(await runOnce(client, load));
    }
  }
  return samples;
}

async function runOnce(client: EchoClient, load: Load): Promise<Sample> {
  const latencies: number[] = [];
  let left = load.calls;
  const expected = load.text.length * load.repeat;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const startedAt = performance.now();
      const text = await client.echo(load.text, load.repeat);
      latencies.push(performance.now() - startedAt);
      if (text.length !== expected) throw new Error(`${client.name} lost bytes`);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: load.inFlight }, worker));
  const seconds = (performance.now() - startedAt) / 1000;
  return { perSecond: load.calls / seconds, p50Us: median(latencies) * 1000 };
}

export interface Ratio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** One client against another, round by round. */
export function ratioOf(
  samples: Map<string, Sample[]>,
  name: string,
  floor: string,
  pick: (sample: Sample) => number,
): Ratio {
  const own = samples.get(name) ?? [];
  const base = samples.get(floor) ?? [];
  const ratios = own.map((sample, round) => pick(sample) / pick(base[round] as Sample));
  return { median: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
