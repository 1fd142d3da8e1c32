// A result that is too large, and one that is just large. The loop's lag and the memory are watched
// while the bytes arrive.

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

it('a server that does it again and again is not restarted: it still answers #frame-limit #noise', async () => {
  const huge = { kind: 'huge', bytes: 20 * mib };
  for (let time = 0; time < 4; time += 1) {
    expect((await faultOf(host.call('stdio', 'echo', { text: 'x', fault: huge }))).code).toBe(
      'frame_too_large',
    );
  }
  expect(textOf(await host.call('stdio', 'echo', { text: 'back' }))).toBe('back');
  expect(statusOf(host, 'stdio')).toMatchObject({ generation: 1, noise: { 'oversized-frame': 5 } });
});
