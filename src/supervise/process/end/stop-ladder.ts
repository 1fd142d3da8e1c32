// The steps of stopping a child: its stdin is closed, then its group gets SIGTERM, then SIGKILL,
// and the remaining processes of its tree are swept. Pure: times arrive inside events, `stop.ts`
// performs the effects. Invariants: a step is never taken back, an exit at any step leads to
// exactly one sweep, and every stop ends, even of a process that cannot be killed.

import type { Exit } from '../../child.ts';

export interface StopPolicy {
  /** From the closing of stdin to SIGTERM. */
  readonly stdinGraceMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly termGraceMs: number;
}

/** With it all steps together take six seconds at most, without the sweep. */
export const stopPolicy: StopPolicy = { stdinGraceMs: 2000, termGraceMs: 3000 };

/** A process that SIGKILL has not ended by then hangs in the kernel and cannot be ended now. */
const killGraceMs = 1000;

export type StopRung = 'stdin' | 'term' | 'kill';

export interface StopReport {
  /** Null when it outlived SIGKILL. */
  readonly exit: Exit | null;
  /** The last step that was needed. */
  readonly rung: StopRung;
  /** How many remaining processes of its tree were ended. */
  readonly swept: number;
}

export type StopState =
  | { readonly kind: 'running' }
  | { readonly kind: 'waiting'; readonly rung: StopRung; readonly until: number }
  | { readonly kind: 'sweeping'; readonly rung: StopRung; readonly exit: Exit | null }
  | { readonly kind: 'stopped'; readonly report: StopReport };

export type StopEvent =
  | { readonly kind: 'requested'; readonly at: number }
  /** Stopped a second time: go to SIGKILL at once. */
  | { readonly kind: 'hurried'; readonly at: number }
  | { readonly kind: 'elapsed'; readonly at: number }
  | { readonly kind: 'exited'; readonly exit: Exit }
  | { readonly kind: 'swept'; readonly count: number };

export type StopEffect =
  | { readonly kind: 'close-stdin' }
  | { readonly kind: 'signal'; readonly name: 'SIGTERM' | 'SIGKILL' }
  | { readonly kind: 'wake'; readonly at: number }
  | { readonly kind: 'sweep' }
  | { readonly kind: 'finish'; readonly report: StopReport };

export type StopStep = readonly [StopState, readonly StopEffect[]];

export const notStopping: StopState = { kind: 'running' };

export function stopStep(state: StopState, event: StopEvent, policy: StopPolicy): StopStep {
  switch (event.kind) {
    case 'requested':
      return state.kind === 'running' ? climb('stdin', event.at, policy) : [state, []];
    case 'hurried':
      return mayHurry(state) ? climb('kill', event.at, policy) : [state, []];
    case 'elapsed':
      return elapsed(state, event.at, policy);
    case 'exited':
      return exited(state, event.exit);
    case 'swept':
      return swept(state, event.count);
  }
}

function mayHurry(state: StopState): boolean {
  return state.kind === 'running' || (state.kind === 'waiting' && state.rung !== 'kill');
}

/** A timer that fires early, or for a step already left, changes nothing. */
function elapsed(state: StopState, at: number, policy: StopPolicy): StopStep {
  if (state.kind !== 'waiting' || at < state.until) return [state, []];
  switch (state.rung) {
    case 'stdin':
      return climb('term', at, policy);
    case 'term':
      return climb('kill', at, policy);
    case 'kill':
      return [{ kind: 'sweeping', rung: 'kill', exit: null }, [{ kind: 'sweep' }]];
  }
}

function climb(rung: StopRung, at: number, policy: StopPolicy): StopStep {
  const { deed, graceMs } = rungs(policy)[rung];
  const until = at + graceMs;
  return [{ kind: 'waiting', rung, until }, [deed, { kind: 'wake', at: until }]];
}

function rungs(policy: StopPolicy): Record<StopRung, { deed: StopEffect; graceMs: number }> {
  return {
    stdin: { deed: { kind: 'close-stdin' }, graceMs: policy.stdinGraceMs },
    term: { deed: { kind: 'signal', name: 'SIGTERM' }, graceMs: policy.termGraceMs },
    kill: { deed: { kind: 'signal', name: 'SIGKILL' }, graceMs: killGraceMs },
  };
}

function exited(state: StopState, exit: Exit): StopStep {
  // Before any stop the exit is handled by the child's machine.
  if (state.kind !== 'waiting') return [state, []];
  return [{ kind: 'sweeping', rung: state.rung, exit }, [{ kind: 'sweep' }]];
}

function swept(state: StopState, count: number): StopStep {
  if (state.kind !== 'sweeping') return [state, []];
  const report = { exit: state.exit, rung: state.rung, swept: count };
  return [{ kind: 'stopped', report }, [{ kind: 'finish', report }]];
}
