import { describe, expect, it } from 'vitest';
import {
  type BreakerEffect,
  type BreakerEvent,
  type BreakerState,
  breakerStep,
  circuitAt,
  closedBreaker,
} from './breaker-machine.ts';

const policy = { threshold: 5, resetMs: 30_000, probeMs: 90_000 };

/** Runs the events one after the other; gives the last state and the effects of the last event. */
function upon(
  events: readonly BreakerEvent[],
  from: BreakerState = closedBreaker,
): { state: BreakerState; effects: readonly BreakerEffect[] } {
  let state = from;
  let effects: readonly BreakerEffect[] = [];
  for (const event of events) [state, effects] = breakerStep(state, event, policy);
  return { state, effects };
}

const failed = (pass: number, at = 0): BreakerEvent => ({ kind: 'failed', pass, at });
const asked = (at: number): BreakerEvent => ({ kind: 'asked', at });
const succeeded = (pass: number): BreakerEvent => ({ kind: 'succeeded', pass });
const withdrawn = (pass: number): BreakerEvent => ({ kind: 'withdrawn', pass });

const fiveFailures = Array.from({ length: 5 }, () => failed(0, 1_000));
const open = upon(fiveFailures).state;
/** The probe was admitted at 31 s. */
const probing = upon([asked(31_000)], open).state;
const probe = probing.epoch;

describe('a closed breaker (S1)', () => {
  it('admits every call under the pass of its epoch', () => {
    expect(upon([asked(0)]).effects).toEqual([{ kind: 'admit', pass: 0 }]);
  });

  it('stays closed below the threshold and counts the failures', () => {
    expect(upon(fiveFailures.slice(1)).state).toEqual({ kind: 'closed', epoch: 0, failures: 4 });
  });

  it('counts failures in a row only: a success starts the count over (H30)', () => {
    const { state } = upon([...fiveFailures.slice(1), succeeded(0), failed(0)]);
    expect(state).toMatchObject({ kind: 'closed', failures: 1 });
  });

  it('opens at the threshold, for the reset time, and says so once (H2)', () => {
    const { state, effects } = upon(fiveFailures);
    expect(state).toEqual({ kind: 'open', epoch: 1, failures: 5, until: 31_000 });
    expect(effects).toEqual([{ kind: 'announce', circuit: 'open' }]);
  });

  it('ignores calls that were admitted before the last opening', () => {
    const closedAgain = upon([succeeded(probe)], probing).state;
    expect(upon([failed(0), failed(0), succeeded(0)], closedAgain).state).toBe(closedAgain);
  });
});

describe('an open breaker', () => {
  it('refuses everything until its time and says how long that is (H25)', () => {
    const { state, effects } = upon([asked(1_500)], open);
    expect(state).toBe(open);
    expect(effects).toEqual([{ kind: 'refuse', retryAfterMs: 29_500 }]);
    expect(upon([asked(30_999)], open).effects).toEqual([{ kind: 'refuse', retryAfterMs: 1 }]);
  });

  it('reads as half open when its time is over, without a timer (H27)', () => {
    expect(circuitAt(open, 30_999)).toBe('open');
    expect(circuitAt(open, 31_000)).toBe('half_open');
    expect(circuitAt(closedBreaker, 1e9)).toBe('closed');
  });

  it('is not closed by the late success of a call from before the opening', () => {
    expect(upon([succeeded(0)], open).state).toBe(open);
    expect(upon([succeeded(open.epoch)], open).state).toBe(open);
  });

  it('stays open longer when a straggler fails: every failure pushes the deadline (H29)', () => {
    const { state, effects } = upon([failed(0, 20_000)], open);
    expect(state).toEqual({ kind: 'open', epoch: 1, failures: 6, until: 50_000 });
    expect(effects).toEqual([]);
  });
});

describe('a half-open breaker', () => {
  it('admits one probe under a pass of its own, and says that it is half open', () => {
    expect(upon([asked(31_000)], open).effects).toEqual([
      { kind: 'announce', circuit: 'half_open' },
      { kind: 'admit', pass: probe },
    ]);
    expect(probe).toBeGreaterThan(open.epoch);
  });

  it('refuses everybody else while the probe runs (Hw6)', () => {
    const { state, effects } = upon([asked(41_000)], probing);
    expect(state).toBe(probing);
    expect(effects).toEqual([{ kind: 'refuse', retryAfterMs: 80_000 }]);
  });

  it('closes with a clean count when the probe succeeds (H28)', () => {
    const { state, effects } = upon([succeeded(probe)], probing);
    expect(state).toMatchObject({ kind: 'closed', failures: 0 });
    expect(effects).toEqual([{ kind: 'announce', circuit: 'closed' }]);
  });

  it('opens again for the full time when the probe fails (H28)', () => {
    const { state, effects } = upon([failed(probe, 40_000)], probing);
    expect(state).toMatchObject({ kind: 'open', failures: 6, until: 70_000 });
    expect(effects).toEqual([{ kind: 'announce', circuit: 'open' }]);
  });

  it('is neither closed nor opened by calls from before the opening', () => {
    expect(upon([succeeded(0)], probing).state).toBe(probing);
    expect(upon([failed(0, 32_000)], probing).state).toBe(probing);
    expect(upon([withdrawn(0)], probing).state).toBe(probing);
  });

  it('gives the slot to the next caller when the probe is withdrawn', () => {
    const { state } = upon([withdrawn(probe)], probing);
    expect(circuitAt(state, 31_001)).toBe('half_open');
    expect(upon([asked(31_001)], state).effects).toEqual([{ kind: 'admit', pass: probe + 1 }]);
  });

  it('takes the slot from a probe that is overdue, and then ignores it', () => {
    const { state, effects } = upon([asked(121_000)], probing);
    expect(effects).toEqual([{ kind: 'admit', pass: probe + 1 }]);
    expect(upon([succeeded(probe)], state).state).toBe(state);
    expect(upon([failed(probe, 121_001)], state).state).toBe(state);
    expect(upon([withdrawn(probe)], state).state).toBe(state);
    expect(upon([succeeded(probe + 1)], state).state.kind).toBe('closed');
  });

  it('keeps the slot until the probe is overdue, not a moment less', () => {
    expect(upon([asked(120_999)], probing).effects).toEqual([{ kind: 'refuse', retryAfterMs: 1 }]);
  });
});

describe('a reset', () => {
  it.each([
    ['closed', upon(fiveFailures.slice(1)).state],
    ['open', open],
    ['half open', probing],
  ] as const)('closes a breaker that is %s and forgets its failures', (_name, state) => {
    const { state: next } = upon([{ kind: 'reset' }], state);
    expect(next).toMatchObject({ kind: 'closed', failures: 0 });
    expect(next.epoch).toBeGreaterThan(state.epoch);
  });

  it('is announced only if it changes something', () => {
    expect(upon([{ kind: 'reset' }]).effects).toEqual([]);
    expect(upon([{ kind: 'reset' }], open).effects).toEqual([
      { kind: 'announce', circuit: 'closed' },
    ]);
  });

  it('invalidates the calls that were running', () => {
    const { state } = upon([{ kind: 'reset' }], closedBreaker);
    expect(upon([failed(0)], state).state).toBe(state);
  });
});
