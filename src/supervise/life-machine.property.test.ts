import fc from 'fast-check';
import { describe, it } from 'vitest';
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
  max: 3,
  windowMs: 500,
  minDelayMs: 10,
  maxDelayMs: 80,
  healthyMs: 100,
};

/** What the world does next; which generation it speaks of is told as an age. */
const deeds = fc.record({
  kind: fc.constantFrom(
    'wanted',
    'started',
    'start-failed',
    'lost',
    'hung',
    'elapsed',
    'unwanted',
    'reload',
    'stop',
    'closed',
    'adopted',
    'given',
    'not-given',
  ),
  afterMs: fc.nat(60),
  /** 0: of the current generation; more: of an older one; -1: of one that never was. */
  age: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -1, max: 3 }) },
  ),
  wanted: fc.boolean(),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});
type Deed =
  typeof deeds extends fc.Arbitrary<infer D> ? D | (Omit<D, 'kind'> & { kind: 'end' }) : never;

const histories = fc
  .record({
    before: fc.array(deeds, { maxLength: 60 }),
    ends: fc.boolean(),
    after: fc.array(deeds, { maxLength: 20 }),
  })
  .map(({ before, ends, after }): readonly Deed[] =>
    ends
      ? [...before, { kind: 'end', afterMs: 0, age: 0, wanted: false, random: 0 }, ...after]
      : [...before, ...after],
  );

/** One run, with our own account of what lives, who waits and what must not happen any more. */
class Run {
  #state: LifeState = Object.freeze(unborn);
  #now = 0;
  /** The highest generation so far, started here or taken over. */
  #highest = 0;
  /** The generation that was started and of which no end was reported. */
  #alive: number | undefined;
  #waiters = 0;
  #hasEnded = false;

  do(deed: Deed): void {
    this.#now += deed.afterMs;
    const before = this.#state;
    const event = this.#eventOf(deed);
    const [state, effects] = lifeStep(before, event, policy);
    this.#state = deepFreeze(state);
    if (event.kind === 'wanted') this.#waiters += 1;
    if (event.kind === 'end') this.#hasEnded = true;
    this.#buryAfter(event, before);
    if (event.kind === 'adopted' && before.phase.kind !== 'ended') {
      this.#highest = event.generation - Number(before.phase.kind === 'idle');
    }
    this.#checkGiven(before, event, effects);
    for (const effect of effects) this.#account(effect);
    this.#check(before, event, effects);
    // The supervisor asks again after a reload if somebody needs the server.
    if (event.kind === 'reload' && this.#waiters > 0)
      this.do({ ...deed, kind: 'wanted', afterMs: 0 });
  }

  #eventOf({ kind, age, wanted: isWanted, random }: Deed): LifeEvent {
    const at = this.#now;
    const generation = this.#state.generation - age;
    // Whoever waits holds a lease.
    const wanted = isWanted || this.#waiters > 0;
    switch (kind) {
      case 'wanted':
        return { kind, at };
      case 'started':
        return { kind, generation, at };
      case 'start-failed':
      case 'hung':
        return { kind, generation, at, random };
      case 'lost':
        return { kind, generation, at, random, wanted };
      case 'elapsed':
        return { kind, at, wanted };
      case 'closed':
        return { kind, generation, at, wanted };
      case 'adopted':
        return { kind, generation: this.#highest + 1 + Math.max(0, age), since: at - 100 };
      case 'unwanted':
        // The leases never say so while somebody holds one.
        return this.#waiters > 0 ? { kind: 'elapsed', at, wanted } : { kind };
      default:
        return { kind };
    }
  }

  #buryAfter(event: LifeEvent, before: LifeState): void {
    if (!('generation' in event) || event.generation !== this.#alive) return;
    const phase = before.phase.kind;
    const isDeath =
      (event.kind === 'start-failed' && phase === 'starting') ||
      (event.kind === 'lost' && (phase === 'ready' || isBeingAdopted(before.phase))) ||
      (event.kind === 'closed' && phase === 'stopping');
    if (isDeath) this.#alive = undefined;
  }

  /** Given away, it lives elsewhere: here it is neither closed nor counted. */
  #checkGiven(before: LifeState, event: LifeEvent, effects: readonly LifeEffect[]): void {
    if (before.phase.kind !== 'ready' || before.phase.isGiven !== true) return;
    const isForgiven = event.kind === 'reload' || event.kind === 'stop';
    assert(isForgiven || this.#state.restarts === before.restarts, 'counted what was given away');
    const isTouched = effects.some(({ kind }) => kind === 'close' || kind === 'start');
    assert(!isTouched, 'closed or restarted what was given away');
    if (effects.some(({ kind }) => kind === 'discard') && event.kind !== 'started') {
      this.#alive = isAlive(this.#state.phase) ? this.#alive : undefined;
    }
  }

  #account(effect: LifeEffect): void {
    if (effect.kind === 'start') {
      this.#highest += 1;
      assert(this.#alive === undefined, 'two generations live at once');
      assert(effect.generation === this.#highest, 'generations are not counted one by one');
      assert(!this.#hasEnded, 'started after the end');
      this.#alive = effect.generation;
    }
    if (effect.kind === 'serve')
      assert(this.#state.phase.kind === 'ready', 'served while not ready');
    if (effect.kind === 'serve' || effect.kind === 'refuse') this.#waiters = 0;
    if (effect.kind === 'close') {
      assert(effect.generation === this.#alive, 'closed what does not live');
      assert(this.#state.phase.kind === 'stopping', 'closed without waiting for the end of it');
    }
    if (effect.kind === 'wake') assert(effect.afterMs >= 0, 'woken in the past');
  }

  #check(before: LifeState, event: LifeEvent, effects: readonly LifeEffect[]): void {
    const { phase, generation } = this.#state;
    assert(this.#state.highest === this.#highest, 'the highest generation and the starts differ');
    assert(generation >= before.generation, 'the generation went back');
    assert(isAlive(phase) === (this.#alive !== undefined), 'the phase is not what lives');
    const isStranger = 'generation' in event && event.generation !== before.generation;
    if (isStranger && event.kind !== 'adopted') {
      assert(this.#state === before, 'a stranger changed something');
    }
    if (before.phase.kind === 'ejected' && phase.kind !== 'ejected') {
      assert(['reload', 'stop', 'end'].includes(event.kind), 'ejection lifted by nobody');
    }
    if (before.phase.kind === 'cooling' && phase.kind === 'starting') {
      assert(this.#now >= before.phase.until, 'started before the wait was over');
    }
    if (phase.kind === 'cooling' && before.phase.kind !== 'cooling') {
      assert(
        effects.some(({ kind }) => kind === 'wake'),
        'cooling without a timer',
      );
    }
    if (this.#hasEnded) {
      const isEnding = phase.kind === 'stopping' && phase.then.kind === 'end';
      assert(phase.kind === 'ended' || isEnding, 'alive after the end');
    }
    if (this.#waiters > 0 && event.kind !== 'reload') {
      const isComing = ['starting', 'cooling', 'stopping'].includes(phase.kind);
      assert(isComing, 'somebody waits for nothing');
    }
  }
}

function isBeingAdopted(phase: Phase): boolean {
  return phase.kind === 'starting' && phase.adoptedSince !== undefined;
}

function isAlive(phase: Phase): boolean {
  return ['starting', 'ready', 'stopping'].includes(phase.kind);
}

function assert(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) deepFreeze(part);
  }
  return Object.freeze(value);
}

describe('the lifecycle of a server, for any events', () => {
  it('has one live generation at most, serves only what is ready, and answers every waiter', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const run = new Run();
        for (const deed of history) run.do(deed);
      }),
      { numRuns: 4_000 },
    );
  });

  it('has an answer to every event in every phase', () => {
    const at = 1_000;
    const afterwards = [
      { kind: 'rest' },
      { kind: 'sleep' },
      { kind: 'cool', until: at },
      { kind: 'eject' },
      { kind: 'end' },
    ] as const;
    const phases: readonly Phase[] = [
      { kind: 'idle', notBefore: 0 },
      { kind: 'starting' },
      { kind: 'starting', adoptedSince: 0 },
      { kind: 'ready', since: 0 },
      { kind: 'ready', since: 0, isGiven: true },
      { kind: 'cooling', until: at },
      { kind: 'ejected' },
      { kind: 'ended' },
      ...afterwards.map((then): Phase => ({ kind: 'stopping', then })),
    ];
    const facts = { generation: 1, at, since: at, random: 0, wanted: true };
    const kinds = [
      'wanted',
      'started',
      'start-failed',
      'lost',
      'hung',
      'elapsed',
      'unwanted',
      'reload',
      'stop',
      'end',
      'closed',
      'adopted',
      'given',
      'not-given',
    ] as const;
    for (const phase of phases) {
      for (const kind of kinds) {
        const [next] = lifeStep({ ...unborn, generation: 1, phase }, { kind, ...facts }, policy);
        assert(
          phases.some((known) => known.kind === next.phase.kind),
          `${kind} in ${phase.kind} leads nowhere`,
        );
      }
    }
  });
});
