import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  freshRestarts,
  type RestartEvent,
  type RestartPolicy,
  type RestartState,
  restartStep,
  restartsLeft,
  withinWindow,
} from './restart-machine.ts';

const policy: RestartPolicy = {
  max: 5,
  windowMs: 300_000,
  minDelayMs: 100,
  maxDelayMs: 5_000,
  healthyMs: 60_000,
};

const failed = (at: number, facts: { readyMs?: number; random?: number } = {}): RestartEvent => ({
  kind: 'failed',
  at,
  readyMs: facts.readyMs ?? 0,
  random: facts.random ?? 0,
});

function upon(events: readonly RestartEvent[], used = policy, from = freshRestarts) {
  let state: RestartState = from;
  const verdicts: (number | 'eject' | null)[] = [];
  for (const event of events) {
    const [next, [effect]] = restartStep(state, event, used);
    state = next;
    if (effect === undefined) verdicts.push(null);
    else verdicts.push(effect.kind === 'eject' ? 'eject' : effect.delayMs);
  }
  return { state, verdicts };
}

describe('a shortage of our own', () => {
  const shortage = (at: number, random = 0): RestartEvent => ({ kind: 'shortage', at, random });

  it('is charged to no server and tried again, later each time #restart-budget', () => {
    const { state, verdicts } = upon([0, 1, 2, 3, 4, 5, 6, 7].map((at) => shortage(at)));
    expect(verdicts).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect([state.failures, state.streak, state.ejected]).toEqual([[], 0, false]);
    expect(restartsLeft(state, 8, policy)).toBe(5);
  });

  it('leaves the next failure what it would have been without it', () => {
    const { verdicts } = upon([failed(0), shortage(1), shortage(2), failed(3)]);
    expect(verdicts).toEqual([100, 100, 200, 200]);
  });

  it('that is long past no longer makes the next one wait', () => {
    expect(upon([shortage(0), shortage(1), shortage(300_002)]).verdicts).toEqual([100, 200, 100]);
  });
});

describe('the restart budget (S2)', () => {
  it('allows five failures in the window and ejects at the sixth (H1)', () => {
    const { state, verdicts } = upon([0, 1, 2, 3, 4, 5].map((at) => failed(at)));
    expect(verdicts.at(-1)).toBe('eject');
    expect(verdicts.filter((verdict) => verdict === 'eject')).toHaveLength(1);
    expect(state.ejected).toBe(true);
  });

  it('ejects on the third failure when two are allowed (H34)', () => {
    const { verdicts } = upon([failed(0), failed(1), failed(2)], { ...policy, max: 2 });
    expect(verdicts).toEqual([100, 200, 'eject']);
  });

  it('ejects on the first failure when none is allowed (H34)', () => {
    expect(upon([failed(0)], { ...policy, max: 0 }).verdicts).toEqual(['eject']);
  });

  it('never ejects without a budget', () => {
    const many = Array.from({ length: 50 }, (_, at) => failed(at));
    expect(upon(many, { ...policy, max: null }).state.ejected).toBe(false);
    expect(restartsLeft(freshRestarts, 0, { ...policy, max: null })).toBeNull();
  });

  it('still counts a failure that is exactly as old as the window (H32)', () => {
    const one = { ...policy, max: 1 };
    expect(upon([failed(0), failed(300_000)], one).verdicts).toEqual([100, 'eject']);
    expect(upon([failed(0), failed(300_001)], one).state.ejected).toBe(false);
  });

  it('stays ejected whatever else fails, until a reset', () => {
    const { state } = upon([failed(0)], { ...policy, max: 0 });
    const later = upon([failed(1e9)], policy, state);
    expect(later.state).toBe(state);
    expect(later.verdicts).toEqual([null]);
    expect(upon([{ kind: 'reset' }], policy, state).state).toEqual(freshRestarts);
  });

  it('says how many are left, leaving out what has grown too old', () => {
    const { state } = upon([failed(0), failed(200_000)]);
    expect(restartsLeft(state, 200_000, policy)).toBe(3);
    expect(restartsLeft(state, 300_001, policy)).toBe(4);
    expect(withinWindow(state, 300_001, policy)).toEqual([200_000]);
    const spent = upon([0, 1, 2, 3, 4, 5].map((at) => failed(at))).state;
    expect(restartsLeft(spent, 5, policy)).toBe(0);
  });
});

describe('the wait before a restart', () => {
  it('doubles with each failure in a row up to the maximum (H3)', () => {
    const generous = { ...policy, max: 20 };
    const { verdicts } = upon(
      Array.from({ length: 9 }, (_, at) => failed(at)),
      generous,
    );
    expect(verdicts).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  });

  it('is shortened by jitter, never lengthened', () => {
    const delays = [0, 0.25, 0.5, 0.999].map((random) => upon([failed(0, { random })]).verdicts[0]);
    expect(delays).toEqual([100, 95, 90, 80]);
  });

  it('starts over after a healthy period, which does not empty the window (Hw20)', () => {
    const { state, verdicts } = upon([
      failed(0),
      failed(1),
      failed(60_001, { readyMs: 60_000 }),
      failed(60_002),
    ]);
    expect(verdicts).toEqual([100, 200, 100, 200]);
    expect(restartsLeft(state, 60_002, policy)).toBe(1);
  });

  it('goes on growing after a period that was not quite healthy', () => {
    expect(upon([failed(0), failed(59_999, { readyMs: 59_999 })]).verdicts).toEqual([100, 200]);
  });
});

describe('the restart machine, whatever happens to it', () => {
  const policies = fc
    .record({
      max: fc.option(fc.nat(6)),
      windowMs: fc.integer({ min: 1, max: 1_000 }),
      minDelayMs: fc.integer({ min: 0, max: 500 }),
      extraMs: fc.integer({ min: 0, max: 5_000 }),
      healthyMs: fc.integer({ min: 1, max: 500 }),
    })
    .map(({ minDelayMs, extraMs, ...rest }) => ({
      ...rest,
      minDelayMs,
      maxDelayMs: minDelayMs + extraMs,
    }));
  const failures = fc.array(
    fc.record({
      afterMs: fc.nat(400),
      readyMs: fc.nat(600),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    }),
    { maxLength: 60 },
  );

  it('never allows more than the budget in any window, and waits within the bounds', () => {
    fc.assert(
      fc.property(policies, failures, (used, sequence) => {
        let state = freshRestarts;
        let now = 0;
        const forgiven: number[] = [];
        for (const { afterMs, ...facts } of sequence) {
          now += afterMs;
          const wasEjected = state.ejected;
          const [next, [effect]] = restartStep(state, { kind: 'failed', at: now, ...facts }, used);
          state = next;
          expect(effect === undefined).toBe(wasEjected);
          expect(state.ejected).toBe(wasEjected || effect?.kind === 'eject');
          if (effect?.kind !== 'restart-after') continue;
          forgiven.push(now);
          const inWindow = forgiven.filter((at) => now - at <= used.windowMs);
          expect(inWindow.length).toBeLessThanOrEqual(used.max ?? Number.POSITIVE_INFINITY);
          expect(effect.delayMs).toBeLessThanOrEqual(used.maxDelayMs);
          expect(effect.delayMs).toBeGreaterThanOrEqual(Math.floor(0.8 * used.minDelayMs));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('ejects no sooner than the budget is spent', () => {
    fc.assert(
      fc.property(policies, failures, (used, sequence) => {
        let state = freshRestarts;
        let now = 0;
        const all: number[] = [];
        for (const { afterMs, ...facts } of sequence) {
          now += afterMs;
          all.push(now);
          const [next, [effect]] = restartStep(state, { kind: 'failed', at: now, ...facts }, used);
          state = next;
          if (effect?.kind !== 'eject') continue;
          const inWindow = all.filter((at) => now - at <= used.windowMs);
          expect(inWindow.length).toBeGreaterThan(used.max ?? Number.POSITIVE_INFINITY);
        }
      }),
      { numRuns: 500 },
    );
  });
});
