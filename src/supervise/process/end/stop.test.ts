import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import type { Child, Exit } from '../../child.ts';
import { stopChild } from './stop.ts';
import { stopPolicy } from './stop-ladder.ts';

const exit: Exit = { code: 0, signal: null };

function recordedChild() {
  const deeds: string[] = [];
  let exited: (exit: Exit) => void = () => {};
  const exit = new Promise<Exit>((resolve) => {
    exited = resolve;
  });
  const child: Child = {
    pid: 1,
    containment: 'group',
    isStateHidden: false,
    enforced: 'none',
    write: (_bytes, done) => done(null),
    closeStdin: () => void deeds.push('close'),
    pause: () => {},
    resume: () => {},
    signal: (name) => void deeds.push(name),
    sweep: async () => deeds.push('sweep'),
  };
  return { child, deeds, exit, exited };
}

describe('stopping a child', () => {
  it('performs the rungs in order, in their time', async () => {
    const clock = manualClock();
    const { child, deeds, exit: exiting, exited } = recordedChild();
    const stop = stopChild(child, exiting, clock, stopPolicy);
    expect([stop.rung, deeds]).toEqual(['stdin', ['close']]);
    clock.advance(2000);
    expect([stop.rung, deeds]).toEqual(['term', ['close', 'SIGTERM']]);
    clock.advance(3000);
    expect([stop.rung, deeds]).toEqual(['kill', ['close', 'SIGTERM', 'SIGKILL']]);
    exited(exit);
    expect(await stop.finished).toEqual({ exit, rung: 'kill', swept: 4 });
    expect([stop.rung, clock.pending]).toEqual([null, 0]);
  });

  it('joins a stop that is under way', async () => {
    const clock = manualClock();
    const { child, deeds, exit: exiting, exited } = recordedChild();
    const first = stopChild(child, exiting, clock, stopPolicy);
    expect(stopChild(child, exiting, clock, stopPolicy)).toBe(first);
    exited(exit);
    await first.finished;
    expect(stopChild(child, exiting, clock, stopPolicy)).toBe(first);
    expect(deeds).toEqual(['close', 'sweep']);
  });

  it('kills at once when hurried', async () => {
    const clock = manualClock();
    const { child, deeds, exit: exiting, exited } = recordedChild();
    const stop = stopChild(child, exiting, clock, stopPolicy);
    stop.hurry();
    exited(exit);
    expect((await stop.finished).rung).toBe('kill');
    expect(deeds).toEqual(['close', 'SIGKILL', 'sweep']);
  });

  it('sweeps at once what has already exited', async () => {
    const clock = manualClock();
    const { child, exit: exiting, exited } = recordedChild();
    exited(exit);
    const report = await stopChild(child, exiting, clock, stopPolicy).finished;
    expect(report).toMatchObject({ exit, rung: 'stdin' });
  });

  it('ends even when the process outlives SIGKILL', async () => {
    const clock = manualClock();
    const { child, exit: exiting } = recordedChild();
    const stop = stopChild(child, exiting, clock, stopPolicy);
    clock.advance(6000);
    expect((await stop.finished).exit).toBeNull();
  });
});
