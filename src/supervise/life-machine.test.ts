import { describe, expect, it } from 'vitest';
import {
  type LifeEffect,
  type LifeEvent,
  type LifeState,
  lifeStep,
  type Phase,
  unborn,
} from './life-machine.ts';
import type { RestartPolicy } from './restart-machine.ts';

const policy: RestartPolicy = {
  max: 2,
  windowMs: 300_000,
  minDelayMs: 100,
  maxDelayMs: 5_000,
  healthyMs: 60_000,
};

const wanted = (at = 0): LifeEvent => ({ kind: 'wanted', at });
const started = (generation: number, at = 0): LifeEvent => ({ kind: 'started', generation, at });
const startFailed = (generation: number, at = 0): LifeEvent => ({
  kind: 'start-failed',
  generation,
  at,
  random: 0,
});
const lost = (generation: number, at: number, isWanted: boolean): LifeEvent => ({
  kind: 'lost',
  generation,
  at,
  random: 0,
  wanted: isWanted,
});
const hung = (generation: number, at: number): LifeEvent => ({
  kind: 'hung',
  generation,
  at,
  random: 0,
});
const elapsed = (at: number, isWanted: boolean): LifeEvent => ({
  kind: 'elapsed',
  at,
  wanted: isWanted,
});
const closed = (generation: number, at: number, isWanted: boolean): LifeEvent => ({
  kind: 'closed',
  generation,
  at,
  wanted: isWanted,
});

function upon(events: readonly LifeEvent[], from: LifeState = unborn) {
  let state = from;
  let effects: readonly LifeEffect[] = [];
  for (const event of events) [state, effects] = lifeStep(state, event, policy);
  return { state, effects };
}

const starting = upon([wanted()]).state;
const ready = upon([started(1, 10)], starting).state;
const ejected = upon(
  [
    startFailed(1),
    elapsed(100, true),
    startFailed(2, 100),
    elapsed(300, true),
    startFailed(3, 300),
  ],
  starting,
).state;

describe('starting', () => {
  it('begins with the first who wants it, as generation 1', () => {
    expect(upon([wanted()])).toEqual({
      state: { ...unborn, generation: 1, highest: 1, phase: { kind: 'starting' } },
      effects: [{ kind: 'start', generation: 1 }],
    });
  });

  it('happens once for any number who want it', () => {
    expect(upon([wanted(), wanted(1), wanted(2)])).toEqual({ state: starting, effects: [] });
  });

  it('serves all who wait when the connection is there, and everyone after them', () => {
    expect(upon([started(1, 10)], starting).effects).toEqual([{ kind: 'serve' }]);
    expect(upon([wanted(20)], ready)).toEqual({ state: ready, effects: [{ kind: 'serve' }] });
  });

  it('refuses all waiters when it fails, and waits before the next start', () => {
    const { state, effects } = upon([startFailed(1, 50)], starting);
    expect(state.phase).toEqual({ kind: 'cooling', until: 150 });
    expect(effects).toEqual([
      { kind: 'refuse', why: 'start-failed' },
      { kind: 'announce', news: 'cooling', delayMs: 100 },
      { kind: 'wake', afterMs: 100 },
    ]);
  });

  it('does not begin before the wait is over, however many want it', () => {
    const cooling = upon([startFailed(1, 50)], starting).state;
    expect(upon([wanted(60)], cooling)).toEqual({ state: cooling, effects: [] });
    expect(upon([elapsed(149, true)], cooling).effects).toEqual([{ kind: 'wake', afterMs: 1 }]);
    expect(upon([elapsed(150, true)], cooling).effects).toEqual([{ kind: 'start', generation: 2 }]);
  });

  it('discards a connection that arrives after it was cancelled', () => {
    const stopping = upon([{ kind: 'stop' }], starting).state;
    expect(upon([started(1, 60)], stopping)).toEqual({
      state: stopping,
      effects: [{ kind: 'discard', generation: 1 }],
    });
  });

  it('is cancelled when nobody wants it any more', () => {
    const { state, effects } = upon([{ kind: 'unwanted' }], starting);
    expect(effects).toEqual([{ kind: 'close', generation: 1, reason: 'idle' }]);
    expect(upon([closed(1, 5, false)], state).state.phase.kind).toBe('idle');
  });
});

describe('a loss', () => {
  it('is followed by a restart after the backoff while somebody needs it', () => {
    const { state, effects } = upon([lost(1, 1_000, true)], ready);
    expect(state.phase).toEqual({ kind: 'cooling', until: 1_100 });
    expect(effects[0]).toEqual({ kind: 'discard', generation: 1 });
    expect(upon([elapsed(1_100, true)], state).effects).toEqual([{ kind: 'start', generation: 2 }]);
  });

  it('is followed by idle when nobody needs it, and still counts', () => {
    const { state, effects } = upon([lost(1, 1_000, false)], ready);
    expect(state.phase).toEqual({ kind: 'idle', notBefore: 1_100 });
    expect(state.restarts.failures).toEqual([1_000]);
    expect(effects.map(({ kind }) => kind)).toEqual(['discard', 'announce']);
    expect(upon([wanted(1_050)], state).state.phase).toEqual({ kind: 'cooling', until: 1_100 });
    expect(upon([wanted(1_100)], state).effects).toEqual([{ kind: 'start', generation: 2 }]);
  });

  it('becomes idle when the last who needed it leaves during the wait', () => {
    const cooling = upon([lost(1, 1_000, true)], ready).state;
    expect(upon([elapsed(1_100, false)], cooling).state.phase.kind).toBe('idle');
  });

  it('that was expected changes nothing', () => {
    const stopping = upon([{ kind: 'reload' }], ready).state;
    expect(upon([lost(1, 20, true)], stopping)).toEqual({ state: stopping, effects: [] });
  });

  it('of an old generation changes nothing', () => {
    const second = upon(
      [lost(1, 1_000, true), elapsed(1_100, true), started(2, 1_200)],
      ready,
    ).state;
    for (const event of [
      lost(1, 2_000, true),
      hung(1, 2_000),
      closed(1, 2_000, true),
      startFailed(1),
    ]) {
      expect(upon([event], second).state).toBe(second);
    }
    expect(upon([started(1, 2_000)], second)).toEqual({
      state: second,
      effects: [{ kind: 'discard', generation: 1 }],
    });
  });
});

describe('a hung server', () => {
  it('is closed first and restarted after the backoff', () => {
    const { state, effects } = upon([hung(1, 1_000)], ready);
    expect(effects).toEqual([{ kind: 'close', generation: 1, reason: 'hung' }]);
    const next = upon([closed(1, 1_040, true)], state);
    expect(next.state.phase).toEqual({ kind: 'cooling', until: 1_100 });
    expect(upon([closed(1, 1_040, false)], state).state.phase.kind).toBe('idle');
  });

  it('restarts at once when closing it took longer than the backoff', () => {
    const { effects } = upon([hung(1, 1_000), closed(1, 6_000, true)], ready);
    expect(effects).toContainEqual({ kind: 'wake', afterMs: 0 });
  });

  it('is ejected when that spends its budget, once it is closed', () => {
    const restarts = { ...ready.restarts, failures: [1, 2], streak: 2 };
    const spent = { ...ready, restarts };
    const { state } = upon([hung(1, 1_000)], spent);
    expect(state.phase.kind).toBe('stopping');
    expect(upon([closed(1, 1_040, true)], state).state.phase.kind).toBe('ejected');
  });
});

describe('ejection', () => {
  it('comes with the failure that spends the budget, and waiters get that failure', () => {
    const before = upon(
      [startFailed(1), elapsed(100, true), startFailed(2, 100), elapsed(300, true)],
      starting,
    ).state;
    const { state, effects } = upon([startFailed(3, 300)], before);
    expect(state.phase.kind).toBe('ejected');
    expect(effects).toEqual([
      { kind: 'refuse', why: 'start-failed' },
      { kind: 'announce', news: 'ejected', delayMs: 0 },
      { kind: 'refuse', why: 'ejected' },
    ]);
  });

  it('stays, whoever asks for it and however much time passes', () => {
    for (const event of [elapsed(1e9, true), { kind: 'unwanted' } as const, lost(3, 400, true)]) {
      expect(upon([event], ejected).state).toBe(ejected);
    }
    expect(upon([wanted(1e9)], ejected)).toEqual({
      state: ejected,
      effects: [{ kind: 'refuse', why: 'ejected' }],
    });
  });

  it.each(['reload', 'stop'] as const)('is lifted by a %s, which also clears failures', (kind) => {
    const { state } = upon([{ kind }], ejected);
    expect(state.phase.kind).toBe('idle');
    expect(state.restarts.failures).toEqual([]);
    expect(upon([wanted(1e9)], state).effects).toEqual([{ kind: 'start', generation: 4 }]);
  });
});

describe('an operator', () => {
  it('reloads: what runs is closed, failures are cleared, and it starts again if somebody needs it', () => {
    const failedOnce = upon([lost(1, 20, true), elapsed(120, true), started(2, 130)], ready).state;
    const { state, effects } = upon([{ kind: 'reload' }], failedOnce);
    expect(effects).toEqual([{ kind: 'close', generation: 2, reason: 'reload' }]);
    expect(state.restarts.failures).toEqual([]);
    expect(upon([closed(2, 200, true)], state).effects).toEqual([{ kind: 'start', generation: 3 }]);
    expect(upon([closed(2, 200, false)], state).state.phase.kind).toBe('idle');
  });

  it('stops: all waiters are refused, and it is idle although somebody holds it', () => {
    const { state, effects } = upon([{ kind: 'stop' }], ready);
    expect(effects).toEqual([
      { kind: 'refuse', why: 'stopped' },
      { kind: 'close', generation: 1, reason: 'stop' },
    ]);
    const { state: asleep } = upon([closed(1, 100, true)], state);
    expect(asleep.phase.kind).toBe('idle');
    expect(upon([wanted(200)], asleep).effects).toEqual([{ kind: 'start', generation: 2 }]);
  });

  it('is overridden by a new caller while it stops', () => {
    const { effects } = upon([{ kind: 'stop' }, wanted(50), closed(1, 100, true)], ready);
    expect(effects).toEqual([{ kind: 'start', generation: 2 }]);
  });

  it('ends it permanently: nothing starts any more, and callers are refused', () => {
    const { state: ending } = upon([{ kind: 'end' }], ready);
    expect(upon([wanted(20)], ending)).toEqual({
      state: ending,
      effects: [{ kind: 'refuse', why: 'stopped' }],
    });
    const { state: ended } = upon([closed(1, 30, true)], ending);
    expect(ended.phase).toEqual({ kind: 'ended' });
    expect(upon([wanted(40)], ended).effects).toEqual([{ kind: 'refuse', why: 'stopped' }]);
    expect(upon([started(1, 40)], ended).effects).toEqual([{ kind: 'discard', generation: 1 }]);
  });

  it.each(['reload', 'stop'] as const)('cannot undo the end by a %s', (kind) => {
    const { state } = upon([{ kind: 'end' }, { kind }, closed(1, 30, true)], ready);
    expect(state.phase).toEqual({ kind: 'ended' });
  });

  it.each<Phase['kind']>(['idle', 'cooling', 'ejected'])(
    'ends it at once when it is %s',
    (kind) => {
      const from = {
        idle: unborn,
        cooling: upon([startFailed(1)], starting).state,
        ejected,
      }[kind as 'idle' | 'cooling' | 'ejected'];
      expect(upon([{ kind: 'end' }], from).state.phase).toEqual({ kind: 'ended' });
    },
  );
});

describe('a start that failed because of what its client asked for', () => {
  it('is refused at once, however often, and the next start waits for nothing #restart-budget', () => {
    let state = starting;
    for (let generation = 1; generation <= 5; generation += 1) {
      const failed = { ...startFailed(generation), isClientAsked: true } as LifeEvent;
      const refused = upon([failed], state);
      expect(refused.effects).toEqual([
        { kind: 'refuse', why: 'start-failed' },
        { kind: 'announce', news: 'idle', delayMs: 0 },
      ]);
      expect(refused.state.restarts).toEqual(unborn.restarts);
      const again = upon([wanted()], refused.state);
      expect(again.effects).toEqual([{ kind: 'start', generation: generation + 1 }]);
      state = again.state;
    }
  });
});
