// What the gateway itself says about its servers, asked of its own tool by a client like any other.

import type { Differences } from './comparison.ts';
import { HttpPeer } from './peers/http-peer.ts';
import { greet } from './reading.ts';

export interface Status {
  readonly name: string;
  readonly state: string;
  readonly cause: string | null;
  readonly lastFault: { readonly detail: string } | null;
}

export async function statusOf(url: string): Promise<readonly Status[]> {
  const kind = { era: 'legacy', capabilities: {} } as const;
  await using peer = new HttpPeer(url, kind, '');
  await greet(peer, kind);
  const params = {
    name: 'holdfast__health_snapshot',
    arguments: { render: 'json', detail: 'full' },
  };
  const result = JSON.parse(await peer.ask('tools/call', params)) as {
    structuredContent: { status: { servers: readonly Status[] } };
  };
  return result.structuredContent.status.servers;
}

/** With what the gateway says about each server that differs. */
export async function explained(url: string, differences: Differences): Promise<Differences> {
  if (differences.size === 0) return differences;
  const statuses = new Map((await statusOf(url)).map((status) => [status.name, status]));
  return new Map(
    [...differences].map(([server, lines]) => {
      const { state, lastFault, cause } = statuses.get(server) ?? {};
      const why = lastFault?.detail ?? cause;
      return [server, why ? [...lines, `the gateway says: ${state}, ${why}`] : lines];
    }),
  );
}
