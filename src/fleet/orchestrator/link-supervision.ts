// When an orchestrator opens its link to the broker again after it has ended: after a wait that doubles up to half
// a minute, and starts over once a link has lasted ten seconds. What cannot get better by itself, such as a
// credential that is not accepted, is reported once and tried rarely. After a shutdown nothing is opened again,
// whatever happens. A pure machine; the shell around it opens links and waits.

import { backoffMs } from '../../kernel/backoff.ts';
import type { Effect, Step } from '../machine.ts';

export interface SupervisionPolicy {
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** A link that has lasted this long counts as good. */
  readonly goodAfterMs: number;
  /** Before the next try after a refusal that somebody has to mend. */
  readonly refusedWaitMs: number;
}

export const usualSupervision: SupervisionPolicy = {
  firstWaitMs: 500,
  longestWaitMs: 30_000,
  goodAfterMs: 10_000,
  refusedWaitMs: 30_000,
};

export type Supervision =
  | { readonly is: 'running'; readonly since: number; readonly failures: number }
  | { readonly is: 'waiting'; readonly failures: number }
  | { readonly is: 'stopped' };

export type SupervisionEvent =
  /** The link has ended, or could not be opened. */
  | {
      readonly is: 'ended';
      readonly at: number;
      readonly isPermanent: boolean;
      readonly random: number;
    }
  | { readonly is: 'elapsed'; readonly at: number }
  | { readonly is: 'shutdown' };

export type SupervisionEffect =
  | Effect<'open'>
  | Effect<'close'>
  | (Effect<'wait'> & { readonly ms: number });

export function beginSupervision(at: number): Step<Supervision, SupervisionEffect> {
  return [{ is: 'running', since: at, failures: 0 }, [{ do: 'open' }]];
}

export function stepSupervision(
  state: Supervision,
  event: SupervisionEvent,
  policy: SupervisionPolicy,
): Step<Supervision, SupervisionEffect> {
  if (state.is === 'stopped') return [state, []];
  switch (event.is) {
    case 'shutdown':
      return [{ is: 'stopped' }, [{ do: 'close' }]];
    case 'elapsed':
      if (state.is !== 'waiting') return [state, []];
      return [{ is: 'running', since: event.at, failures: state.failures }, [{ do: 'open' }]];
    case 'ended':
      return state.is === 'running' ? ended(state, event, policy) : [state, []];
  }
}

function ended(
  { since, failures }: Extract<Supervision, { readonly is: 'running' }>,
  { at, isPermanent, random }: Extract<SupervisionEvent, { readonly is: 'ended' }>,
  policy: SupervisionPolicy,
): Step<Supervision, SupervisionEffect> {
  if (isPermanent) {
    return [{ is: 'waiting', failures: 0 }, [{ do: 'wait', ms: policy.refusedWaitMs }]];
  }
  const before = at - since >= policy.goodAfterMs ? 0 : failures;
  const backoff = { firstMs: policy.firstWaitMs, longestMs: policy.longestWaitMs };
  const ms = backoffMs(backoff, before, random);
  return [{ is: 'waiting', failures: before + 1 }, [{ do: 'wait', ms }]];
}
