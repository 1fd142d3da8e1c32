import fc from 'fast-check';
import { describe, it } from 'vitest';
import {
  type BreakerEffect,
  type BreakerPolicy,
  type BreakerState,
  breakerStep,
  closedBreaker,
} from './breaker-machine.ts';

type Deed =
  | { readonly kind: 'ask' }
  | {
      readonly kind: 'end';
      readonly how: 'succeeded' | 'failed' | 'withdrawn';
      readonly which: number;
    }
  | { readonly kind: 'reset' };

const policies = fc.record({
  threshold: fc.integer({ min: 1, max: 6 }),
  resetMs: fc.integer({ min: 1, max: 100 }),
  probeMs: fc.integer({ min: 1, max: 100 }),
});

const deeds = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 120 })),
    deed: fc.oneof(
      { weight: 4, arbitrary: fc.constant<Deed>({ kind: 'ask' }) },
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('end' as const),
          how: fc.constantFrom('succeeded' as const, 'failed' as const, 'withdrawn' as const),
          which: fc.nat(20),
        }),
      },
      { weight: 1, arbitrary: fc.constant<Deed>({ kind: 'reset' }) },
    ),
  }),
  { maxLength: 80 },
);

/** One run: calls that were admitted report in any order, at any time, any number of times. */
class Run {
  readonly #policy: BreakerPolicy;
  readonly #passes: number[] = [0];
  #state: BreakerState = closedBreaker;
  #now = 0;
  /** The probe that holds the slot, by our own account. */
  #probe: { readonly pass: number; readonly until: number } | undefined;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  wait(ms: number): void {
    this.#now += ms;
  }

  do(deed: Deed): void {
    if (deed.kind === 'ask') return this.#ask();
    const before = this.#state;
    const pass = deed.kind === 'end' ? this.#passes[deed.which % this.#passes.length] : undefined;
    const event =
      deed.kind === 'reset' ? deed : ({ kind: deed.how, pass: pass ?? 0, at: this.#now } as const);
    [this.#state] = breakerStep(before, event, this.#policy);
    if (pass === this.#probe?.pass || deed.kind === 'reset') this.#probe = undefined;
    const isProbesSuccess =
      event.kind === 'succeeded' && before.kind === 'half_open' && event.pass === before.epoch;
    if (before.kind !== 'closed' && this.#state.kind === 'closed') {
      assert(event.kind === 'reset' || isProbesSuccess, 'closed by a stranger');
    }
    this.#check(before);
  }

  #ask(): void {
    const before = this.#state;
    const [state, effects] = breakerStep(before, { kind: 'asked', at: this.#now }, this.#policy);
    this.#state = state;
    const verdict = effects.find(({ kind }) => kind !== 'announce') as BreakerEffect;
    if (verdict.kind === 'admit') this.#admitted(before, verdict.pass);
    else if (verdict.kind === 'refuse') {
      assert(verdict.retryAfterMs > 0, 'refused without a time to come back');
      assert(before.kind !== 'closed', 'refused although closed');
      assert(state === before, 'a refusal changed something');
    }
    this.#check(before);
  }

  #admitted(before: BreakerState, pass: number): void {
    this.#passes.push(pass);
    assert(pass === this.#state.epoch, 'a pass of another epoch');
    if (before.kind === 'closed') return;
    assert(before.kind !== 'open' || this.#now >= before.until, 'admitted while open');
    const isFree = this.#probe === undefined || this.#now >= this.#probe.until;
    assert(isFree, 'a second probe beside a running one');
    assert(pass > before.epoch, 'a probe with a pass that was given before');
    this.#probe = { pass, until: this.#now + this.#policy.probeMs };
  }

  #check(before: BreakerState): void {
    const state = this.#state;
    assert(state.epoch >= before.epoch, 'the epoch went down');
    assert(state.kind === before.kind || state.epoch > before.epoch, 'a change without an epoch');
    assert(
      state.kind !== 'closed' || state.failures < this.#policy.threshold,
      'closed with too many failures',
    );
    assert(
      state.kind !== 'open' || state.until <= this.#now + this.#policy.resetMs,
      'open for longer than the reset time',
    );
  }
}

function assert(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

describe('the breaker, whatever happens to it', () => {
  it('never admits while open, runs one probe at a time, and closes only by that probe or a reset', () => {
    fc.assert(
      fc.property(policies, deeds, (policy, sequence) => {
        const run = new Run(policy);
        for (const { afterMs, deed } of sequence) {
          run.wait(afterMs);
          run.do(deed);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('always lets somebody through again once its time is over', () => {
    fc.assert(
      fc.property(policies, deeds, (policy, sequence) => {
        let state: BreakerState = closedBreaker;
        let now = 0;
        for (const { afterMs, deed } of sequence) {
          now += afterMs;
          const event =
            deed.kind === 'ask'
              ? ({ kind: 'asked', at: now } as const)
              : deed.kind === 'reset'
                ? deed
                : ({
                    kind: deed.how,
                    pass: Math.max(0, state.epoch - (deed.which % 3)),
                    at: now,
                  } as const);
          [state] = breakerStep(state, event, policy);
        }
        const later = now + Math.max(policy.resetMs, policy.probeMs);
        const [, effects] = breakerStep(state, { kind: 'asked', at: later }, policy);
        assert(
          effects.some(({ kind }) => kind === 'admit'),
          'nobody is let through any more',
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
