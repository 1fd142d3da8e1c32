// The gateways of a run that are rolled over, and what happens first to each: every kind of event comes somewhere within
// the first seconds. What is done later, and when, is thrown by dice (rollout-harm.ts).

import type { StdioClient } from '../client-stdio.ts';
import type { EndsLog } from '../ends-log.ts';
import { type Fleet, ownState } from '../fleet.ts';
import { complaints, type Gateway } from '../gateway.ts';
import { plainly, type Rollable } from './rollable.ts';
import type { RolloutEvent } from './rollout-harm.ts';
import { untilServed } from './served.ts';

export interface RolledGateway {
  readonly rollable: Rollable;
  readonly first: readonly RolloutEvent[];
  readonly leastMs: number;
  readonly mostMs: number;
}

/** `owners`: the stdio clients, with the names of those whose gateways they have. */
export function rolledGateways(
  fleet: Fleet,
  owners: readonly { readonly owner: string; readonly client: StdioClient }[],
): readonly RolledGateway[] {
  const { gateway, guarded, config } = fleet;
  const turns: Pick<Rollable, 'calmly' | 'alone'> = {
    calmly: (work) => config.inPlace(work),
    alone: (work) => config.alone(() => config.inPlace(work)),
  };
  return [
    {
      rollable: listening('the gateway', gateway, turns),
      ...{ first: ['roll', 'serving'], leastMs: 3000, mostMs: 9000 },
    },
    {
      rollable: listening('the gateway of principals', guarded.gateway, {
        calmly: plainly,
        alone: plainly,
      }),
      ...{ first: ['twice'], leastMs: 4000, mostMs: 12_000 },
    },
    {
      rollable: ofWindows(fleet),
      ...{ first: ['successor'], leastMs: 3000, mostMs: 9000 },
    },
    {
      rollable: ofWorkers(fleet),
      ...{ first: ['roll'], leastMs: 5000, mostMs: 15_000 },
    },
    ...owners.map(({ owner, client }, at) => ({
      rollable: onStdio(fleet, owner, client),
      first: at === 0 ? (['roll', 'holder'] as const) : (['successor'] as const),
      ...{ leastMs: 5000, mostMs: 15_000 },
    })),
  ] satisfies readonly RolledGateway[];
}

function listening(
  name: string,
  gateway: Gateway,
  turns: Pick<Rollable, 'calmly' | 'alone'>,
): Rollable {
  return {
    name,
    gateway: () => name,
    holder: () => gateway.pid,
    ask: () => gateway.rollOut(),
    said: () => gateway.complaints,
    endures: noted(gateway.ends),
    servesAgain: () => untilServed(gateway.url),
    ...turns,
  };
}

function ofWindows({ instances, outlived, report }: Fleet): Rollable {
  const holder = () => instances.processes()[0];
  return {
    name: 'the instance of the windows',
    gateway: () => 'the instances',
    holder,
    ask: () => instances.rollOut(),
    said: () => instances.said,
    endures: noted(instances.ends),
    // A window hears of it by itself, and waits for the next one.
    servesAgain: () => Promise.resolve(),
    async killHolder() {
      const pid = holder();
      if (pid === undefined) return;
      await instances.end('SIGKILL', pid).then(
        (orphans) => orphans.forEach(outlived),
        ({ message }: Error) => report(message),
      );
    },
    calmly: plainly,
    alone: plainly,
  };
}

function ofWorkers({ remote, outlived }: Fleet): Rollable {
  return {
    name: 'the orchestrator',
    gateway: () => 'the orchestrators',
    holder: () => remote.holder,
    ask: () => remote.rollOut(),
    said: () => remote.said,
    endures: noted(remote.ends),
    servesAgain: () => remote.servesAgain(),
    async killHolder() {
      for (const orphan of await remote.killOrchestrator()) outlived(orphan);
    },
    calmly: plainly,
    alone: plainly,
  };
}

function onStdio({ home }: Fleet, owner: string, client: StdioClient): Rollable {
  return {
    name: `the gateway of ${owner}`,
    gateway: () => client.life,
    holder: () => client.gatewayPid,
    said: () => complaints({ ...home, state: ownState(owner) }),
    endures: (_, harm) => client.endures(harm),
    // Its client knows one process: there is no other.
    servesAgain: () => Promise.resolve(),
    killHolder: () => client.die(),
    calmly: plainly,
    alone: plainly,
  };
}

function noted(ends: EndsLog): Rollable['endures'] {
  return async (way, harm) => {
    const from = await harm();
    if (from !== undefined) ends.note(way, from);
  };
}
