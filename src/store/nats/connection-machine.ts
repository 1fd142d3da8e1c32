// Decides when the store connects to its NATS server: at once, and again after a loss, with growing delays and
// jitter. The delays begin anew only after a connection that has lasted: one that is lost as soon as it is there is a
// failure like the others. A server that refuses us for good (a wrong password, no JetStream, no NATS server at all) is asked rarely:
// somebody has to change something first. Each trouble is reported once, and so is its end.

import { backoffMs } from '../../kernel/backoff.ts';

export interface Trouble {
  /** What does not work, and what to do, in one line. */
  readonly problem: string;
  /** Trying again soon cannot help. */
  readonly isPermanent: boolean;
}

export type ConnectionState =
  | { readonly kind: 'connecting'; readonly failures: number; readonly trouble: Trouble | null }
  | { readonly kind: 'up'; readonly failures: number; readonly since: number }
  | { readonly kind: 'waiting'; readonly failures: number; readonly trouble: Trouble }
  | { readonly kind: 'closed' };

export type ConnectionEvent =
  /** `at` is monotonic time. */
  | { readonly kind: 'opened'; readonly at: number }
  /** It could not be opened, or has ended. `random` is in [0, 1). */
  | {
      readonly kind: 'failed';
      readonly trouble: Trouble;
      readonly random: number;
      readonly at: number;
    }
  /** The delay is over. */
  | { readonly kind: 'due' }
  | { readonly kind: 'close' };

export type ConnectionEffect =
  | { readonly kind: 'connect' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'report'; readonly problem: string }
  | { readonly kind: 'recovered' };

export interface ConnectionPolicy {
  readonly firstMs: number;
  readonly longestMs: number;
  /** After a permanent refusal. */
  readonly refusedMs: number;
  /** A connection that has lasted this long was a good one. */
  readonly steadyMs: number;
}

export const usualPolicy: ConnectionPolicy = {
  firstMs: 250,
  longestMs: 5_000,
  refusedMs: 30_000,
  steadyMs: 10_000,
};

type Step = readonly [ConnectionState, readonly ConnectionEffect[]];

export const firstState: ConnectionState = { kind: 'connecting', failures: 0, trouble: null };

export function connectionStep(
  state: ConnectionState,
  event: ConnectionEvent,
  policy: ConnectionPolicy,
): Step {
  if (state.kind === 'closed') return [state, []];
  switch (event.kind) {
    case 'close':
      return [{ kind: 'closed' }, []];
    case 'opened':
      return opened(state, event.at);
    case 'failed':
      return failed(state, event, policy);
    case 'due':
      if (state.kind !== 'waiting') return [state, []];
      return [{ ...state, kind: 'connecting' }, [{ kind: 'connect' }]];
  }
}

function opened(state: ConnectionState, at: number): Step {
  if (state.kind !== 'connecting') return [state, []];
  const { failures, trouble } = state;
  return [{ kind: 'up', failures, since: at }, trouble === null ? [] : [{ kind: 'recovered' }]];
}

function failed(
  state: ConnectionState,
  { trouble, random, at }: Extract<ConnectionEvent, { readonly kind: 'failed' }>,
  { refusedMs, steadyMs, ...backoff }: ConnectionPolicy,
): Step {
  if (state.kind === 'waiting' || state.kind === 'closed') return [state, []];
  const isSteady = state.kind === 'up' && at - state.since >= steadyMs;
  const failures = isSteady ? 0 : state.failures;
  const before = state.kind === 'up' ? null : state.trouble;
  // A server that is away is away, whether a connection ends or none can be had.
  const isSame =
    before?.isPermanent === trouble.isPermanent &&
    (!trouble.isPermanent || before.problem === trouble.problem);
  const ms = trouble.isPermanent ? refusedMs : backoffMs(backoff, failures, random);
  return [
    { kind: 'waiting', failures: failures + 1, trouble },
    [
      ...(isSame ? [] : [{ kind: 'report', problem: trouble.problem } as const]),
      { kind: 'wait', ms },
    ],
  ];
}
