import { describe, expect, it } from 'vitest';
import type { DetachedEnd } from '../../supervise/process/start/start-detached.ts';
import {
  isSearchOver,
  usualStartPolicy as policy,
  type StartState,
  searchBegun,
  stepStart,
} from './start-policy.ts';

const byCode = (code: number): DetachedEnd => ({ code, signal: null, error: null });
const bySignal = (signal: NodeJS.Signals): DetachedEnd => ({ code: null, signal, error: null });

/** What each of so many ends in a row leads to. */
function verdicts(end: DetachedEnd, count: number): readonly string[] {
  let state = searchBegun(0, 0);
  return Array.from({ length: count }, () => {
    const [next, what] = stepStart(state, { end, at: state.nextAt, random: 0 }, policy);
    state = next;
    return what;
  });
}

const always = (what: string) => Array.from({ length: 20 }, () => what);

describe('an instance that has ended before it was joined #one-instance', () => {
  it.each([
    ['lost the race for the lock', byCode(3)],
    ['was told to end, and did', byCode(0)],
    ['was told to end by SIGTERM while it started', byCode(143)],
    ['was told to end by SIGINT while it started', byCode(130)],
    ['was told to end by SIGHUP while it started', byCode(129)],
    ['was ended by SIGTERM before it could listen for it', bySignal('SIGTERM')],
    ['was killed', bySignal('SIGKILL')],
  ])('is followed by another one, however often, if it %s', (_, end) => {
    expect(verdicts(end, 20)).toEqual(always('again'));
  });

  it.each([
    ['its config cannot be used', byCode(2)],
    ['it may not run', byCode(4)],
    ['something else is wrong with it', byCode(1)],
    ['it has a code of no signal that others send', byCode(139)],
    ['its process cannot be created', { code: null, signal: null, error: 'ENOENT' }],
  ])('is not, if %s', (_, end) => {
    expect(verdicts(end, 1)).toEqual(['failed']);
  });

  it('is followed by another one a few times if it crashed', () => {
    expect(verdicts(bySignal('SIGSEGV'), 4)).toEqual(['again', 'again', 'again', 'failed']);
  });

  it('is followed after a pause that grows to its longest, with jitter', () => {
    const pauses = (random: number) => {
      let state = searchBegun(0, 0);
      return Array.from({ length: 8 }, () => {
        const at = state.nextAt;
        [state] = stepStart(state, { end: byCode(3), at, random }, policy);
        return state.nextAt - at;
      });
    };
    expect(pauses(0)).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
    expect(pauses(0.5)).toEqual([45, 90, 180, 360, 720, 1_440, 1_800, 1_800]);
  });

  it('is followed by none when the time for all of them is over, which no end makes longer', () => {
    const begun = searchBegun(1_000, 500);
    expect(begun.nextAt).toBe(1_500);
    const event = { end: bySignal('SIGKILL'), at: 20_000, random: 0 };
    const [later]: readonly [StartState, string] = stepStart(begun, event, policy);
    for (const state of [begun, later]) {
      expect(isSearchOver(state, 1_000 + policy.totalMs, policy)).toBe(false);
      expect(isSearchOver(state, 1_001 + policy.totalMs, policy)).toBe(true);
    }
  });
});
