// Runs the stop machine for one child: performs its effects and passes it the clock, the exit and
// the end of the sweep. Stopping a child that is already being stopped joins that stop; only
// `hurry` shortens it.

import type { Clock } from '../../../kernel/clock.ts';
import type { Child, Exit } from '../../child.ts';
import {
  notStopping,
  type StopEffect,
  type StopEvent,
  type StopPolicy,
  type StopReport,
  type StopRung,
  type StopState,
  stopStep,
} from './stop-ladder.ts';

export { stopPolicy } from './stop-ladder.ts';

export interface StopInProgress {
  /** Null once the process has exited and the sweep has begun. */
  readonly rung: StopRung | null;
  readonly finished: Promise<StopReport>;
  /** How many processes were left behind by the child and have been ended. */
  readonly swept: Promise<number>;
  /** Goes straight to SIGKILL. */
  hurry(): void;
}

/** As long as the child. */
const underWay = new WeakMap<Child, Stop>();

/** `exited` resolves with the exit that the child's listener gets; it may have resolved already. */
export function stopChild(
  child: Child,
  exited: Promise<Exit>,
  clock: Clock,
  policy: StopPolicy,
): StopInProgress {
  const joined = underWay.get(child);
  if (joined !== undefined) return joined;
  const stop = new Stop(child, clock, policy);
  underWay.set(child, stop);
  stop.begin(exited);
  return stop;
}

class Stop implements StopInProgress {
  readonly finished: Promise<StopReport>;
  readonly swept: Promise<number>;
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #policy: StopPolicy;
  #state: StopState = notStopping;
  #alarm: Disposable | undefined;
  #finish: (report: StopReport) => void = () => {};
  #fail: (error: unknown) => void = () => {};

  constructor(child: Child, clock: Clock, policy: StopPolicy) {
    this.#child = child;
    this.#clock = clock;
    this.#policy = policy;
    this.finished = new Promise((resolve, reject) => {
      this.#finish = resolve;
      this.#fail = reject;
    });
    this.swept = this.finished.then((report) => report.swept);
    // Callers learn of a failure through `finished` or `swept`; waiting for one is enough.
    this.finished.catch(() => {});
    this.swept.catch(() => {});
  }

  get rung(): StopRung | null {
    return this.#state.kind === 'waiting' ? this.#state.rung : null;
  }

  begin(exited: Promise<Exit>): void {
    this.#dispatch({ kind: 'requested', at: this.#clock.now() });
    exited.then((exit) => this.#dispatch({ kind: 'exited', exit })).catch(this.#fail);
  }

  hurry(): void {
    this.#dispatch({ kind: 'hurried', at: this.#clock.now() });
  }

  #dispatch(event: StopEvent): void {
    const [state, effects] = stopStep(this.#state, event, this.#policy);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: StopEffect): void {
    switch (effect.kind) {
      case 'close-stdin':
        return this.#child.closeStdin();
      case 'signal':
        return this.#child.signal(effect.name);
      case 'wake':
        return this.#wakeAt(effect.at);
      case 'sweep':
        this.#alarm?.[Symbol.dispose]();
        this.#child
          .sweep()
          .then((count) => this.#dispatch({ kind: 'swept', count }))
          .catch(this.#fail);
        return;
      case 'finish':
        return this.#finish(effect.report);
    }
  }

  #wakeAt(at: number): void {
    this.#alarm?.[Symbol.dispose]();
    const inMs = Math.max(0, at - this.#clock.now());
    this.#alarm = this.#clock.after(inMs, () => {
      // A real timer may fire a fraction of a millisecond early; the machine must still advance.
      this.#dispatch({ kind: 'elapsed', at: Math.max(at, this.#clock.now()) });
    });
  }
}
