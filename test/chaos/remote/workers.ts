// The workers of one storm: clients at the pipes of `holdfast proxy`, each with the credential of another role.

import { StdioClient } from '../client-stdio.ts';
import type { ClientRow } from '../clients.ts';
import type { Fleet } from '../fleet.ts';
import { startProxy } from '../gateway.ts';
import { orchestratorName, remoteServers } from '../servers.ts';
import type { Tally } from '../tally.ts';
import { credentialOf, workerRoles } from './remote-fleet.ts';

export function workersOf(storm: string, fleet: Fleet, tally: Tally): readonly ClientRow[] {
  const { folder, report, outlived, remote } = fleet;
  return workerRoles.map(({ worker, servers }) => {
    const name = `${storm}-worker-${worker}`;
    const credential = credentialOf(remote.home, worker);
    const home = { ...remote.home, state: `state-${worker}`, credential };
    const start = () => startProxy(home, remote.url, orchestratorName);
    const left = async () => [];
    const gateway = 'the orchestrators';
    const client = new StdioClient({ name, folder, tally, gateway, start, left, report, outlived });
    const usable = remoteServers.filter((spec) => servers.some((one) => one === spec.name));
    return { name, client, hasGateway: false, isWorker: true, servers: usable };
  });
}
