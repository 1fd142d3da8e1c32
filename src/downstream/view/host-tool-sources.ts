// What health_snapshot and telemetry_snapshot tell a principal. Who sees everything and is an operator is told all.
// Another operator is told of the servers and tools that it sees, whoever calls them. Everybody else is told of its
// own calls, and of nothing that counts what others do; what cannot be divided by server or principal is left out.

import { type ShownStatus, shownStatus } from '../../host/status.ts';
import type { HostToolSources, TrafficSource } from '../../host-tools/host-tools.ts';
import type { FaultRecord } from '../../kernel/fault.ts';
import type { AccessRequest } from '../../policy/access.ts';
import { disclosedRecord } from '../../policy/disclosure.ts';
import { isOperator, type Principal } from '../../policy/principal.ts';
import type { Gateway } from '../gateway.ts';

/** What our own tools are counted under; no server has this name. */
export const ownServer = 'holdfast';

type MayKnow = HostToolSources['mayKnow'];

export function hostToolSources(gateway: Gateway, principal: Principal): HostToolSources {
  const { host, isAccepting, clock } = gateway;
  const isAll = host.access.scopeOf(principal) === '' && isOperator(principal);
  const mayKnow: MayKnow = (server, tool) =>
    server === ownServer || host.access.isAllowed(principal, stateOf(server, tool));
  const status = (): ShownStatus => host.status({ principal });
  const traffic = isAll ? host.traffic : trafficFor(gateway, principal, mayKnow);
  const { rollouts } = host.status({ principal });
  const known = {
    tools: (server: string) => toolsOf(gateway, server, mayKnow),
    calls: traffic.calls,
  };
  return {
    status: isAll ? status : () => shownStatus(host.status({ principal }), principal, known),
    mayKnow,
    workerRestarts: isAll ? host.workerRestarts : restartsFor(gateway, mayKnow),
    disclosed: <R extends FaultRecord>(record: R) => disclosedRecord(record, principal),
    traffic,
    isAccepting,
    generation: rollouts.generation,
    hostRollouts: rollouts.count,
    clock,
  };
}

/** An operator's is that of the tools it sees; everybody else's is its own. */
function trafficFor(
  { host }: Gateway,
  principal: Principal,
  mayKnow: MayKnow,
): TrafficSource & Pick<ShownStatus, 'calls'> {
  if (!isOperator(principal)) return host.trafficOf(principal);
  const { snapshot, calls } = host.traffic.cutTo(mayKnow, (name) => name !== ownServer);
  const seen = host.servers().filter(({ name }) => mayKnow(name, null));
  const inFlight = seen.reduce((sum, { admission }) => sum + admission.inside, 0);
  return { snapshot: () => ({ ...snapshot, inFlight }), lastFault: snapshot.lastFault, calls };
}

/** How many of its tools may be known; null if they were not read. */
function toolsOf({ host }: Gateway, server: string, mayKnow: MayKnow): number | null {
  const offered = host.get(server)?.catalogue.offered;
  if (offered === undefined) return null;
  return [...offered.keys()].filter((tool) => mayKnow(server, tool)).length;
}

/** Of the servers it may know of; of those that are gone nobody else is told. */
function restartsFor({ host }: Gateway, mayKnow: MayKnow): number {
  const known = host.servers().filter(({ name }) => mayKnow(name, null));
  return known.reduce((sum, { startsAgain }) => sum + startsAgain, 0);
}

function stateOf(server: string, name: string | null): AccessRequest {
  const kind = name === null ? 'server' : 'tool';
  return { action: 'status', server, kind, name, method: 'tools/call' };
}
