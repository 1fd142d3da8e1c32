import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { Deadlines } from './deadlines.ts';

describe('deadlines', () => {
  it('fire when they are due, in the order in which they were set, and once', () => {
    const clock = manualClock();
    const deadlines = new Deadlines(clock);
    const fired: string[] = [];
    deadlines.after(100, () => fired.push('a'));
    clock.advance(40);
    deadlines.after(100, () => fired.push('b'));
    clock.advance(59);
    expect(fired).toEqual([]);
    clock.advance(1);
    expect(fired).toEqual(['a']);
    clock.advance(40);
    expect(fired).toEqual(['a', 'b']);
    clock.advance(1_000);
    expect([fired, clock.pending]).toEqual([['a', 'b'], 0]);
  });

  it('fire for those behind one whose task throws', () => {
    const clock = manualClock();
    const deadlines = new Deadlines(clock);
    const fired: string[] = [];
    deadlines.after(100, () => {
      throw new Error('a defect');
    });
    for (const name of ['a', 'b']) deadlines.after(100, () => fired.push(name));
    expect(() => clock.advance(100)).toThrow('a defect');
    clock.advance(0);
    expect([fired, clock.pending]).toEqual([['a', 'b'], 0]);
  });

  it('that were cancelled never fire, and many cost one timer', () => {
    const clock = manualClock();
    const deadlines = new Deadlines(clock);
    let fired = 0;
    const places = Array.from({ length: 100 }, () => deadlines.after(50, () => (fired += 1)));
    expect(clock.pending).toBe(1);
    for (const place of places.slice(1)) place[Symbol.dispose]();
    places[5]?.[Symbol.dispose]();
    clock.advance(50);
    expect(fired).toBe(1);
  });

  it('end with the host, leaving no timer', () => {
    const clock = manualClock();
    const deadlines = new Deadlines(clock);
    deadlines.after(50, () => expect.unreachable());
    deadlines.after(70, () => expect.unreachable());
    deadlines[Symbol.dispose]();
    expect(clock.pending).toBe(0);
    clock.advance(100);
  });

  it('are what a timer each would be, whatever is set and cancelled', () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 30 }),
      afterMs: fc.constantFrom(10, 25, 60),
      cancels: fc.option(fc.nat(40)),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const run = (isShared: boolean): string[] => {
          const clock = manualClock();
          const timers = isShared ? new Deadlines(clock) : clock;
          const story: string[] = [];
          const set: Disposable[] = [];
          for (const [number, { waitMs, afterMs, cancels }] of steps.entries()) {
            clock.advance(waitMs);
            set.push(timers.after(afterMs, () => story.push(`${number}@${clock.now()}`)));
            if (cancels !== null) set[cancels]?.[Symbol.dispose]();
          }
          clock.advance(1_000);
          return story.sort();
        };
        expect(run(true)).toEqual(run(false));
      }),
    );
  });
});
