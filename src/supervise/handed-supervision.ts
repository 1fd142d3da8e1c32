// What is known of a server's supervision, as one serving process writes it down for the next: its breaker,
// its restart budget, its generations, and where each connection is in its life. The monotonic clock of the
// next process begins elsewhere, so times are written as ages and as what is left of them. Pure; who asks
// for it passes the moment.

import type { BreakerState } from './breaker-machine.ts';
import type { LifeState, Phase } from './life-machine.ts';
import type { RestartState } from './restart-machine.ts';

export interface HandedRestarts {
  readonly failedAgoMs: readonly number[];
  readonly shortAgoMs: readonly number[];
  readonly streak: number;
  readonly ejected: boolean;
}

export interface HandedBreaker {
  readonly kind: BreakerState['kind'];
  readonly epoch: number;
  readonly failures: number;
  /** Of one that is open: how long it refuses. */
  readonly leftMs: number;
}

export type HandedPhase =
  | { readonly kind: 'idle'; readonly waitMs: number }
  | { readonly kind: 'ready'; readonly forMs: number }
  | { readonly kind: 'cooling'; readonly waitMs: number }
  | { readonly kind: 'ejected' };

export interface HandedLife {
  readonly generation: number;
  readonly phase: HandedPhase;
}

export function writtenRestarts(state: RestartState, now: number): HandedRestarts {
  const age = (at: number) => Math.max(0, now - at);
  return {
    failedAgoMs: state.failures.map(age),
    shortAgoMs: state.shortages.map(age),
    streak: state.streak,
    ejected: state.ejected,
  };
}

export function restartsFrom(handed: HandedRestarts, now: number): RestartState {
  return {
    failures: handed.failedAgoMs.map((ms) => now - ms),
    shortages: handed.shortAgoMs.map((ms) => now - ms),
    streak: handed.streak,
    ejected: handed.ejected,
  };
}

export function writtenBreaker(state: BreakerState, now: number): HandedBreaker {
  const leftMs = state.kind === 'open' ? Math.max(0, state.until - now) : 0;
  const { kind, epoch, failures } = state;
  return { kind, epoch, failures, leftMs };
}

/** A probe that runs belongs to the process before this one, which does not tell how it ends: another one may begin. */
export function breakerFrom({ kind, epoch, failures, leftMs }: HandedBreaker, now: number) {
  const all: Readonly<Record<BreakerState['kind'], BreakerState>> = {
    closed: { kind: 'closed', epoch, failures },
    open: { kind: 'open', epoch, failures, until: now + leftMs },
    half_open: { kind: 'half_open', epoch, failures, probeUntil: null },
  };
  return all[kind];
}

/** A start that is under way is of those who wait for it here, and so is what is being closed. */
export function writtenLife({ generation, phase }: LifeState, now: number): HandedLife {
  return { generation, phase: writtenPhase(phase, now) };
}

function writtenPhase(phase: Phase, now: number): HandedPhase {
  const left = (until: number) => Math.max(0, until - now);
  switch (phase.kind) {
    case 'idle':
      return { kind: 'idle', waitMs: left(phase.notBefore) };
    case 'ready':
      return { kind: 'ready', forMs: Math.max(0, now - phase.since) };
    case 'cooling':
      return { kind: 'cooling', waitMs: left(phase.until) };
    case 'ejected':
      return { kind: 'ejected' };
    case 'stopping':
      if (phase.then.kind === 'eject') return { kind: 'ejected' };
      return { kind: 'idle', waitMs: phase.then.kind === 'cool' ? left(phase.then.until) : 0 };
    default:
      return { kind: 'idle', waitMs: 0 };
  }
}

/** Without a connection: one that was ready is idle until it is taken over. */
export function phaseFrom(handed: HandedPhase, now: number): Phase {
  switch (handed.kind) {
    case 'cooling':
      return { kind: 'cooling', until: now + handed.waitMs };
    case 'ejected':
      return { kind: 'ejected' };
    case 'idle':
      return { kind: 'idle', notBefore: handed.waitMs > 0 ? now + handed.waitMs : -Infinity };
    case 'ready':
      return { kind: 'idle', notBefore: -Infinity };
  }
}
