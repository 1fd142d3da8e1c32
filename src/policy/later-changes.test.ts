// Changes of a store that are tried again.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { LaterChanges } from './later-changes.ts';

function failing() {
  const clock = new ManualClock();
  const later = new LaterChanges(clock);
  const store = { isAway: true, tries: 0, over: 0 };
  const change = async () => {
    store.tries += 1;
    if (store.isAway) throw new Error('it is away');
  };
  const over = () => {
    store.over += 1;
  };
  const added = () => later.add(change, over);
  return { clock, later, store, added };
}

describe('a change that could not be made', () => {
  it('is tried once more when the process ends, and leaves no timer #stop-ladder #no-growth', async () => {
    const { clock, later, store, added } = failing();
    added();
    await later.close();
    expect([store.tries, store.over, later.size, clock.pending]).toEqual([1, 1, 0, 0]);
    expect(added()).toBe(false);
  });

  it('is tried until it is made #idempotency-key', async () => {
    const { clock, later, store, added } = failing();
    added();
    await clock.advanceAsync(1_000);
    expect([store.tries > 1, store.over]).toEqual([true, 0]);
    store.isAway = false;
    await clock.advanceAsync(60_000);
    expect([store.over, later.size, clock.pending]).toEqual([1, 0, 0]);
  });
});
