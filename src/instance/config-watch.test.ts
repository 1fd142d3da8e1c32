// How soon a changed config is noticed, on a manual clock: whether something tells of the change or not, whatever
// else is written in its folder, and while an earlier change is still being taken over.

import { describe, expect, it, onTestFinished } from 'vitest';
import { ManualClock, settled } from '../../test/support/manual-clock.ts';
import { ConfigWatch, noticedMs } from './config-watch.ts';

/** Files whose state the test says; nothing tells of a change but the test. */
function watched({ takesForEver = false } = {}) {
  const clock = new ManualClock();
  let state = 'first';
  /** When each state was reported. */
  const reported = new Map<string, number>();
  let looking = Promise.resolve();
  const watch = new ConfigWatch(
    {
      clock,
      files: () => ['/nowhere/at/all/holdfast.json'],
      stateOf: async () => {
        const found = state;
        await looking;
        return found;
      },
      changed: async () => {
        reported.set(state, clock.now());
        if (takesForEver) await new Promise(() => {});
      },
    },
    state,
  );
  onTestFinished(() => watch[Symbol.dispose]());
  /** Time passes, and every millisecond something may happen. */
  const pass = async (ms: number, each: () => void = () => {}) => {
    for (let at = 0; at < ms; at += 1) {
      each();
      clock.advance(1);
      await settled();
    }
  };
  return {
    watch,
    clock,
    reported,
    pass,
    write: (next: string) => {
      state = next;
    },
    /** A look that begins now ends only when the result is called. */
    hold: () => {
      let go = () => {};
      looking = new Promise((done) => {
        go = done;
      });
      return () => go();
    },
  };
}

describe('a changed config', () => {
  it.each([0, 50, 99, 100, 250, 499, 500, 733])(
    'is noticed within a second if nothing tells of it, %i ms after the start #config-soon',
    async (offset) => {
      const { pass, write, reported } = watched();
      await pass(offset);
      write('second');
      await pass(noticedMs);
      expect([...reported.keys()]).toEqual(['second']);
    },
  );

  it('is noticed within a second in a folder where something is written all the time #config-soon', async () => {
    const { watch, pass, write, reported, clock } = watched();
    await pass(700, () => watch.touched());
    write('second');
    const writtenAt = clock.now();
    await pass(noticedMs, () => watch.touched());
    const [[, at] = ['', Number.NaN]] = reported;
    expect(at - writtenAt).toBeLessThanOrEqual(300);
  });

  it.each([
    ['if something tells of it', true],
    ['if nothing does', false],
  ])(
    'is noticed within a second while the one before is being taken over, %s #config-soon',
    async (_how, isTold) => {
      const { watch, pass, write, reported } = watched({ takesForEver: true });
      for (const next of ['second', 'third', 'fourth']) {
        write(next);
        if (isTold) watch.touched();
        await pass(isTold ? 350 : noticedMs);
      }
      expect([...reported.keys()]).toEqual(['second', 'third', 'fourth']);
    },
  );

  it('is noticed at once if it comes during a look, and something tells of it #config-soon', async () => {
    const { watch, pass, write, reported, hold, clock } = watched();
    await pass(300);
    const go = hold();
    await pass(600);
    write('second');
    const writtenAt = clock.now();
    watch.touched();
    go();
    await pass(noticedMs);
    const [[, at] = ['', Number.NaN]] = reported;
    expect(at - writtenAt).toBeLessThanOrEqual(300);
  });

  it('is not read while it is being written, and is noticed within a second after that #config-soon', async () => {
    const { watch, pass, write, reported, clock } = watched();
    let writes = 0;
    const writing = () => {
      writes += 1;
      if (writes % 40 !== 0) return;
      write(`part ${writes}`);
      watch.touched();
    };
    await pass(2_000, writing);
    expect([...reported.keys()]).toEqual([]);
    const writtenAt = clock.now();
    await pass(noticedMs);
    expect([...reported.keys()]).toEqual(['part 2000']);
    expect([...reported.values()].every((at) => at - writtenAt <= noticedMs)).toBe(true);
  });

  it('is reported once, and nothing is reported where nothing changes #config-soon', async () => {
    const { watch, pass, write, reported } = watched();
    await pass(3_000, () => watch.touched());
    expect(reported.size).toBe(0);
    write('second');
    await pass(3_000);
    const [at] = reported.values();
    await pass(3_000, () => watch.touched());
    expect([...reported.values()]).toEqual([at]);
  });
});
