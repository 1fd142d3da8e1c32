// What a host has written down for the next process, after a while: its times are ages and what is left of them at the
// moment of writing, and until the next process goes on with it some time passes, above all if a successor is lost behind
// the fence and another one is given the same. Both processes are on one machine, whose clock says how long that was.
// Nothing of the state is interpreted here: ages grow, what is left becomes less.

import type { HandedPhase } from '../../supervise/handed-supervision.ts';
import type { CatalogueState, HostState, ServerState, SlotState } from './host-state.ts';

export function agedBy(state: HostState, ms: number): HostState {
  if (ms <= 0) return state;
  const { servers, cache, tasks } = state;
  return {
    ...state,
    uptimeMs: state.uptimeMs + ms,
    servers: servers.map((server) => agedServer(server, ms)),
    tasks: {
      ...tasks,
      begun: tasks.begun.map((task) => ({ ...task, leftMs: less(task.leftMs, ms) })),
    },
    cache: {
      ...cache,
      entries: cache.entries.map((entry) => ({ ...entry, ttlMs: less(entry.ttlMs, ms) })),
    },
  };
}

function agedServer(server: ServerState, ms: number): ServerState {
  return {
    ...server,
    slots: server.slots.map((slot) => agedSlot(slot, ms)),
    standings: server.standings.map((standing) => ({
      ...standing,
      breaker: { ...standing.breaker, leftMs: less(standing.breaker.leftMs, ms) },
      restarts: {
        ...standing.restarts,
        failedAgoMs: standing.restarts.failedAgoMs.map((age) => age + ms),
        shortAgoMs: standing.restarts.shortAgoMs.map((age) => age + ms),
      },
    })),
    catalogues: server.catalogues.map((catalogue) => agedCatalogue(catalogue, ms)),
  };
}

function agedSlot(slot: SlotState, ms: number): SlotState {
  const { life, leases } = slot.supervisor;
  const idleMs = leases.idleMs === null ? null : leases.idleMs + ms;
  const supervisor = {
    ...slot.supervisor,
    life: { ...life, phase: agedPhase(life.phase, ms) },
    leases: { ...leases, idleMs },
  };
  return { ...slot, supervisor };
}

function agedPhase(phase: HandedPhase, ms: number): HandedPhase {
  switch (phase.kind) {
    case 'idle':
    case 'cooling':
      return { ...phase, waitMs: less(phase.waitMs, ms) };
    case 'ready':
      return { ...phase, forMs: phase.forMs + ms };
    case 'ejected':
      return phase;
  }
}

function agedCatalogue(catalogue: CatalogueState, ms: number): CatalogueState {
  const { shownAgoMs } = catalogue;
  return {
    ...catalogue,
    shownAgoMs: shownAgoMs === null ? null : shownAgoMs + ms,
    lists: catalogue.lists.map((list) => ({
      ...list,
      holdsMs: less(list.holdsMs, ms),
      staleInMs: list.staleInMs === null ? null : less(list.staleInMs, ms),
    })),
  };
}

function less(leftMs: number, ms: number): number {
  return Math.max(0, leftMs - ms);
}
