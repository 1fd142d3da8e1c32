// The rules about rollouts. A server that is ready at the fence, and well, is given to the next process and keeps its
// process or its session there; no call ends for want of a server that goes on; the process before ends when its calls
// have. That ids are not used twice and that one process at a time has the pipes and the database is seen where it
// happens (sim-program, sim-child, sim-database); that nothing begins anew is judged by the rules of a process.

import type { HostCore } from '../../src/host/host-core.ts';
import type { Server } from '../../src/host/servers/server.ts';
import type { Violated } from './call-rules.ts';
import { type CallRecord, describe } from './calls.ts';
import type { Circuit } from './probe-rules.ts';
import type { ProcessRules } from './process-rules.ts';
import type { HandedAll, Serving } from './serving.ts';
import type { SimChild } from './sim-child.ts';
import type { World } from './world.ts';

/** What is known of a server, whatever its process does. */
export interface Standing {
  readonly circuit: Circuit;
  readonly isEjected: boolean;
  readonly generation: number;
}

export function standingOf({ supervisor }: Server): Standing {
  const { breaker, phase, generation } = supervisor;
  return { circuit: breaker.circuit, isEjected: phase.kind === 'ejected', generation };
}

/** A server of the process before, when the fence was drawn. */
interface Ready {
  readonly server: string;
  readonly child: SimChild;
}

export class RolloutRules {
  readonly #world: World;
  readonly #violated: Violated;

  constructor(world: World, violated: Violated) {
    this.#world = world;
    this.#violated = violated;
  }

  // --- the fence ---------------------------------------------------------------------------

  /** Right before it: the servers whose processes must go along. */
  readyAt({ host, tether }: Serving): readonly Ready[] {
    return host.servers().flatMap(({ name, slots }) =>
      [...slots.all()].flatMap(({ supervisor }) => {
        const isReady = supervisor.phase.kind === 'ready' && !supervisor.connection?.isLost;
        const child = isReady ? this.#childOf(supervisor.connection?.pid) : undefined;
        const isWell = child?.isSound && !child.isBeingClosed && child.tether === tether;
        return child !== undefined && isWell ? [{ server: name, child }] : [];
      }),
    );
  }

  /** They were ready and are still well: they must have been given. */
  wereGiven(ready: readonly Ready[], { given }: HandedAll): void {
    const pids = new Set(given.map(({ handed }) => handed.child?.state.id));
    for (const { server, child } of ready) {
      if (!child.isSound || child.isBeingClosed || pids.has(child.pid)) continue;
      this.#violated('rollout', `${server} ${child.pid} was ready at the fence and was not given`);
    }
  }

  /** What is known of each server goes along: asked as soon as the next process has read it. */
  goAlong(
    written: ReadonlyMap<string, Standing>,
    { host }: Serving,
    isSame: (name: string) => boolean,
  ): void {
    for (const [name, before] of written) {
      const server = host.get(name);
      if (server === undefined) continue;
      const { circuit, isEjected, generation } = standingOf(server);
      // Of another program the generations go on, which its next start shows.
      if (!isSame(name)) continue;
      if (generation < before.generation) {
        this.#violated('rollout', `${name}: generation ${generation} follows ${before.generation}`);
      }
      // The time of an open circuit may have come.
      const isOver = before.circuit === 'open' && circuit === 'half_open';
      if (circuit !== before.circuit && !isOver) {
        this.#violated('rollout', `${name}: its circuit was ${before.circuit} and is ${circuit}`);
      }
      if (before.isEjected && !isEjected) {
        this.#violated('rollout', `${name} was ejected and is not`);
      }
    }
  }

  /** What was given is in use, as far as it is run as before. */
  areAdopted({ given }: HandedAll, serving: Serving, isSame: (name: string) => boolean): void {
    for (const { server, handed } of given) {
      if (!isSame(server)) continue;
      const pid = handed.child?.state.id;
      if (pid === undefined) {
        this.#world.happenings.add('sessions of servers kept over a rollout');
        continue;
      }
      const child = this.#childOf(pid);
      if (child === undefined || !child.isSound || child.isBeingClosed) continue;
      if (serving.host.get(server)?.supervisor.phase.kind === 'stopping') continue;
      if (child.tether === serving.tether && this.#isUsed(serving.host, server, pid)) {
        this.#world.happenings.add('processes of servers kept over a rollout');
      } else {
        this.#violated('rollout', `${server} ${pid} was given and is not used`);
      }
    }
  }

  #isUsed(host: HostCore, name: string, pid: number): boolean {
    const slots = host.get(name)?.slots.all() ?? [];
    return [...slots].some(({ supervisor }) => supervisor.connection?.pid === pid);
  }

  #childOf(pid: number | null | undefined): SimChild | undefined {
    return pid == null ? undefined : this.#world.childOf(pid);
  }

  // --- calls -------------------------------------------------------------------------------

  /** Ended by a process that has been replaced: nobody but its server, its caller or its time may have ended it. */
  callEnded(record: CallRecord, serving: ProcessRules): void {
    const { plan, process, ended, gaveUpInStep } = record;
    if (process === serving || ended === undefined) return;
    this.#world.happenings.add('calls ended by a former process');
    if (ended.ending.kind !== 'fault' || process.isCutOff) return;
    const { code } = ended.ending.fault;
    const says = `${describe(record)} ended in ${code} at a former process`;
    if (code === 'draining') this.#violated('rollout', says);
    if (code === 'cancelled' && gaveUpInStep === undefined) this.#violated('rollout', says);
    if (code !== 'outcome_unknown' && code !== 'unavailable') return;
    const runs = this.#world.ledger.of(plan.nonce).filter(({ phase }) => phase === 'received');
    if (plan.isShared || runs.length !== 1) return;
    const child = this.#childOf(runs[0]?.call.pid);
    if (child?.isSound && !child.isBeingClosed) {
      this.#violated('rollout', `${says}, but ${child.name} ${child.pid} goes on`);
    }
  }

  // --- the process before --------------------------------------------------------------------

  tookTooLong(ms: number): void {
    this.#violated('rollout', `a former process without calls has not ended within ${ms} ms`);
  }
}
