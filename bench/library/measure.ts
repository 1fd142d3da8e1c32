// One load on one client: so many calls, so many of them at once.

import { median } from '../ratios.ts';
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

export async function measure(client: EchoClient, load: Load): Promise<Sample> {
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
