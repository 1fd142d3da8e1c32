// A running gateway notices added, revoked and expired tokens within a second. Manual clock; folders that a
// test changes.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import type { Principal } from '../../policy/principal.ts';
import { TokenWatch } from './token-watch.ts';

const ann: Principal = { id: 'token:ann', role: 'reader' };
const bob: Principal = { id: 'token:bob', role: 'reader' };

function watched() {
  const clock = manualClock();
  const world = {
    /** On the disk. */
    stored: [ann, bob] as readonly Principal[],
    state: 'first',
    records: 'first',
    isWhole: true,
    isHanging: false,
    fails: undefined as Error | undefined,
    endFails: undefined as Error | undefined,
    reads: 0,
    looks: 0,
    looksAtRecords: 0,
    ended: [] as string[][],
    kept: 0,
    errors: [] as unknown[],
  };
  let valid = world.stored;
  const expired = new Set<Principal>();
  const watch = new TokenWatch({
    clock,
    tokens: {
      get principals() {
        return valid.filter((one) => !expired.has(one));
      },
      uses: new Map(),
      read: async () => {
        world.reads += 1;
        if (world.fails) throw world.fails;
        valid = world.stored;
        return world.isWhole;
      },
    },
    uses: {
      keep: () => {
        world.kept += 1;
      },
    },
    stateOfFolders: async () => {
      world.looks += 1;
      if (world.isHanging) await new Promise<never>(() => {});
      return world.state;
    },
    stateOfRecords: async () => {
      world.looksAtRecords += 1;
      return world.records;
    },
    ended: (ids) => {
      world.ended.push([...ids]);
      if (world.endFails) throw world.endFails;
    },
    caught: (error) => void world.errors.push(error),
  });
  return { clock, watch, world, expired };
}

describe('tokens that are followed', () => {
  it('are told to have ended until whatever ends with them has ended #revoked', async () => {
    const { clock, world } = watched();
    await clock.advanceAsync(10_000);
    world.endFails = new Error('half-way');
    world.stored = [{ ...ann, role: 'other' }];
    world.state = 'second';
    await clock.advanceAsync(250);
    const failed = world.ended.length;
    expect([failed > 0, world.errors[0]]).toEqual([true, world.endFails]);
    world.endFails = undefined;
    await clock.advanceAsync(250);
    expect(world.ended.slice(failed)).toEqual([[ann.id, bob.id]]);
    await clock.advanceAsync(10_000);
    expect(world.ended).toHaveLength(failed + 1);
  });

  it('end within a second of their removal #revoked', async () => {
    const { clock, world } = watched();
    await clock.advanceAsync(10_000);
    expect(world.ended).toEqual([]);
    world.stored = [bob];
    world.state = 'second';
    await clock.advanceAsync(1_000);
    expect(world.ended).toEqual([['token:ann']]);
    await clock.advanceAsync(10_000);
    expect(world.ended).toHaveLength(1);
  });

  it('are looked for at once when somebody shows one that is not known, once for all who ask #tokens', async () => {
    const { clock, watch, world } = watched();
    await clock.advanceAsync(10_000);
    world.stored = [bob];
    world.state = 'second';
    const { looks } = world;
    await Promise.all(Array.from({ length: 100 }, () => watch.lookNow()));
    expect(world.ended).toEqual([['token:ann']]);
    expect(world.looks - looks).toBeLessThan(3);
    // A change while one look is under way is seen by the next.
    const first = watch.lookNow();
    world.stored = [];
    world.state = 'third';
    await Promise.all([first, watch.lookNow()]);
    expect(world.ended).toEqual([['token:ann'], ['token:bob']]);
    world.fails = new Error('no disk');
    world.state = 'fourth';
    await watch.lookNow();
    expect(world.errors).toHaveLength(1);
  });

  it('end within a second of a change inside their records #revoked', async () => {
    const { clock, world } = watched();
    await clock.advanceAsync(10_000);
    world.stored = [bob];
    world.records = 'second';
    await clock.advanceAsync(1_000);
    expect(world.ended).toEqual([['token:ann']]);
  });

  it('end at their time, and also while the disk hangs #revoked', async () => {
    const { clock, world, expired } = watched();
    await clock.advanceAsync(5_000);
    world.isHanging = true;
    await clock.advanceAsync(5_000);
    expired.add(bob);
    await clock.advanceAsync(1_000);
    expect(world.ended).toEqual([['token:bob']]);
  });

  it('end when their role is another one #revoked', async () => {
    const { clock, world } = watched();
    world.stored = [ann, { ...bob, role: 'writer' }];
    world.state = 'second';
    await clock.advanceAsync(1_000);
    expect(world.ended).toEqual([['token:bob']]);
  });

  it('cost one look at the folders four times a second, two at their files, and no reading unless something has changed', async () => {
    const { clock, world } = watched();
    await clock.advanceAsync(10_000);
    const { reads, looks, looksAtRecords } = world;
    await clock.advanceAsync(10_000);
    expect(world.reads).toBe(reads);
    expect(world.looks).toBe(looks + 40);
    expect(world.looksAtRecords).toBe(looksAtRecords + 20);
    world.state = 'second';
    await clock.advanceAsync(250);
    expect(world.reads).toBe(reads + 1);
  });

  it('are read again for a while after a change: a second one may have the same timestamp #revoked', async () => {
    const { clock, world } = watched();
    await clock.advanceAsync(10_000);
    world.state = 'second';
    await clock.advanceAsync(500);
    world.stored = [];
    await clock.advanceAsync(1_000);
    expect(world.ended).toEqual([['token:ann', 'token:bob']]);
  });

  it('that cannot be read are tried again until they can', async () => {
    const { clock, world } = watched();
    await clock.advanceAsync(10_000);
    world.isWhole = false;
    world.state = 'second';
    await clock.advanceAsync(5_000);
    world.isWhole = true;
    world.stored = [ann];
    await clock.advanceAsync(6_000);
    expect(world.ended).toEqual([['token:bob']]);
    const { reads } = world;
    await clock.advanceAsync(20_000);
    expect(world.reads).toBe(reads);
  });

  it('that cannot be read for a moment are read again soon #revoked', async () => {
    const { clock, world } = watched();
    await clock.advanceAsync(10_000);
    world.isWhole = false;
    world.state = 'second';
    await clock.advanceAsync(2_500);
    world.isWhole = true;
    world.stored = [ann];
    await clock.advanceAsync(1_000);
    expect(world.ended).toEqual([['token:bob']]);
  });

  it('are not followed after the end, and a failure is reported', async () => {
    const { clock, watch, world } = watched();
    world.fails = new Error('a defect');
    await clock.advanceAsync(250);
    expect(world.errors).toEqual([world.fails]);
    watch[Symbol.dispose]();
    expect(clock.pending).toBe(0);
    const { kept } = world;
    await clock.advanceAsync(5_000);
    expect(world.kept).toBe(kept);
  });
});
