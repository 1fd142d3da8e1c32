import { describe, expect, it } from 'vitest';
import { type EraBasis, type EraBasisEvent, eraBasisStep, firstBasis } from './era-basis.ts';

function basisAfter(...events: readonly EraBasisEvent[]): EraBasis {
  return events.reduce(eraBasisStep, firstBasis);
}

const notInitialized = { kind: 'not-initialized' } as const;
const failed = (serial: number) => ({ kind: 'start-failed', serial }) as const;
const answered = { kind: 'answered', isAboutLegacy: false, isNew: false } as const;

describe('with what a start begins', () => {
  it('is what is known and what is not, in turn, while starts fail #eras', () => {
    expect(basisAfter(failed(0)).isDoubted).toBe(true);
    expect(basisAfter(failed(0), failed(1)).isDoubted).toBe(false);
    expect(basisAfter(failed(0), failed(1), failed(2)).isDoubted).toBe(true);
  });

  it('is that it ended at initialize, for one start #eras', () => {
    // The start in which it ended fails too, which says nothing about the next one.
    const assumed = basisAfter(notInitialized, failed(0));
    expect(assumed).toMatchObject({ hasNotInitialized: true, isDoubted: false, hasFailed: true });
    expect(eraBasisStep(assumed, failed(assumed.serial))).toMatchObject({
      hasNotInitialized: false,
      isDoubted: true,
    });
  });

  it('changes once when several starts fail that began with the same', () => {
    expect(basisAfter(failed(0), failed(0), failed(0))).toEqual(basisAfter(failed(0)));
  });

  it('is not in doubt any more when the server has answered', () => {
    expect(basisAfter(failed(0), answered)).toMatchObject({ isDoubted: false, serial: 2 });
    expect(basisAfter(answered)).toBe(firstBasis);
    expect(basisAfter({ ...answered, isNew: true }).serial).toBe(1);
  });

  it('is no longer that it ended at initialize when it has answered that, or no connection is left', () => {
    expect(basisAfter(notInitialized, answered).hasNotInitialized).toBe(true);
    for (const event of [
      { ...answered, isAboutLegacy: true },
      { kind: 'last-connection-ended' } as const,
    ]) {
      expect(basisAfter(notInitialized, event).hasNotInitialized).toBe(false);
    }
  });

  it('does not change when a start succeeds', () => {
    const connected = basisAfter(notInitialized, failed(0), { kind: 'connected' });
    expect(connected).toEqual({ ...basisAfter(notInitialized), hasFailed: false });
  });
});
