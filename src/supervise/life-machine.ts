// The lifecycle of one server as a pure state machine: idle until it is needed, started once for
// any number of callers, restarted after a loss only while it is in use, ejected when its restart
// budget is spent. Everything is keyed by generation, so that an answer, an exit or a connection of
// an old process can never affect the new one. life.ts owns sockets and processes.

import {
  freshRestarts,
  type RestartPolicy,
  type RestartState,
  restartStep as restart,
} from './restart-machine.ts';

export type Phase =
  /** No process. It may not be started again before `notBefore`. */
  | { readonly kind: 'idle'; readonly notBefore: number }
  /** `adoptedSince`: it is ready since then, and is being taken over from the process before this one. */
  | { readonly kind: 'starting'; readonly adoptedSince?: number }
  /** `isGiven`: it was given to the process after this one, and only carries what was begun here. */
  | { readonly kind: 'ready'; readonly since: number; readonly isGiven?: true }
  | { readonly kind: 'cooling'; readonly until: number }
  /** The connection is being closed; what follows was decided when that began. */
  | { readonly kind: 'stopping'; readonly then: Afterwards }
  | { readonly kind: 'ejected' }
  /** The registration was removed; final. */
  | { readonly kind: 'ended' };

type Afterwards =
  /** It starts again if somebody needs it by then. */
  | { readonly kind: 'rest' }
  /** It was stopped: it starts again only if it is requested again. */
  | { readonly kind: 'sleep' }
  | { readonly kind: 'cool'; readonly until: number }
  | { readonly kind: 'eject' }
  | { readonly kind: 'end' };

export interface LifeState {
  /** Of the current or the last process; 0 before the first. Never goes down. */
  readonly generation: number;
  /** The highest generation that any connection of this server has had; the next start has one more. */
  readonly highest: number;
  readonly phase: Phase;
  /** Of the server, over all of its connections. */
  readonly restarts: RestartState;
}

/** `wanted`: whether it is pinned or held by anyone at the moment of the event. */
export type LifeEvent =
  | { readonly kind: 'wanted'; readonly at: number }
  /** The process before this one has given its connection over: it is taken over under its generation. */
  | { readonly kind: 'adopted'; readonly generation: number; readonly since: number }
  /** The connection belongs to the process after this one from now on. */
  | { readonly kind: 'given' }
  /** That was not possible. */
  | { readonly kind: 'not-given' }
  | { readonly kind: 'started'; readonly generation: number; readonly at: number }
  | ({ readonly kind: 'start-failed'; readonly generation: number } & StartFailure)
  | ({ readonly kind: 'lost'; readonly generation: number; readonly wanted: boolean } & Failure)
  /** A timeout was followed by a failed probe: the process may be alive, but does not answer. */
  | ({ readonly kind: 'hung'; readonly generation: number } & Failure)
  | { readonly kind: 'elapsed'; readonly at: number; readonly wanted: boolean }
  | { readonly kind: 'unwanted' }
  | { readonly kind: 'reload' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'end' }
  /** The same, but running calls may end before. */
  | { readonly kind: 'remove' }
  | {
      readonly kind: 'closed';
      readonly generation: number;
      readonly at: number;
      readonly wanted: boolean;
    };

interface Failure {
  readonly at: number;
  readonly random: number;
}

interface StartFailure extends Failure {
  /** For a resource shortage of the host: it is not charged to the server. */
  readonly isShortage?: boolean;
  /** For what its client asked for and cannot be had: the next one who asks is not held up by it. */
  readonly isClientAsked?: boolean;
}

/** With `idle`, `reload` and `removed` the running calls get a few seconds to end; see `letsCallsEnd`. */
export type StopReason = 'idle' | 'reload' | 'removed' | 'stop' | 'hung' | 'end';

/** `lost`: it ended by itself. `start-failed`: it never took a call. */
export type CloseReason = StopReason | 'lost' | 'start-failed';

export function letsCallsEnd(reason: CloseReason): boolean {
  return reason === 'idle' || reason === 'reload' || reason === 'removed';
}

export type LifeEffect =
  | { readonly kind: 'start'; readonly generation: number }
  /** Close it and report `closed`. */
  | { readonly kind: 'close'; readonly generation: number; readonly reason: StopReason }
  /** It is dead or unknown: clean up without waiting. */
  | { readonly kind: 'discard'; readonly generation: number }
  | { readonly kind: 'wake'; readonly afterMs: number }
  /** Give the connection to all waiting callers. */
  | { readonly kind: 'serve' }
  /** Refuse all waiting callers. */
  | { readonly kind: 'refuse'; readonly why: 'start-failed' | 'ejected' | 'stopped' }
  | {
      readonly kind: 'announce';
      readonly news: 'cooling' | 'ejected' | 'idle';
      readonly delayMs: number;
    };

type Step = readonly [LifeState, readonly LifeEffect[]];

export const unborn: LifeState = {
  generation: 0,
  highest: 0,
  phase: { kind: 'idle', notBefore: Number.NEGATIVE_INFINITY },
  restarts: freshRestarts,
};

const rested: Phase = { kind: 'idle', notBefore: Number.NEGATIVE_INFINITY };

export function lifeStep(state: LifeState, event: LifeEvent, policy: RestartPolicy): Step {
  if (state.phase.kind === 'ended') return afterTheEnd(state, event);
  switch (event.kind) {
    case 'wanted':
      return wanted(state, event.at);
    case 'adopted':
      return adopted(state, event.generation, event.since);
    case 'given':
    case 'not-given':
      return [given(state, event.kind === 'given'), []];
    case 'started':
      return started(state, event.generation, event.at);
    case 'start-failed':
      return startFailed(state, event, policy);
    case 'lost':
      return lost(state, event, policy);
    case 'hung':
      return hung(state, event, policy);
    case 'elapsed':
      return elapsed(state, event.at, event.wanted);
    case 'unwanted':
      return unwanted(state);
    case 'reload':
      return dismiss({ ...state, restarts: freshRestarts }, 'reload', { kind: 'rest' });
    case 'stop':
      return refusing(
        'stopped',
        dismiss({ ...state, restarts: freshRestarts }, 'stop', { kind: 'sleep' }),
      );
    case 'end':
      return refusing('stopped', dismiss(state, 'end', { kind: 'end' }));
    case 'remove':
      return refusing('stopped', dismiss(state, 'removed', { kind: 'end' }));
    case 'closed':
      return closed(state, event.generation, event.at, event.wanted);
  }
}

function wanted(state: LifeState, at: number): Step {
  const { phase } = state;
  if (phase.kind === 'ejected') return [state, [{ kind: 'refuse', why: 'ejected' }]];
  if (phase.kind === 'ready') return [state, [{ kind: 'serve' }]];
  if (phase.kind === 'stopping') return wantedMeanwhile(state, phase.then);
  if (phase.kind !== 'idle') return [state, []];
  return at < phase.notBefore ? cool(state, phase.notBefore, at) : start(state);
}

function wantedMeanwhile(state: LifeState, then: Afterwards): Step {
  if (then.kind === 'end') return [state, [{ kind: 'refuse', why: 'stopped' }]];
  if (then.kind !== 'sleep') return [state, []];
  return dismiss(state, 'stop', { kind: 'rest' });
}

function start(state: LifeState): Step {
  // Another connection of the same server has spent the budget.
  if (state.restarts.ejected) return eject(state);
  const generation = state.highest + 1;
  const phase = { kind: 'starting' } as const;
  return [{ ...state, generation, highest: generation, phase }, [{ kind: 'start', generation }]];
}

/** Counts neither as a start nor as a restart. Whatever began here meanwhile goes first. */
function adopted(state: LifeState, generation: number, since: number): Step {
  const highest = Math.max(state.highest, generation);
  if (state.phase.kind !== 'idle') return [{ ...state, highest }, []];
  const phase = { kind: 'starting', adoptedSince: since } as const;
  return [{ ...state, generation, highest, phase }, [{ kind: 'start', generation }]];
}

function given(state: LifeState, isGiven: boolean): LifeState {
  const { phase } = state;
  if (phase.kind !== 'ready') return state;
  const { since } = phase;
  return { ...state, phase: { kind: 'ready', since, ...(isGiven && { isGiven }) } };
}

/** What happens to it is counted, and decided, by the process that has it. */
function isGiven({ phase }: LifeState): boolean {
  return phase.kind === 'ready' && phase.isGiven === true;
}

function cool(state: LifeState, until: number, at: number): Step {
  const delayMs = Math.max(0, until - at);
  return [
    { ...state, phase: { kind: 'cooling', until } },
    [
      { kind: 'announce', news: 'cooling', delayMs },
      { kind: 'wake', afterMs: delayMs },
    ],
  ];
}

function started(state: LifeState, generation: number, at: number): Step {
  // It was stopped or replaced while it connected: the late connection is never used.
  if (generation !== state.generation || state.phase.kind !== 'starting') {
    return [state, [{ kind: 'discard', generation }]];
  }
  const { adoptedSince: since = at } = state.phase;
  return [{ ...state, phase: { kind: 'ready', since } }, [{ kind: 'serve' }]];
}

function startFailed(
  state: LifeState,
  event: { readonly generation: number } & StartFailure,
  policy: RestartPolicy,
): Step {
  if (event.generation !== state.generation || state.phase.kind !== 'starting') return [state, []];
  const refused = { kind: 'refuse', why: 'start-failed' } as const;
  if (event.isClientAsked === true) {
    const idle = { kind: 'announce', news: 'idle', delayMs: 0 } as const;
    return [{ ...state, phase: rested }, [refused, idle]];
  }
  const [next, verdict] = fail(state, event, 0, policy);
  const [after, effects] =
    verdict.kind === 'eject' ? eject(next) : cool(next, verdict.until, event.at);
  return [after, [refused, ...effects]];
}

function lost(
  state: LifeState,
  event: { readonly generation: number; readonly wanted: boolean } & Failure,
  policy: RestartPolicy,
): Step {
  const discard = { kind: 'discard', generation: event.generation } as const;
  const since = readySince(state.phase);
  if (event.generation !== state.generation || since === undefined) {
    // Its end was expected, or it has been replaced already.
    return [state, state.phase.kind === 'stopping' ? [] : [discard]];
  }
  if (isGiven(state)) return [{ ...state, phase: rested }, [discard]];
  const [next, verdict] = fail(state, event, event.at - since, policy);
  const [after, effects] = rest(next, verdict, event.at, event.wanted);
  return [after, [discard, ...effects]];
}

/** One that could not be taken over is lost: it was ready before. */
function readySince(phase: Phase): number | undefined {
  if (phase.kind === 'ready') return phase.since;
  return phase.kind === 'starting' ? phase.adoptedSince : undefined;
}

function hung(
  state: LifeState,
  event: { readonly generation: number } & Failure,
  policy: RestartPolicy,
): Step {
  const { phase } = state;
  if (event.generation !== state.generation || phase.kind !== 'ready' || isGiven(state)) {
    return [state, []];
  }
  const [next, verdict] = fail(state, event, event.at - phase.since, policy);
  return close(
    next,
    'hung',
    verdict.kind === 'eject' ? verdict : { kind: 'cool', until: verdict.until },
  );
}

/**
 * A start that nobody waits for any more is cancelled; otherwise its process would run without a
 * user.
 */
function unwanted(state: LifeState): Step {
  const isRunning = state.phase.kind === 'ready' || state.phase.kind === 'starting';
  return isRunning && !isGiven(state) ? close(state, 'idle', { kind: 'rest' }) : [state, []];
}

function elapsed(state: LifeState, at: number, isWanted: boolean): Step {
  if (state.phase.kind !== 'cooling') return [state, []];
  if (at < state.phase.until) {
    return [state, [{ kind: 'wake', afterMs: state.phase.until - at }]];
  }
  if (isWanted) return start(state);
  return [{ ...state, phase: rested }, [{ kind: 'announce', news: 'idle', delayMs: 0 }]];
}

function closed(state: LifeState, generation: number, at: number, isWanted: boolean): Step {
  if (generation !== state.generation || state.phase.kind !== 'stopping') return [state, []];
  const { then } = state.phase;
  if (then.kind === 'end') return [{ ...state, phase: { kind: 'ended' } }, []];
  if (then.kind === 'cool' || then.kind === 'eject') return rest(state, then, at, isWanted);
  if (isWanted && then.kind === 'rest') return start(state);
  return [{ ...state, phase: rested }, [{ kind: 'announce', news: 'idle', delayMs: 0 }]];
}

/** After a failure: ejected, or waiting for the next start, or idle if nobody needs it. */
function rest(
  state: LifeState,
  verdict: { readonly kind: 'eject' } | { readonly kind: 'cool'; readonly until: number },
  at: number,
  isWanted: boolean,
): Step {
  if (verdict.kind === 'eject') return eject(state);
  if (isWanted) return cool(state, verdict.until, at);
  return [
    { ...state, phase: { kind: 'idle', notBefore: verdict.until } },
    [{ kind: 'announce', news: 'idle', delayMs: 0 }],
  ];
}

function eject(state: LifeState): Step {
  return [
    { ...state, phase: { kind: 'ejected' } },
    [
      { kind: 'announce', news: 'ejected', delayMs: 0 },
      { kind: 'refuse', why: 'ejected' },
    ],
  ];
}

function fail(
  state: LifeState,
  failure: StartFailure,
  readyMs: number,
  policy: RestartPolicy,
): readonly [
  LifeState,
  { readonly kind: 'eject' } | { readonly kind: 'cool'; readonly until: number },
] {
  const { at, random } = failure;
  const [restarts, [verdict]] = restart(
    state.restarts,
    failure.isShortage ? { kind: 'shortage', at, random } : { kind: 'failed', at, readyMs, random },
    policy,
  );
  const next = { ...state, restarts };
  return verdict?.kind === 'restart-after'
    ? [next, { kind: 'cool', until: at + verdict.delayMs }]
    : [next, { kind: 'eject' }];
}

/** Whatever state it is in, it is to be stopped. What was given away is left alone. */
function dismiss(state: LifeState, reason: StopReason, then: Afterwards): Step {
  if (isGiven(state)) {
    const phase: Phase = then.kind === 'end' ? { kind: 'ended' } : rested;
    return [{ ...state, phase }, [{ kind: 'discard', generation: state.generation }]];
  }
  switch (state.phase.kind) {
    case 'starting':
    case 'ready':
      return close(state, reason, then);
    case 'stopping':
      // The end is final, whatever is requested meanwhile.
      if (state.phase.then.kind === 'end') return [state, []];
      return [{ ...state, phase: { kind: 'stopping', then } }, []];
    default:
      return [
        { ...state, phase: then.kind === 'end' ? { kind: 'ended' } : rested },
        state.phase.kind === 'idle' ? [] : [{ kind: 'announce', news: 'idle', delayMs: 0 }],
      ];
  }
}

function close(state: LifeState, reason: StopReason, then: Afterwards): Step {
  return [
    { ...state, phase: { kind: 'stopping', then } },
    [{ kind: 'close', generation: state.generation, reason }],
  ];
}

function refusing(why: 'stopped', [state, effects]: Step): Step {
  return [state, [{ kind: 'refuse', why }, ...effects]];
}

function afterTheEnd(state: LifeState, event: LifeEvent): Step {
  if (event.kind === 'wanted') return [state, [{ kind: 'refuse', why: 'stopped' }]];
  if (event.kind === 'started') return [state, [{ kind: 'discard', generation: event.generation }]];
  return [state, []];
}
