// Reads the lists of servers that nobody has read yet, for what is said of roles: a pattern can be judged only
// where the lists that it is about are known. Lists that cannot be read stay unknown.

import type { HostForGateway } from '../host/gateway-face.ts';
import { freshen } from '../host/lists/list-reading.ts';
import { listKinds } from '../host/lists/listings.ts';
import { ignored } from '../kernel/contain.ts';

/** All lists of this server; it is started if need be. */
export async function readLists(
  host: HostForGateway,
  name: string,
  deadlineMs: number,
): Promise<void> {
  const server = host.find(name);
  await server.recall().catch(ignored);
  for (const kind of listKinds) {
    if (server.offerings.definitions(kind) !== undefined || !server.offerings.mayHave(kind))
      continue;
    await freshen(host, server, kind, { deadlineMs, asksAgain: false }).catch(ignored);
  }
}
