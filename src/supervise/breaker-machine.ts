// The circuit breaker as a pure state machine. It opens after a number of consecutive failures,
// refuses everything while open, and then admits exactly one probe. Every change of state begins a
// new epoch, and a call carries the epoch in which it was admitted: this distinguishes a late
// success from before the opening from that of the probe, without a list of calls.

export interface BreakerPolicy {
  readonly threshold: number;
  readonly resetMs: number;
  /** A probe that has not ended by then loses its slot to the next caller. */
  readonly probeMs: number;
}

export type BreakerState =
  | { readonly kind: 'closed'; readonly epoch: number; readonly failures: number }
  | {
      readonly kind: 'open';
      readonly epoch: number;
      readonly failures: number;
      readonly until: number;
    }
  | {
      readonly kind: 'half_open';
      readonly epoch: number;
      readonly failures: number;
      /** When the running probe loses its slot; null while no probe runs. */
      readonly probeUntil: number | null;
    };

export type BreakerEvent =
  | { readonly kind: 'asked'; readonly at: number }
  | { readonly kind: 'succeeded'; readonly pass: number }
  | { readonly kind: 'failed'; readonly pass: number; readonly at: number }
  /** The call ended without information about the server, e.g. its caller cancelled. */
  | { readonly kind: 'withdrawn'; readonly pass: number }
  /** Another host that uses the same server says how that one fails; `at` is only needed where it opens. */
  | { readonly kind: 'told'; readonly circuit: 'open' | 'closed'; readonly at: number }
  | { readonly kind: 'reset' };

export type BreakerEffect =
  | { readonly kind: 'admit'; readonly pass: number }
  | { readonly kind: 'refuse'; readonly retryAfterMs: number }
  | { readonly kind: 'announce'; readonly circuit: BreakerState['kind'] };

type Step = readonly [BreakerState, readonly BreakerEffect[]];

export const closedBreaker: BreakerState = { kind: 'closed', epoch: 0, failures: 0 };

/** The state for readers: an open breaker whose time is over is half open, without a timer. */
export function circuitAt(state: BreakerState, at: number): BreakerState['kind'] {
  return state.kind === 'open' && at >= state.until ? 'half_open' : state.kind;
}

export function breakerStep(state: BreakerState, event: BreakerEvent, policy: BreakerPolicy): Step {
  switch (event.kind) {
    case 'asked':
      return asked(state, event.at, policy);
    case 'succeeded':
      return succeeded(state, event.pass);
    case 'failed':
      return failed(state, event.pass, event.at, policy);
    case 'withdrawn':
      return withdrawn(state, event.pass);
    case 'told':
      return told(state, event.circuit, event.at, policy);
    case 'reset':
      return [
        { kind: 'closed', epoch: state.epoch + 1, failures: 0 },
        state.kind === 'closed' ? [] : [{ kind: 'announce', circuit: 'closed' }],
      ];
  }
}

function asked(state: BreakerState, at: number, policy: BreakerPolicy): Step {
  if (state.kind === 'closed') return [state, [{ kind: 'admit', pass: state.epoch }]];
  const busyUntil = state.kind === 'open' ? state.until : state.probeUntil;
  if (busyUntil !== null && at < busyUntil) {
    return [state, [{ kind: 'refuse', retryAfterMs: busyUntil - at }]];
  }
  // The slot is free, or its holder is overdue: a new epoch invalidates the old holder.
  const epoch = state.epoch + 1;
  const next = {
    kind: 'half_open',
    epoch,
    failures: state.failures,
    probeUntil: at + policy.probeMs,
  } as const;
  const admit = { kind: 'admit', pass: epoch } as const;
  return state.kind === 'open'
    ? [next, [{ kind: 'announce', circuit: 'half_open' }, admit]]
    : [next, [admit]];
}

function succeeded(state: BreakerState, pass: number): Step {
  if (pass !== state.epoch || state.kind === 'open') return [state, []];
  if (state.kind === 'closed') {
    return [state.failures === 0 ? state : { ...state, failures: 0 }, []];
  }
  return [
    { kind: 'closed', epoch: state.epoch + 1, failures: 0 },
    [{ kind: 'announce', circuit: 'closed' }],
  ];
}

function failed(state: BreakerState, pass: number, at: number, policy: BreakerPolicy): Step {
  if (state.kind === 'open') {
    // The failure of a late call is new evidence that the server is still failing.
    return [{ ...state, failures: state.failures + 1, until: at + policy.resetMs }, []];
  }
  if (pass !== state.epoch) return [state, []];
  const failures = state.failures + 1;
  if (state.kind === 'closed' && failures < policy.threshold) {
    return [{ ...state, failures }, []];
  }
  return [
    { kind: 'open', epoch: state.epoch + 1, failures, until: at + policy.resetMs },
    [{ kind: 'announce', circuit: 'open' }],
  ];
}

/** A probe that runs here is asked for its own opinion, and an open breaker stays open no longer for what is told. */
function told(
  state: BreakerState,
  circuit: 'open' | 'closed',
  at: number,
  { threshold, resetMs }: BreakerPolicy,
): Step {
  if (circuit === 'open' && state.kind === 'closed') {
    const failures = Math.max(state.failures, threshold);
    return [
      { kind: 'open', epoch: state.epoch + 1, failures, until: at + resetMs },
      [{ kind: 'announce', circuit: 'open' }],
    ];
  }
  if (circuit === 'closed' && state.kind === 'open') {
    return [
      { kind: 'closed', epoch: state.epoch + 1, failures: 0 },
      [{ kind: 'announce', circuit: 'closed' }],
    ];
  }
  return [state, []];
}

function withdrawn(state: BreakerState, pass: number): Step {
  return state.kind === 'half_open' && pass === state.epoch
    ? [{ ...state, probeUntil: null }, []]
    : [state, []];
}
