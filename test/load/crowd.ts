// Many clients at once that cannot be told apart by anything but what they say: what belongs to one
// never reaches another. Whoever gets a foreign byte throws.

import { faultyHttp, faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { CrowdClient, type Kind } from './crowd-client.ts';

export const clients = 64;

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

export interface CrowdSeen {
  /** Reports of progress, besides the responses. */
  readonly progress: number;
  /** As the gateway counts them. */
  readonly failed: number;
  /** Calls that are under way or waiting when everybody has been answered. */
  readonly left: number;
  readonly seconds: number;
}

/** So many responses for clients with the same ids and progress tokens. */
export async function crowd(responses: number): Promise<CrowdSeen> {
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
  const all = Array.from({ length: clients }, (_, number) => {
    const kind = kinds[number % kinds.length] as Kind;
    return new CrowdClient(number, kind, port);
  });
  const began = performance.now();
  try {
    let left = responses;
    const take = () => left-- > 0;
    await Promise.all(all.map((client) => client.open()));
    await Promise.all(all.map((client) => client.run(take)));
  } finally {
    for (const client of all) client.close();
  }
  const seconds = (performance.now() - began) / 1_000;
  const progress = all.reduce((sum, client) => sum + client.progress, 0);
  return { progress, seconds, ...(await countsOf(onlooker)) };
}

async function countsOf(onlooker: HttpClient): Promise<{ failed: number; left: number }> {
  const wish = { render: 'json', detail: 'full' };
  const { result } = await onlooker.call('holdfast__health_snapshot', wish);
  const { calls, servers } = result.structuredContent.status;
  const left = servers.map(
    ({ inFlight, queued }: { inFlight: number; queued: number }) => inFlight + queued,
  );
  return {
    failed: calls.isError + calls.faults + calls.replays,
    left: left.reduce((sum: number, count: number) => sum + count, 0),
  };
}
