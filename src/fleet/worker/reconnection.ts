// How a worker's link to the broker comes back. It is opened when a call needs it and again as soon as it is lost,
// once for all that wait, in tries with growing waits until one deadline is over: the deadline alone decides when it is
// given up. The last wait is cut, so that the last try is made shortly before it, and there is no wait after that try.
// If that fails, the calls that waited fail, and a later call may try again: nothing is given up for good. What cannot
// get better by itself ends the waiting at once. A call that was on its way when the link ended is sent once more,
// with the same call id, unless the broker had taken it. A pure machine; the shell around it opens links and waits.

import { backoffMs } from '../../kernel/backoff.ts';
import type { Effect, Step } from '../machine.ts';

export interface ReconnectionPolicy {
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** What is left for the last try. */
  readonly lastTryMs: number;
  /** For all tries together. */
  readonly totalMs: number;
}

export const usualReconnection: ReconnectionPolicy = {
  firstWaitMs: 200,
  longestWaitMs: 2_000,
  lastTryMs: 500,
  totalMs: 10_000,
};

export type Reconnection =
  | { readonly is: 'connected' }
  | { readonly is: 'broken' }
  | { readonly is: 'opening'; readonly tried: number; readonly until: number }
  | { readonly is: 'waiting'; readonly tried: number; readonly until: number }
  | { readonly is: 'closed' };

export type ReconnectionEvent =
  /** A call needs the link. */
  | { readonly is: 'needed'; readonly at: number }
  | { readonly is: 'opened' }
  | {
      readonly is: 'failed';
      readonly at: number;
      readonly isPermanent: boolean;
      readonly random: number;
    }
  | { readonly is: 'elapsed' }
  | { readonly is: 'deadline' }
  | { readonly is: 'lost'; readonly at: number; readonly isPermanent: boolean }
  | { readonly is: 'close' };

export type ReconnectionEffect =
  | Effect<'open'>
  | (Effect<'wait'> & { readonly ms: number })
  /** Everything is over by then. */
  | (Effect<'limit'> & { readonly ms: number })
  /** Calls that wait go on, with the new manifest. */
  | Effect<'release'>
  /** Calls that wait fail. */
  | (Effect<'fail'> & { readonly why: 'refused' | 'exhausted' | 'closed' })
  | Effect<'abandon'>;

type Result = Step<Reconnection, ReconnectionEffect>;

export function stepReconnection(
  state: Reconnection,
  event: ReconnectionEvent,
  policy: ReconnectionPolicy,
): Result {
  if (state.is === 'closed')
    return [state, event.is === 'needed' ? [{ do: 'fail', why: 'closed' }] : []];
  switch (event.is) {
    case 'close':
      return [{ is: 'closed' }, [{ do: 'abandon' }, { do: 'fail', why: 'closed' }]];
    case 'lost':
      return state.is === 'connected' ? lost(event, policy) : [state, []];
    case 'needed':
      return needed(state, event.at, policy);
    case 'opened':
      return state.is === 'opening' ? [{ is: 'connected' }, [{ do: 'release' }]] : [state, []];
    case 'failed':
      return state.is === 'opening' ? failed(state, event, policy) : [state, []];
    case 'elapsed':
      return state.is === 'waiting' ? [{ ...state, is: 'opening' }, [{ do: 'open' }]] : [state, []];
    case 'deadline':
      return state.is === 'opening' || state.is === 'waiting' ? exhausted() : [state, []];
  }
}

function needed(state: Reconnection, at: number, policy: ReconnectionPolicy): Result {
  if (state.is === 'connected') return [state, [{ do: 'release' }]];
  // Those that wait share one opening.
  return state.is === 'broken' ? begin(at, policy) : [state, []];
}

function lost(
  { at, isPermanent }: Extract<ReconnectionEvent, { readonly is: 'lost' }>,
  policy: ReconnectionPolicy,
): Result {
  return isPermanent ? refused() : begin(at, policy);
}

function begin(at: number, { totalMs }: ReconnectionPolicy): Result {
  const opening = { is: 'opening', tried: 0, until: at + totalMs } as const;
  return [opening, [{ do: 'limit', ms: totalMs }, { do: 'open' }]];
}

function failed(
  { tried, until }: Extract<Reconnection, { readonly is: 'opening' }>,
  { at, isPermanent, random }: Extract<ReconnectionEvent, { readonly is: 'failed' }>,
  { firstWaitMs, longestWaitMs, lastTryMs }: ReconnectionPolicy,
): Result {
  if (isPermanent) return refused();
  const left = until - lastTryMs - at;
  if (left <= 0) return exhausted();
  const usual = backoffMs({ firstMs: firstWaitMs, longestMs: longestWaitMs }, tried, random);
  const ms = Math.min(usual, left);
  return [{ is: 'waiting', tried: tried + 1, until }, [{ do: 'wait', ms }]];
}

/** The deadline of these tries must not end those of a later call. */
function refused(): Result {
  return [{ is: 'broken' }, [{ do: 'abandon' }, { do: 'fail', why: 'refused' }]];
}

function exhausted(): Result {
  return [{ is: 'broken' }, [{ do: 'abandon' }, { do: 'fail', why: 'exhausted' }]];
}
