// The watch over the installed files, with looks that are played; installed-files.test.ts has real files.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { FilesWatch } from './files-watch.ts';
import type { InstalledLook } from './installed-files.ts';
import type { FilesState } from './rollout-state.ts';

const print = (text: string): InstalledLook => ({ kind: 'print', print: text });

async function watched({ isFollowing = true } = {}) {
  const clock = new ManualClock();
  const told: FilesState[] = [];
  const caught: unknown[] = [];
  const played = { look: print('a'), looks: 0, thorough: 0, fails: false };
  const watch = new FilesWatch({
    clock,
    look: async (isBrief) => {
      played.looks += 1;
      if (!isBrief) played.thorough += 1;
      if (played.fails) throw new TypeError('a defect');
      return played.look;
    },
    changed: (state) => told.push(state),
    caught: (error) => caught.push(error),
  });
  await clock.advanceAsync(0);
  watch.follow(isFollowing);
  return { clock, told, caught, played, watch };
}

describe('the watch over the installed files', () => {
  it('looks twice a second, also while nothing else happens, with one timer that keeps nothing alive', async () => {
    const { clock, played, told, watch } = await watched();
    await clock.advanceAsync(10_000);
    expect([played.looks, played.thorough]).toEqual([21, 3]);
    expect(told).toEqual([]);
    expect([clock.pending, clock.foreground]).toEqual([1, 0]);
    watch[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  it('tells of a change when it was the same for 200 ms', async () => {
    const { clock, played, told } = await watched();
    played.look = print('b');
    await clock.advanceAsync(500);
    expect(told).toEqual([{ kind: 'settling' }]);
    played.look = print('c');
    await clock.advanceAsync(200);
    expect(told).toHaveLength(1);
    await clock.advanceAsync(199);
    expect(told).toHaveLength(1);
    await clock.advanceAsync(1);
    expect(told.slice(1)).toEqual([{ kind: 'changed', print: 'c' }]);
    await clock.advanceAsync(10_000);
    expect(told).toHaveLength(2);
  });

  it('waits while a file is missing, and notices that all is as before', async () => {
    const { clock, played, told } = await watched();
    played.look = { kind: 'missing' };
    await clock.advanceAsync(60_000);
    expect(told).toEqual([{ kind: 'settling' }]);
    played.look = print('a');
    await clock.advanceAsync(200);
    expect(told.at(-1)).toEqual({ kind: 'same' });
  });

  it('tells of an error, and looks again', async () => {
    const { clock, played, told, caught } = await watched();
    played.look = { kind: 'unreadable', cause: 'EACCES' };
    await clock.advanceAsync(500);
    expect(told).toEqual([{ kind: 'unreadable', cause: 'EACCES' }]);
    played.fails = true;
    await clock.advanceAsync(500);
    expect(caught).toHaveLength(1);
    played.fails = false;
    played.look = print('a');
    await clock.advanceAsync(500);
    expect(told.at(-1)).toEqual({ kind: 'same' });
  });

  it('looks only when it is asked where changes are no reason, and then until it is certain', async () => {
    const { clock, played, watch, told } = await watched({ isFollowing: false });
    await clock.advanceAsync(60_000);
    expect([played.looks, clock.pending]).toEqual([1, 0]);
    played.look = print('b');
    expect(await watch.now()).toEqual({ kind: 'settling' });
    await clock.advanceAsync(200);
    expect(told.at(-1)).toEqual({ kind: 'changed', print: 'b' });
    expect(clock.pending).toBe(0);
  });
});
