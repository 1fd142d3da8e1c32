import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Exit } from '../../child.ts';
import {
  notStopping,
  type StopEffect,
  type StopEvent,
  type StopState,
  stopPolicy,
  stopStep,
} from './stop-ladder.ts';

const exit: Exit = { code: 0, signal: null };

/** Feeds the events and returns the last state and all effects. */
function run(events: readonly StopEvent[]): [StopState, StopEffect[]] {
  let state = notStopping;
  const all: StopEffect[] = [];
  for (const event of events) {
    const [next, effects] = stopStep(state, event, stopPolicy);
    state = next;
    all.push(...effects);
  }
  return [state, all];
}

function deeds(events: readonly StopEvent[]): string[] {
  return run(events)[1].map((effect) => (effect.kind === 'signal' ? effect.name : effect.kind));
}

describe('the stop ladder', () => {
  it('closes stdin first and gives two seconds', () => {
    const [state, effects] = run([{ kind: 'requested', at: 100 }]);
    expect(state).toEqual({ kind: 'waiting', rung: 'stdin', until: 2100 });
    expect(effects).toEqual([{ kind: 'close-stdin' }, { kind: 'wake', at: 2100 }]);
  });

  it('climbs to SIGTERM, then to SIGKILL, then gives the process up', () => {
    const patience: StopEvent[] = [
      { kind: 'requested', at: 0 },
      { kind: 'elapsed', at: 2000 },
      { kind: 'elapsed', at: 5000 },
      { kind: 'elapsed', at: 6000 },
      { kind: 'swept', count: 1 },
    ];
    const expected = ['close-stdin', 'wake', 'SIGTERM', 'wake', 'SIGKILL', 'wake'];
    expect(deeds(patience)).toEqual([...expected, 'sweep', 'finish']);
    expect(run(patience)[0]).toEqual({
      kind: 'stopped',
      report: { exit: null, rung: 'kill', swept: 1 },
    });
  });

  it('does not climb before its time', () => {
    const early: StopEvent[] = [
      { kind: 'requested', at: 0 },
      { kind: 'elapsed', at: 1999 },
    ];
    expect(deeds(early)).toEqual(['close-stdin', 'wake']);
  });

  it.each([
    ['stdin', []],
    ['term', [{ kind: 'elapsed', at: 2000 }]],
    [
      'kill',
      [
        { kind: 'elapsed', at: 2000 },
        { kind: 'elapsed', at: 5000 },
      ],
    ],
  ] as const)('goes to the sweep when the process exits at the rung %s', (rung, climbed) => {
    const [state, effects] = run([
      { kind: 'requested', at: 0 },
      ...climbed,
      { kind: 'exited', exit },
      { kind: 'swept', count: 2 },
    ]);
    expect(state).toEqual({ kind: 'stopped', report: { exit, rung, swept: 2 } });
    expect(effects.slice(-2).map((effect) => effect.kind)).toEqual(['sweep', 'finish']);
  });

  it('jumps to SIGKILL when hurried, once', () => {
    const hurried: StopEvent[] = [
      { kind: 'requested', at: 0 },
      { kind: 'hurried', at: 10 },
      { kind: 'hurried', at: 20 },
    ];
    expect(deeds(hurried)).toEqual(['close-stdin', 'wake', 'SIGKILL', 'wake']);
  });

  it('ignores a second request', () => {
    const twice: StopEvent[] = [
      { kind: 'requested', at: 0 },
      { kind: 'requested', at: 1 },
    ];
    expect(deeds(twice)).toEqual(['close-stdin', 'wake']);
  });

  const anyEvent = fc.oneof(
    fc.record({ kind: fc.constant('requested' as const), at: fc.nat(9000) }),
    fc.record({ kind: fc.constant('hurried' as const), at: fc.nat(9000) }),
    fc.record({ kind: fc.constant('elapsed' as const), at: fc.nat(9000) }),
    fc.constant<StopEvent>({ kind: 'exited', exit }),
    fc.record({ kind: fc.constant('swept' as const), count: fc.nat(3) }),
  );

  it('never climbs down, and sweeps and finishes at most once, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        const done = deeds(events).filter((deed) => deed !== 'wake');
        const order = ['close-stdin', 'SIGTERM', 'SIGKILL', 'sweep', 'finish'];
        const ranks = done.map((deed) => order.indexOf(deed));
        expect(ranks).toEqual([...new Set(ranks)].sort((a, b) => a - b));
      }),
    );
  });
});
