// Many clients at once that cannot be told apart by anything but what they say: what belongs to one
// never reaches another. The number of answers is HOLDFAST_TEST_RESPONSES, or as many as a test run
// has the time for.

import { describe, expect, it } from 'vitest';
import { faultyHttp, faultyStdio } from '../support/faulty.ts';
import { CrowdClient, type Kind } from '../support/gateway-crowd.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

const clients = 64;
const responses = Number(process.env['HOLDFAST_TEST_RESPONSES'] ?? 100_000);

const near: readonly Kind[] = [
  { era: 'modern', server: 'old', serverEra: 'legacy' },
  { era: 'legacy', server: 'old', serverEra: 'legacy' },
  { era: 'modern', server: 'new', serverEra: 'modern' },
  { era: 'legacy', server: 'new', serverEra: 'modern' },
];
/** Over HTTP a server costs more than everything else here, so only few call it. */
const far: readonly Kind[] = [
  { era: 'modern', server: 'far', serverEra: 'modern' },
  // It speaks both eras, and a legacy client is served in its own.
  { era: 'legacy', server: 'far', serverEra: 'legacy' },
];
const kinds = [...near, ...near, ...near, ...far];

describe(`${clients} clients with the same ids and progress tokens`, () => {
  it(`get no foreign byte in ${responses} responses #right-answer #own-answers-only`, async () => {
    await using remote = await faultyHttp();
    await using home = await GatewayHome.create({
      mcpServers: {
        old: { ...faultyStdio({ era: 'legacy' }), queue: 1024 },
        new: { ...faultyStdio({ era: 'modern' }), queue: 1024 },
        far: { type: 'http', url: remote.url, queue: 1024 },
      },
    });
    await using served = await home.serve();
    using onlooker = new HttpClient(served.url);
    await onlooker.modern('tools/list');
    const port = Number(new URL(served.url).port);
    const crowd = Array.from({ length: clients }, (_, number) => {
      const kind = kinds[number % kinds.length] as Kind;
      return new CrowdClient(number, kind, port);
    });
    try {
      let left = responses;
      const take = () => left-- > 0;
      const began = performance.now();
      await Promise.all(crowd.map((client) => client.open()));
      await Promise.all(crowd.map((client) => client.run(take)));
      const seconds = (performance.now() - began) / 1000;
      const progress = crowd.reduce((sum, client) => sum + client.progress, 0);
      console.log(
        `${responses} responses and ${progress} reports of progress in ${seconds.toFixed(1)} s`,
      );
      expect(progress).toBeGreaterThan(responses / 32);
    } finally {
      for (const client of crowd) client.close();
    }
    const { result } = await onlooker.call('holdfast__health_snapshot', {
      render: 'json',
      detail: 'full',
    });
    const { calls, servers } = result.structuredContent.status;
    expect(calls).toMatchObject({ isError: 0, faults: 0, replays: 0 });
    expect(servers.map(({ inFlight }: { inFlight: number }) => inFlight)).toEqual([0, 0, 0]);
  }, 300_000);
});
