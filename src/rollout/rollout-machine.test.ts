// A rollout's decisions, one by one. rollout-machine.property.test.ts has what holds for every order of events.

import { describe, expect, it } from 'vitest';
import { initialRollout, rolloutDeadline, rolloutStep } from './rollout-machine.ts';
import {
  type FilesState,
  type RolloutEffect,
  type RolloutEvent,
  type RolloutMachineState,
  type RolloutPolicy,
  rolloutLimits,
} from './rollout-state.ts';

const manual: RolloutPolicy = { ...rolloutLimits, isAuto: false };
const auto: RolloutPolicy = { ...manual, isAuto: true };
const changed = (print: string): FilesState => ({ kind: 'changed', print });

type Untimed = RolloutEvent extends infer E
  ? E extends RolloutEvent
    ? Omit<E, 'at'>
    : never
  : never;
type Said = Untimed & { readonly at?: number };

/** All effects of these events, in order, and the state after them. */
function played(policy: RolloutPolicy, ...events: readonly Said[]) {
  let state: RolloutMachineState = initialRollout();
  const effects: RolloutEffect[] = [];
  for (const event of [{ kind: 'serving' } as Said, ...events]) {
    const [next, more] = rolloutStep(state, { at: 0, ...event } as RolloutEvent, policy);
    state = next;
    effects.push(...more);
  }
  return { state, effects, kinds: effects.map(({ kind }) => kind) };
}

const asked = (ticket: number | null = 1, at = 0): Said => ({ kind: 'asked', ticket, at });
const files = (state: FilesState): Said => ({ kind: 'files', files: state });
const cause = { reason: 'exited', detail: 'it ended' } as const;
const failing = (run: number): readonly Said[] => [
  { kind: 'failed', run, cause },
  { kind: 'abandoned', run, outcome: 'ended' },
];

describe('a rollout', () => {
  it('starts a successor, draws the fence when it is ready, and ends when it serves #rollout', () => {
    const steps = played(manual, asked(), { kind: 'ready', run: 1 }, { kind: 'served', run: 1 });
    expect(steps.effects).toEqual([
      { kind: 'start', run: 1, lost: null },
      { kind: 'fence', run: 1 },
      { kind: 'passOn', run: 1, again: false, shutdown: false },
      { kind: 'tell', tickets: [1], outcome: { kind: 'rolled' } },
    ]);
    expect(steps.state.phase.kind).toBe('former');
  });

  it('leaves the incumbent as it was when the successor fails, says so once, and is not repeated', () => {
    const steps = played(auto, files(changed('b')), asked(7), ...failing(1), files(changed('b')), {
      kind: 'tick',
      at: 1_000_000,
    });
    expect(steps.kinds).toEqual(['start', 'abandon', 'tell']);
    expect(steps.state).toMatchObject({ phase: { kind: 'idle' }, failures: 1 });
    expect(steps.effects.at(-1)).toMatchObject({ outcome: { kind: 'failed', cause, at: 0 } });
  });

  it('is tried again when the files change again, or when somebody asks', () => {
    expect(played(auto, files(changed('b')), ...failing(1), files(changed('c'))).kinds).toEqual([
      ...['start', 'abandon', 'start'],
    ]);
    expect(played(manual, asked(), ...failing(1), asked()).kinds).toEqual([
      ...['start', 'abandon', 'tell', 'start'],
    ]);
  });

  it('also leads back to files that were there before', () => {
    const back = played(
      auto,
      files(changed('b')),
      ...failing(1),
      files(changed('c')),
      ...failing(2),
    );
    expect(back.state.failed?.print).toBe('c');
    const [next, effects] = rolloutStep(
      back.state,
      { kind: 'files', files: changed('b'), at: 0 },
      auto,
    );
    expect(effects).toEqual([{ kind: 'start', run: 3, lost: null }]);
    expect(next.phase.kind).toBe('starting');
  });

  it('is not begun by changed files unless the config says so', () => {
    expect(played(manual, files(changed('b'))).kinds).toEqual([]);
    const turned = rolloutStep(
      played(manual, files(changed('b'))).state,
      { kind: 'policy', at: 0 },
      auto,
    );
    expect(turned[1]).toEqual([{ kind: 'start', run: 1, lost: null }]);
  });

  it('is taken back when the files are as they were before it began', () => {
    const held = { kind: 'formers', count: 4 } as const;
    const steps = played(auto, held, files(changed('b')), files({ kind: 'same' }), {
      kind: 'formers',
      count: 0,
    });
    expect(steps.kinds).toEqual([]);
  });

  it.each<[string, Said, Said]>([
    ['the files are being written', files({ kind: 'settling' }), files(changed('b'))],
    ['four processes end their work', { kind: 'formers', count: 4 }, { kind: 'formers', count: 3 }],
  ])('waits while %s', (_, obstacle, gone) => {
    expect(played(manual, obstacle, asked()).kinds).toEqual([]);
    expect(played(manual, obstacle, asked(), gone).kinds).toEqual(['start']);
  });

  it('waits until the process serves', () => {
    const [state, before] = rolloutStep(
      initialRollout(),
      { kind: 'asked', ticket: 1, at: 0 },
      manual,
    );
    expect(before).toEqual([]);
    expect(rolloutStep(state, { kind: 'serving', at: 0 }, manual)[1]).toEqual([
      { kind: 'start', run: 1, lost: null },
    ]);
  });

  it('keeps nobody waiting longer than the limit, and is done later all the same', () => {
    const steps = played(
      manual,
      { kind: 'formers', count: 4 },
      asked(1, 0),
      { kind: 'tick', at: 30_000 },
      { kind: 'formers', count: 0 },
    );
    expect(steps.effects).toEqual([
      { kind: 'tell', tickets: [1], outcome: { kind: 'pending', why: 'formers' } },
      { kind: 'start', run: 1, lost: null },
    ]);
  });

  it('is joined by whoever asks while it runs, and repeated once for files that came after it began', () => {
    const joined = played(manual, asked(1), asked(2), ...failing(1));
    expect(joined.effects.at(-1)).toMatchObject({ kind: 'tell', tickets: [1, 2] });
    const later = played(manual, asked(1), files(changed('b')), asked(2), asked(3), ...failing(1));
    expect(later.effects.slice(1)).toMatchObject([
      { kind: 'abandon' },
      { kind: 'tell', tickets: [1] },
      { kind: 'start', run: 2, lost: null },
    ]);
    expect(later.state.phase).toMatchObject({ run: { tickets: [2, 3] } });
  });

  it('passes on to the successor what was asked for with files that came after it began', () => {
    const steps = played(
      manual,
      ...[asked(1), files(changed('b')), asked(2)],
      { kind: 'ready', run: 1 },
      { kind: 'served', run: 1 },
    );
    expect(steps.effects.slice(-2)).toEqual([
      { kind: 'passOn', run: 1, again: true, shutdown: false },
      { kind: 'tell', tickets: [1, 2], outcome: { kind: 'rolled' } },
    ]);
  });

  it('is late after its gate, and after the limit of the handing over', () => {
    const gate = played(
      manual,
      asked(),
      { kind: 'tick', at: 14_999 },
      { kind: 'tick', at: 15_000 },
    );
    expect(gate.effects.slice(1)).toEqual([{ kind: 'abandon', run: 1 }]);
    const over = played(
      manual,
      asked(),
      { kind: 'ready', run: 1, at: 10_000 },
      { kind: 'tick', at: 24_999 },
      { kind: 'tick', at: 25_000 },
    );
    expect(over.effects.slice(2)).toEqual([{ kind: 'abandon', run: 1 }]);
    expect(over.state.phase).toMatchObject({ cause: { reason: 'late' } });
  });

  it('ends also when the holder does not confirm the end of the successor', () => {
    const steps = played(
      manual,
      asked(),
      { kind: 'failed', run: 1, cause },
      { kind: 'tick', at: 5_000 },
    );
    expect(steps.kinds).toEqual(['start', 'abandon', 'tell']);
  });

  it('has succeeded when the successor took over in the moment in which it was given up', () => {
    const steps = played(
      manual,
      asked(),
      { kind: 'ready', run: 1 },
      { kind: 'failed', run: 1, cause },
      { kind: 'abandoned', run: 1, outcome: 'serving' },
    );
    expect(steps.kinds).toEqual(['start', 'fence', 'abandon', 'passOn', 'tell']);
    expect(steps.state).toMatchObject({ phase: { kind: 'former' }, failures: 0 });
  });

  it('gives what was handed over to another successor when one is lost behind the fence', () => {
    const lost: readonly Said[] = [
      { kind: 'ready', run: 1 },
      { kind: 'failed', run: 1, cause },
      { kind: 'abandoned', run: 1, outcome: 'handed' },
    ];
    const steps = played(
      manual,
      asked(),
      ...lost,
      { kind: 'ready', run: 1 },
      { kind: 'served', run: 1 },
    );
    expect(steps.effects.slice(1, 5)).toEqual([
      { kind: 'fence', run: 1 },
      { kind: 'abandon', run: 1 },
      { kind: 'start', run: 1, lost: cause },
      { kind: 'fence', run: 1 },
    ]);
    expect(steps.kinds.slice(5)).toEqual(['passOn', 'tell']);
    // One that is not even ready counts as well: what was handed over is still with nobody.
    const early = [
      { kind: 'failed', run: 1, cause },
      { kind: 'abandoned', run: 1, outcome: 'handed' },
    ] as const;
    const over = played(manual, asked(), ...lost, ...early, ...early, ...early);
    expect(over.kinds.slice(-5)).toEqual(['abandon', 'start', 'abandon', 'tell', 'giveUp']);
    expect(over.kinds.filter((kind) => kind === 'start')).toHaveLength(4);
    expect(over.state.phase.kind).toBe('idle');
  });

  it('is not given up behind the fence because the instance ends', () => {
    const behind: readonly Said[] = [
      { kind: 'ready', run: 1 },
      { kind: 'failed', run: 1, cause },
      { kind: 'abandoned', run: 1, outcome: 'handed' },
      { kind: 'shutdown' },
    ];
    const steps = played(
      manual,
      asked(),
      ...behind,
      { kind: 'ready', run: 1 },
      { kind: 'served', run: 1 },
    );
    expect(steps.effects).toContainEqual({ kind: 'passOn', run: 1, again: false, shutdown: true });
  });

  it('is refused while the instance ends, and given up if the fence is not drawn', () => {
    expect(played(manual, { kind: 'shutdown' }, asked()).effects).toEqual([
      { kind: 'tell', tickets: [1], outcome: { kind: 'refused', why: 'shutdown' } },
    ]);
    const given = played(
      auto,
      asked(),
      files(changed('b')),
      { kind: 'shutdown' },
      {
        kind: 'abandoned',
        run: 1,
        outcome: 'ended',
      },
    );
    expect(given.kinds).toEqual(['start', 'abandon', 'tell']);
    const begun = [asked(), { kind: 'ready', run: 1 }, { kind: 'shutdown' }] as const;
    const passed = played(manual, ...begun, { kind: 'served', run: 1 });
    expect(passed.effects).toContainEqual({ kind: 'passOn', run: 1, again: false, shutdown: true });
  });

  it('hears nothing of a successor that was given up', () => {
    const steps = played(manual, asked(), ...failing(1), asked(), { kind: 'ready', run: 1 });
    expect(steps.kinds).toEqual(['start', 'abandon', 'tell', 'start']);
  });

  it('has a deadline only while something waits for time to pass', () => {
    expect(rolloutDeadline(played(manual).state, manual)).toBeUndefined();
    expect(rolloutDeadline(played(manual, asked()).state, manual)).toBe(15_000);
    const waiting = played(manual, files({ kind: 'settling' }), asked(1, 5));
    expect(rolloutDeadline(waiting.state, manual)).toBe(30_005);
  });
});
