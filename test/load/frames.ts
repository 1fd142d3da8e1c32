// What a message costs that is far too large, or comes byte by byte: how long one turn of the loop takes
// while it arrives, and how much memory is taken.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Host } from '../../src/host/host.ts';
import { LineReader } from '../../src/wire/line-reader.ts';
import { faultyHttp, faultyStdio } from '../support/faulty.ts';
import { faultOf, hostWith } from '../support/host.ts';

export const mib = 1024 * 1024;

export interface LargeFrame {
  readonly transport: string;
  readonly code: string;
  readonly lagMs: number;
  readonly grownMib: number;
}

/** 64 MiB on one line or in one event, over each transport. */
export async function largeFrames(): Promise<readonly LargeFrame[]> {
  await using remote = await faultyHttp();
  const host = await hostWith({ stdio: faultyStdio(), http: { url: remote.url } });
  try {
    return [await largeFrame(host, 'stdio'), await largeFrame(host, 'http')];
  } finally {
    await host.close();
  }
}

async function largeFrame(host: Host, transport: string): Promise<LargeFrame> {
  await host.call(transport, 'echo', { text: 'up' });
  let code = '';
  const seen = await watched(async () => {
    const huge = { kind: 'huge', bytes: 64 * mib };
    ({ code } = await faultOf(host.call(transport, 'echo', { text: 'x', fault: huge })));
    await host.call(transport, 'echo', { text: 'after' });
  });
  return { transport, code, ...seen };
}

/**
 * The longest time the loop was kept by its own work, and the growth of memory. A turn counts as
 * long as the processor time it took: on a busy machine the loop also waits for its turn, which is
 * nobody's doing here.
 */
async function watched(work: () => Promise<void>): Promise<{ lagMs: number; grownMib: number }> {
  const before = process.memoryUsage().rss;
  let [peak, lagMs, wall, cpu] = [before, 0, performance.now(), process.cpuUsage()];
  const look = () => {
    const used = process.cpuUsage(cpu);
    lagMs = Math.max(lagMs, Math.min(performance.now() - wall, (used.user + used.system) / 1000));
    peak = Math.max(peak, process.memoryUsage().rss);
    [wall, cpu] = [performance.now(), process.cpuUsage()];
  };
  const sampler = setInterval(look, 2);
  await work();
  look();
  clearInterval(sampler);
  return { lagMs, grownMib: (peak - before) / mib };
}

/** Half a million bytes of one line, each in a chunk of its own: what is held of them, in MiB. */
export function drippingLine(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = () => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const reader = new LineReader(mib, {
    line: () => {},
    oversized: () => {},
    oversizedEnd: () => {},
  });
  const before = used();
  for (let at = 0; at < 500_000; at += 1) reader.push(Buffer.from('x'));
  const grown = used() - before;
  return reader.heldBytes === 500_000 ? grown / mib : Number.NaN;
}
