// A result that is too large, and one that is just large. What the loop and the memory have to do with
// it is measured by `npm run load`.

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

describe.each(['stdio', 'http'])('over %s', (server) => {
  it('64 MiB on one line are refused at the limit, and no other message is #frame-limit', async () => {
    expect(textOf(await host.call(server, 'echo', { text: 'up' }))).toBe('up');
    const huge = { kind: 'huge', bytes: 64 * mib };
    const refused = faultOf(host.call(server, 'echo', { text: 'x', fault: huge }));
    expect(textOf(await host.call(server, 'echo', { text: 'beside' }))).toBe('beside');
    const fault = await refused;
    expect(fault.record).toMatchObject({
      code: 'frame_too_large',
      dispatched: 'yes',
      retryable: false,
    });
    expect(fault.message).toContain('limits.frameBytes');
    expect(textOf(await host.call(server, 'echo', { text: 'after' }))).toBe('after');
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
