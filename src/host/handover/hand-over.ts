// The fence of a host: its connections are given to the next serving process, and everything else that one has to
// know is written down at one moment. What was begun here goes on with what was given away; nothing of it is
// restarted, stopped, counted or stored here any more.

import { within } from '../../kernel/clock.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { PipelineParts } from '../pipeline-parts.ts';
import type { HandedHost, HandOverTo } from './handed-host.ts';
import { giveLaterTasks } from './handed-tasks.ts';
import { type HandedCounts, type HostState, hostStateVersion } from './host-state.ts';

/** How long a process that is being started holds the others up. */
const leaveMs = 2_000;

/** What the host itself knows besides its parts. */
export interface Identified {
  readonly instance: string;
  readonly generation: number;
  readonly uptimeMs: number;
  /** By the clock of the machine. */
  readonly writtenAt?: number;
}

export async function handOver(
  parts: PipelineParts,
  identified: () => Identified,
  to: HandOverTo,
  leave: () => Promise<void>,
): Promise<HandedHost> {
  const { registry, roleBudgets, cache, tasks } = parts;
  // A list that is read now is not stored any more: it is written down below.
  parts.isHandedOver = true;
  let id = 0;
  const nextId = () => id++;
  const given = await Promise.all(
    registry.all().map(async (server) => [server, await server.give(to, nextId)] as const),
  );
  const left = within(parts.clock, leaveMs, leave());
  await Promise.all([to.link && roleBudgets.handOver(to.link), left]);
  // From here on at one moment.
  const { hits, misses } = cache.stats();
  const entries = [...cache.written()];
  const ids = new Map<Connection | undefined, number>();
  for (const [, slots] of given) {
    for (const [slot, one] of slots) ids.set(slot.supervisor.connection, one.id);
  }
  const numberOf = (connection: Connection) => ids.get(connection);
  const begun = tasks.take(numberOf);
  if (to.link) giveLaterTasks(tasks, numberOf, to.link);
  const state: HostState = {
    version: hostStateVersion,
    ...identified(),
    startsAgain: registry.startsAgainOfRemoved,
    servers: given.map(([server, slots]) => server.handOver(slots)),
    counts: takenCounts(parts),
    tasks: { next: tasks.next, begun: [...begun] },
    cache: {
      hits,
      misses,
      entries: entries.map(({ bytes, ...entry }) => ({ ...entry, length: bytes.length })),
    },
  };
  return { state, payload: Buffer.concat(entries.map(({ bytes }) => bytes)) };
}

/** What was counted since the last time: here the counts begin again. */
export function takenCounts({ traffic, ownTraffic }: PipelineParts): HandedCounts {
  // What is given out is read only; the type of the state is that of JSON.
  const counts = { traffic: traffic.take(), byPrincipal: ownTraffic.take() };
  return counts as unknown as HandedCounts;
}
