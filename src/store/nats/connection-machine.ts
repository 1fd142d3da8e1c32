// Decides when the store connects to its NATS server: at once, and again after a loss, with growing delays and
// jitter. A server that refuses us for good (a wrong password, no JetStream, no NATS server at all) is asked rarely:
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
  | { readonly kind: 'up' }
  | { readonly kind: 'waiting'; readonly failures: number; readonly trouble: Trouble }
  | { readonly kind: 'closed' };

export type ConnectionEvent =
  | { readonly kind: 'opened' }
  /** It could not be opened, or has ended. `random` is in [0, 1). */
  | { readonly kind: 'failed'; readonly trouble: Trouble; readonly random: number }
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
}

export const usualPolicy: ConnectionPolicy = {
  firstMs: 250,
  longestMs: 5_000,
  refusedMs: 30_000,
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
      return opened(state);
    case 'failed':
      return failed(state, event.trouble, event.random, policy);
    case 'due':
      if (state.kind !== 'waiting') return [state, []];
      return [{ ...state, kind: 'connecting' }, [{ kind: 'connect' }]];
  }
}

function opened(state: ConnectionState): Step {
  if (state.kind !== 'connecting') return [state, []];
  return [{ kind: 'up' }, state.trouble === null ? [] : [{ kind: 'recovered' }]];
}

function failed(
  state: ConnectionState,
  trouble: Trouble,
  random: number,
  { refusedMs, ...backoff }: ConnectionPolicy,
): Step {
  if (state.kind === 'waiting' || state.kind === 'closed') return [state, []];
  const failures = state.kind === 'up' ? 0 : state.failures;
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
