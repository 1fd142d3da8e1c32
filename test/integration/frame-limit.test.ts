// A result that is too large, and one that is just large. The loop's lag and the memory are watched
// while the bytes arrive.

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Host } from '../../src/host/host.ts';
import { type FaultyHttp, faultyHttp, faultyStdio } from '../support/faulty.ts';
import { faultOf, hostWith, statusOf, textOf } from '../support/host.ts';

const mib = 1024 * 1024;
let host: Host;
let remote: FaultyHttp;

beforeAll(async () => {
  remote = await faultyHttp();
  host = await hostWith({ stdio: faultyStdio(), http: { url: remote.url } });
});

afterAll(async () => {
  await host.close();
  await remote[Symbol.asyncDispose]();
});

/** The longest time the loop stood still and the growth of memory while the work ran. */
async function watched(work: () => Promise<void>): Promise<{ lagMs: number; grownMib: number }> {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 10);
  delay.enable();
  await work();
  delay.disable();
  clearInterval(sampler);
  return { lagMs: delay.max / 1e6, grownMib: (peak - before) / mib };
}

describe.each(['stdio', 'http'])('over %s', (server) => {
  it('64 MiB on one line are refused at the limit, without blocking and without filling memory #frame-limit', async () => {
    expect(textOf(await host.call(server, 'echo', { text: 'up' }))).toBe('up');
    const seen = await watched(async () => {
      const huge = { kind: 'huge', bytes: 64 * mib };
      const fault = await faultOf(host.call(server, 'echo', { text: 'x', fault: huge }));
      expect(fault.record).toMatchObject({
        code: 'frame_too_large',
        dispatched: 'yes',
        retryable: false,
      });
      expect(fault.message).toContain('limits.frameBytes');
      await host.call(server, 'echo', { text: 'after' });
    });
    expect(seen.lagMs).toBeLessThan(100);
    expect(seen.grownMib).toBeLessThan(64);
    expect(statusOf(host, server)).toMatchObject({ generation: 1, state: 'ready' });
  });

  it('10 MiB within the limit pass #frame-limit', async () => {
    const large = { kind: 'huge', bytes: 10 * mib };
    const bytes = await host.callRaw(server, 'echo', JSON.stringify({ text: 'x', fault: large }));
    expect(bytes.length).toBeGreaterThan(10 * mib);
  });
});

it('a line whose id comes last is refused at its end #frame-limit', async () => {
  const huge = { kind: 'huge', bytes: 20 * mib, idLast: true };
  const running = await hostWith({ late: faultyStdio() });
  const fault = await faultOf(running.call('late', 'echo', { text: 'x', fault: huge }));
  await running.close();
  expect(fault.record).toMatchObject({ code: 'frame_too_large', dispatched: 'yes' });
});

it('a server that does it three times is restarted #frame-limit', async () => {
  const huge = { kind: 'huge', bytes: 20 * mib };
  for (let strike = 0; strike < 2; strike += 1) {
    expect((await faultOf(host.call('stdio', 'echo', { text: 'x', fault: huge }))).code).toBe(
      'frame_too_large',
    );
  }
  expect(textOf(await host.call('stdio', 'echo', { text: 'back' }))).toBe('back');
  expect(statusOf(host, 'stdio').generation).toBe(2);
});
