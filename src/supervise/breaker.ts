// Runs the breaker machine: it owns the state, reads the clock, and turns a refusal into the fault
// that a caller gets. The common case, a closed breaker without failures, costs one comparison.

import type { Clock } from '../kernel/clock.ts';
import {
  type BreakerEvent,
  type BreakerPolicy,
  type BreakerState,
  breakerStep,
  circuitAt,
  closedBreaker,
} from './breaker-machine.ts';
import { breakerFrom, type HandedBreaker, writtenBreaker } from './handed-supervision.ts';

export type BreakerAnswer =
  | { readonly kind: 'admit'; readonly pass: number }
  | { readonly kind: 'refuse'; readonly retryAfterMs: number };

export class Breaker {
  readonly #clock: Clock;
  /** May change while running; it applies from the next event on. */
  policy: BreakerPolicy;
  readonly #announce: (circuit: BreakerState['kind']) => void;
  #state: BreakerState = closedBreaker;

  constructor(
    clock: Clock,
    policy: BreakerPolicy,
    announce: (circuit: BreakerState['kind']) => void,
  ) {
    this.#clock = clock;
    this.policy = policy;
    this.#announce = announce;
  }

  get circuit(): BreakerState['kind'] {
    return circuitAt(this.#state, this.#clock.now());
  }

  get failures(): number {
    return this.#state.failures;
  }

  /** When the next probe is allowed, on the monotonic clock; null while the breaker is closed. */
  get probeAt(): number | null {
    return this.#state.kind === 'open' ? this.#state.until : null;
  }

  /** The pass for failures that belong to no call, such as a failed start. */
  get currentPass(): number {
    return this.#state.epoch;
  }

  /** The pass of a closed breaker, or null: then `ask` decides. */
  get openPass(): number | null {
    return this.#state.kind === 'closed' ? this.#state.epoch : null;
  }

  ask(): BreakerAnswer {
    return this.#dispatch({ kind: 'asked', at: this.#clock.now() }) as BreakerAnswer;
  }

  succeeded(pass: number): void {
    if (this.#state.kind === 'closed' && this.#state.failures === 0) return;
    this.#dispatch({ kind: 'succeeded', pass });
  }

  failed(pass: number): void {
    this.#dispatch({ kind: 'failed', pass, at: this.#clock.now() });
  }

  withdrawn(pass: number): void {
    if (this.#state.kind !== 'closed') this.#dispatch({ kind: 'withdrawn', pass });
  }

  /** What another host that uses the same server has learnt about it. */
  told(circuit: 'open' | 'closed'): void {
    this.#dispatch({ kind: 'told', circuit, at: this.#clock.now() });
  }

  /** For the process after this one. */
  get written(): HandedBreaker {
    return writtenBreaker(this.#state, this.#clock.now());
  }

  /** As it was in the process before this one. */
  restore(handed: HandedBreaker): void {
    this.#state = breakerFrom(handed, this.#clock.now());
  }

  reset(): void {
    this.#dispatch({ kind: 'reset' });
  }

  #dispatch(event: BreakerEvent): BreakerAnswer | undefined {
    const [state, effects] = breakerStep(this.#state, event, this.policy);
    this.#state = state;
    let admission: BreakerAnswer | undefined;
    for (const effect of effects) {
      if (effect.kind === 'announce') this.#announce(effect.circuit);
      else admission = effect;
    }
    return admission;
  }
}
