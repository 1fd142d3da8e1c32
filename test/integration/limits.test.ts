// Limits of memory and processes on real trees, kept by the kernel where this machine lets us make
// cgroups, and by measurement.

import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { Child, Containment } from '../../src/supervise/child.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import {
  cgroupsNamed,
  newSpawner,
  offeredContainments,
  type RecordedChild,
  recorded,
  shell,
} from '../support/recorded-child.ts';
import { until } from '../support/until.ts';

const table = systemProcesses();
const offered = await offeredContainments();
const keepers = await offeredKeepers();

/** Ways to keep a limit here, each with the containments under which it is tried. */
async function offeredKeepers(): Promise<(readonly [Child['enforced'], Containment])[]> {
  const found: (readonly [Child['enforced'], Containment])[] = [];
  for (const kind of offered) {
    found.push(['poll', kind]);
    await using spawner = newSpawner({ containments: [kind] });
    const { child } = await recorded(spawner, 'cat', [], { memoryMb: 64, processes: 8 });
    if (child.enforced === 'cgroup') found.push(['cgroup', kind]);
    else console.log(`not tested: this machine lets us make no cgroup with limits under ${kind}`);
  }
  // Without cgroups there is no containment by them.
  return found.filter(([keeper, kind]) => keeper !== 'poll' || kind !== 'cgroup');
}

/** `tail` keeps everything up to the last line, and there is none. */
const leak = 'head -c 400000000 /dev/zero | tail';
const bomb = 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; echo set; wait';
const bigBomb = 'i=0; while [ $i -lt 500 ]; do sleep 1000 & i=$((i + 1)); done; wait';

type Keeper = (typeof keepers)[number];
let instances = 0;

/** A spawner with this keeper; it counts the ticks of its clock and knows what it has left behind. */
function subjectsOf([keeper, kind]: Keeper) {
  const instance = `limits-${process.pid}-${++instances}`;
  let ticks = 0;
  const clock: Clock = {
    ...systemClock,
    after: (ms, task, background) => {
      const counted = (): void => {
        if (background) ticks++;
        task();
      };
      return systemClock.after(ms, counted, background);
    },
  };
  const spawner = newSpawner({
    ...{ clock, instance, containments: [kind], useCgroups: keeper === 'cgroup' },
  });

  async function isGone({ child }: RecordedChild): Promise<void> {
    await child.sweep();
    const carriers = await table.carrying('HOLDFAST_INSTANCE=', await table.rows(), '0');
    expect(carriers.has(child.pid)).toBe(false);
    expect(cgroupsNamed(`holdfast-${instance}`)).toEqual([]);
  }

  return {
    spawner,
    ticks: () => ticks,
    isGone,
    [Symbol.asyncDispose]: () => spawner[Symbol.asyncDispose](),
  };
}

describe.each(keepers)('a limit kept by %s under the containment %s #limits', (...keeper) => {
  it('ends a tree that takes too much memory', async () => {
    await using subjects = subjectsOf(keeper);
    const subject = await shell(subjects.spawner, leak, { memoryMb: 48 });
    expect(subject.child.enforced).toBe(keeper[0]);
    expect(await subject.exited).toMatchObject({ limit: 'memoryMb' });
    await subjects.isGone(subject);
  });

  it('ends a tree that has too many processes', async () => {
    await using subjects = subjectsOf(keeper);
    const subject = await shell(subjects.spawner, bomb, { processes: 6 });
    expect(subject.child.enforced).toBe(keeper[0]);
    expect(await subject.exited).toEqual({ code: null, signal: 'SIGKILL', limit: 'processes' });
    await subjects.isGone(subject);
  });

  it('ends a fork bomb', async () => {
    await using subjects = subjectsOf(keeper);
    const subject = await shell(subjects.spawner, bigBomb, { processes: 3 });
    expect(await subject.exited).toMatchObject({ limit: 'processes' });
    await subjects.isGone(subject);
  });
});

/** Side by side: all that they do is to wait until they have been looked at. */
describe.concurrent('a tree that keeps to its limit, however many threads it has, is left alone', () => {
  it.each(keepers)('by %s under the containment %s #limits', async (...keeper) => {
    await using subjects = subjectsOf(keeper);
    const wait = 'process.stdin.resume(); console.log("up")';
    const subject = await recorded(subjects.spawner, process.execPath, ['-e', wait], {
      ...{ memoryMb: 400, processes: 1 },
    });
    await until(() => subject.stdout().length > 0, 'it is up');
    // It is looked at on every fourth tick, and for the first time on the first or the second.
    const before = subjects.ticks();
    await until(() => subjects.ticks() >= before + 6, 'it has been looked at');
    expect(subject.told).toEqual(['stdout']);
    subject.child.closeStdin();
    expect(await subject.exited).toEqual({ code: 0, signal: null });
    await subjects.isGone(subject);
  });
});
