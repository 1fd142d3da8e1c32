// The simulated database keeps the contract of a store: the suite of every store, on a disk that a
// test can make refuse; and what a kill leaves of a commit is all of it or nothing.

import { describe, expect, it } from 'vitest';
import { ManualClock, settled } from '../support/manual-clock.ts';
import { storeSuite } from '../support/store-suite/store-suite.ts';
import { type Ground, SimDatabase } from './sim-database.ts';

const clock = new ManualClock();

function groundOf(more: Partial<Ground> = {}): Ground {
  const calm = { dice: { chance: () => false }, faults: { occurs: () => false } };
  return { ...calm, clock, disk: { refused: () => '' }, ...more };
}

const never = () => new Promise<void>(() => {});
const atOnce = () => Promise.resolve();
const report = () => {};

storeSuite('the simulated database', {
  offers: { records: ['durable', 'process'], logs: [], queues: [], counters: [] },
  boundsRecords: false,
  outlivesClosing: true,
  place: () => {
    let isRefusing = false;
    let now = clock;
    const disk = { refused: () => (isRefusing ? 'EIO' : '') };
    const database = new SimDatabase(groundOf({ disk, clock: { wallNow: () => now.wallNow() } }));
    return {
      open: (given) => {
        now = given;
        return database.for({ clock: given, moment: atOnce }, { report });
      },
      refuse: (is) => {
        isRefusing = is;
      },
    };
  },
});

describe('a kill in the middle of a commit', () => {
  it.each([true, false])('leaves all of what was asked for together: %s', async (isThere) => {
    let rolls = 0;
    // The first throw is made when the database is: whether its rows rot.
    const chance = () => {
      rolls += 1;
      return rolls > 1 && isThere;
    };
    const database = new SimDatabase(groundOf({ dice: { chance } }));
    const durable = { durability: 'durable' } as const;
    const killed = database.for({ clock, moment: never }, { report });
    void killed.records('keys', durable).put('a', 1);
    void killed.records('answers', durable).put('a', 2);
    // The store gathers what comes in one turn.
    await settled();
    await settled();
    expect(database.isCommitting).toBe(true);
    database.crash();
    const next = database.for({ clock, moment: atOnce }, { report });
    const values = [next.records('keys', durable), next.records('answers', durable)];
    const found = await Promise.all(values.map((records) => records.get('a')));
    expect(found.map((entry) => entry?.value)).toEqual(isThere ? [1, 2] : [undefined, undefined]);
  });
});
