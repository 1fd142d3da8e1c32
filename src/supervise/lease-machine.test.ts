import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isWanted,
  type LeaseEffect,
  type LeaseEvent,
  type LeaseState,
  leaseStep,
  noLeases,
} from './lease-machine.ts';

const policy = { keepAliveMs: 300_000 };
const taken: LeaseEvent = { kind: 'taken' };
const released = (at: number): LeaseEvent => ({ kind: 'released', at });
const elapsed = (at: number): LeaseEvent => ({ kind: 'elapsed', at });
const pin = (pinned: boolean, at = 0): LeaseEvent => ({ kind: 'pinned', pinned, at });

function upon(events: readonly LeaseEvent[], keepAliveMs = policy.keepAliveMs) {
  let state: LeaseState = noLeases;
  let effects: readonly LeaseEffect[] = [];
  for (const event of events) [state, effects] = leaseStep(state, event, { keepAliveMs });
  return { state, effects };
}

describe('who needs a server (S3)', () => {
  it('is nobody at first, and time does not change that', () => {
    expect(isWanted(noLeases)).toBe(false);
    expect(upon([elapsed(1e9)])).toEqual({ state: noLeases, effects: [] });
  });

  it('is everybody who took it and has not let go', () => {
    const { state, effects } = upon([taken, taken, released(1)]);
    expect(state).toEqual({ pinned: false, held: 1, idleSince: null });
    expect(isWanted(state)).toBe(true);
    expect(effects).toEqual([]);
  });

  it('is kept alive for a while after the last holder let go (R11)', () => {
    const { state, effects } = upon([taken, released(10)]);
    expect(state).toEqual({ pinned: false, held: 0, idleSince: 10 });
    expect(isWanted(state)).toBe(false);
    expect(effects).toEqual([{ kind: 'wake', afterMs: 300_000 }]);
  });

  it('is unwanted at once without a keep-alive time', () => {
    expect(upon([taken, released(10)], 0).effects).toEqual([{ kind: 'unwanted' }]);
  });

  it('is unwanted when the keep-alive time has run out, to the millisecond (R14)', () => {
    expect(upon([taken, released(10), elapsed(300_009)]).effects).toEqual([
      { kind: 'wake', afterMs: 1 },
    ]);
    expect(upon([taken, released(10), elapsed(300_010)]).effects).toEqual([{ kind: 'unwanted' }]);
  });

  it('is wanted again when somebody takes it within that time, and the time starts over (R13)', () => {
    const again = [taken, released(0), taken] as const;
    expect(upon([...again, elapsed(300_000)]).effects).toEqual([]);
    expect(upon([...again, released(200_000), elapsed(300_000)]).effects).toEqual([
      { kind: 'wake', afterMs: 200_000 },
    ]);
  });

  it('never counts below zero, and an extra release renews the time (R12)', () => {
    const { state } = upon([taken, released(0), released(5), released(9)]);
    expect(state).toEqual({ pinned: false, held: 0, idleSince: 9 });
  });

  it('does not end for a pinned server, whoever releases it (R9)', () => {
    const { state, effects } = upon([pin(true), taken, released(1), elapsed(1e9)], 0);
    expect(state).toEqual({ pinned: true, held: 0, idleSince: null });
    expect(isWanted(state)).toBe(true);
    expect(effects).toEqual([]);
  });

  it('begins to end when a server that nobody holds is unpinned', () => {
    expect(upon([pin(true), pin(false, 7)])).toEqual({
      state: { pinned: false, held: 0, idleSince: 7 },
      effects: [{ kind: 'wake', afterMs: 300_000 }],
    });
    expect(upon([pin(true), taken, pin(false, 7)]).effects).toEqual([]);
  });
});

describe('the lease machine, whatever happens to it', () => {
  const events = fc.array(
    fc.record({
      afterMs: fc.nat(60),
      deed: fc.constantFrom('take', 'release', 'pin', 'unpin', 'elapse' as const),
    }),
    { maxLength: 80 },
  );

  it('holds what was taken and not released, and is unwanted only after nobody needed it for the whole time', () => {
    fc.assert(
      fc.property(fc.nat(100), events, (keepAliveMs, sequence) => {
        let state: LeaseState = noLeases;
        let now = 0;
        let held = 0;
        let isPinned = false;
        let neededUntil = 0;
        for (const { afterMs, deed } of sequence) {
          if (held > 0 || isPinned) neededUntil = now + afterMs;
          now += afterMs;
          if (deed === 'release' && held === 0) continue;
          if (deed === 'unpin' && !isPinned) continue;
          if (deed === 'take') held += 1;
          if (deed === 'release') held -= 1;
          if (deed === 'pin' || deed === 'unpin') isPinned = deed === 'pin';
          const event: LeaseEvent =
            deed === 'take'
              ? taken
              : deed === 'release'
                ? released(now)
                : deed === 'elapse'
                  ? elapsed(now)
                  : pin(isPinned, now);
          const [next, effects] = leaseStep(state, event, { keepAliveMs });
          state = next;
          expect(state.held).toBe(held);
          expect(isWanted(state)).toBe(held > 0 || isPinned);
          expect(state.idleSince === null || !isWanted(state)).toBe(true);
          for (const effect of effects) {
            expect(isWanted(state)).toBe(false);
            if (effect.kind === 'unwanted') {
              expect(now - neededUntil).toBeGreaterThanOrEqual(keepAliveMs);
            } else {
              expect(now + effect.afterMs).toBe(neededUntil + keepAliveMs);
            }
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
