// Back-pressure where it hurts nobody else: when all servers of this process work for one client, and
// that client does not read, they are not read either until it does. On a server that is shared this
// would make everybody wait for the slowest; there the client pays (outgoing-budget).

import type { HostForGateway } from '../../host/gateway-face.ts';

export function holdUpServers(host: HostForGateway, isHeld: boolean): void {
  for (const { slots } of host.servers()) {
    for (const { supervisor } of slots.all()) supervisor.connection?.hold?.(isHeld);
  }
}
