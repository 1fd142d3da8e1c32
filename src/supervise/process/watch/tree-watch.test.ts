import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { Rounds } from './tree-watch.ts';

describe('the rounds', () => {
  it('visit soon after the start, then once a second', async () => {
    const clock = manualClock();
    const rounds = new Rounds(clock);
    const visits: number[] = [];
    rounds.add(async () => void visits.push(clock.now()));
    await clock.advanceAsync(3500);
    expect(visits).toEqual([250, 1250, 2250, 3250]);
    rounds[Symbol.dispose]();
  });

  it('go on for the others when one visit fails', async () => {
    const clock = manualClock();
    const rounds = new Rounds(clock);
    const visits: number[] = [];
    rounds.add(() => Promise.reject(new Error('too many open files')));
    rounds.add(async () => void visits.push(clock.now()));
    await clock.advanceAsync(2500);
    expect(visits).toEqual([250, 1250, 2250]);
    rounds[Symbol.dispose]();
  });

  it('set no timer when there is no tree to visit', async () => {
    const clock = manualClock();
    const rounds = new Rounds(clock);
    expect(clock.pending).toBe(0);
    const handle = rounds.add(async () => {});
    expect(clock.pending).toBe(1);
    handle[Symbol.dispose]();
    expect(clock.pending).toBe(0);
    rounds.add(async () => {});
    await clock.advanceAsync(1000);
    expect(clock.pending).toBe(1);
    rounds[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  it('wait for a slow visit instead of beginning another', async () => {
    const clock = manualClock();
    const rounds = new Rounds(clock);
    let begun = 0;
    let finish = (): void => {};
    rounds.add(() => {
      begun++;
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    await clock.advanceAsync(5000);
    expect([begun, clock.pending]).toEqual([1, 0]);
    finish();
    await clock.advanceAsync(250);
    expect(begun).toBe(2);
  });

  it('do not visit who has left during the same tick', async () => {
    const clock = manualClock();
    const rounds = new Rounds(clock);
    const visits: string[] = [];
    let second: Disposable | undefined;
    rounds.add(async () => {
      visits.push('first');
      second?.[Symbol.dispose]();
    });
    second = rounds.add(async () => void visits.push('second'));
    await clock.advanceAsync(300);
    expect(visits).toEqual(['first']);
  });

  it('begin again when a visit ends them all and another is added', async () => {
    const clock = manualClock();
    const rounds = new Rounds(clock);
    const visits: string[] = [];
    const only = rounds.add(async () => {
      only[Symbol.dispose]();
      rounds.add(async () => void visits.push('next'));
    });
    await clock.advanceAsync(600);
    expect([visits, clock.pending]).toEqual([['next'], 1]);
  });
});
