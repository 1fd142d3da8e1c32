// A time of trouble: clients of every kind call servers of every kind, many at once, while harm is
// done to all of them. It begins with new clients and ends when each has been answered and has left.

import { setMaxListeners } from 'node:events';
import type { Dice } from '../support/dice.ts';
import { type ClientRow, Clients } from './clients.ts';
import type { Fleet } from './fleet.ts';
import { Harm } from './harm.ts';
import { InstanceHarm } from './instances/instance-harm.ts';
import { nextCalls } from './instances/next-calls.ts';
import { Lane } from './lane.ts';
import { lateVisits } from './late-visits.ts';
import { ConfigEdits } from './live-config/config-edits.ts';
import { Principals } from './principals/principals.ts';
import { nextCallsOfWorkers, RemoteHarm } from './remote/remote-harm.ts';
import { rolledGateways } from './rollouts/rollables.ts';
import { RolloutHarm } from './rollouts/rollout-harm.ts';
import type { Tally } from './tally.ts';
import { lastVisit, visits } from './visits.ts';

const lanesPerClient = 8;
const lanesPerWindow = 3;
/** How long a client waits, when the storm is over, for what it is still owed. */
const patienceMs = 60_000;

export interface StormOptions {
  readonly name: string;
  readonly seconds: number;
  readonly fleet: Fleet;
  readonly dice: Dice;
  readonly tally: Tally;
}

export async function storm({ name, seconds, fleet, dice, tally }: StormOptions): Promise<void> {
  const { folder, claims, servers } = fleet;
  const clients = await Clients.open(name, fleet, tally);
  const isOver = AbortSignal.timeout(Math.round(seconds * 1000));
  setMaxListeners(0, isOver);
  const { all, mortal } = clients;
  const webServers = fleet.webServers.filter(({ isVictim }) => isVictim);
  const victims = { folder, claims, servers, webServers, clients: all, mortal };
  const harm = new Harm(victims, dice.of(`${name}-harm`), tally, isOver);
  const lanes = clients.rows.flatMap((row) =>
    Array.from({ length: lanesOf(row) }, (_, number) =>
      new Lane(row, `${row.name}-${number}`, dice, claims, isOver).run(),
    ),
  );
  const [first, second] = clients.shared;
  const special = (row: ClientRow, what: string) =>
    new Lane(row, `${name}-${what}`, dice, claims, isOver);
  const ends = new InstanceHarm({
    ...{ name, fleet, dice: dice.of(`${name}-ends`), tally, isOver },
    windows: clients.windows,
  });
  const rollouts = rolledGateways(fleet, clients.owners).map(
    ({ rollable, ...more }) =>
      new RolloutHarm({
        ...{ rollable, tally, isOver, log: fleet.rollouts, report: fleet.report },
        ...{ dice: dice.of(`${name}-rollouts-${rollable.name}`), ...more },
      }),
  );
  await Promise.all([
    ...rollouts.map((one) => one.run()),
    harm.run(),
    ends.run(),
    new RemoteHarm({
      ...{ fleet, dice: dice.of(`${name}-remote`), tally, isOver },
      workers: clients.workers,
    }).run(),
    new ConfigEdits({ name, fleet, dice: dice.of(`${name}-edits`), tally, isOver }).run(),
    new Principals({ name, fleet, dice: dice.of(`${name}-principals`), tally, isOver }).run(),
    ...clients.windows.flatMap((row) =>
      [1, 2].map((at) => special(row, `${row.name}-keys-${at}`).repeatKeys()),
    ),
    ...lanes,
    special(first, 'deafen').deafen(),
    special(second, 'flood').flood(),
    special(second, 'stall').stall(folder, tally),
    ...clients.rows
      .filter(({ hasGateway }) => hasGateway)
      .flatMap((row) => [
        special(row, `${row.name}-names`).takeNames(),
        special(row, `${row.name}-roots`).askForRoots(),
      ]),
    ...['visit-1', 'visit-2'].map((series) => {
      const own = `${name}-${series}`;
      return visits({ name: own, fleet, dice: dice.of(own), tally, isOver });
    }),
    lateVisits({ name: `${name}-late`, fleet, dice: dice.of(`${name}-late`), tally, isOver }),
  ]);
  await lastVisit({
    name: `${name}-visit-last`,
    fleet,
    dice: dice.of(`${name}-visit-last`),
    tally,
  });
  await nextCalls(clients.windows, fleet);
  await nextCallsOfWorkers(clients.workers, fleet);
  await clients.leave(patienceMs);
  await fleet.instances.rest(fleet.report);
}

function lanesOf({ isWindow, isWorker }: ClientRow): number {
  return isWindow === true || isWorker === true ? lanesPerWindow : lanesPerClient;
}
