// Back-pressure for stdio: when all servers of this process work for one client, and that client
// does not read, the servers are not read either until it does. On a shared server this would make
// all clients wait for the slowest; there the client is disconnected (outgoing-budget).

import type { HostForGateway } from '../../host/gateway-face.ts';

export function holdUpServers(host: HostForGateway, isHeld: boolean): void {
  for (const { slots } of host.servers()) {
    for (const { supervisor } of slots.all()) supervisor.connection?.hold?.(isHeld);
  }
}
