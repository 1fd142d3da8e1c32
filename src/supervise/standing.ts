// The supervision state of one server over all of its connections: its breaker, its restart budget,
// the number of its last generation and its last fault. A server may have several connections at a
// time, for clients that cannot share one; their failures count for the server as a whole.

import type { Clock } from '../kernel/clock.ts';
import { Fault, type FaultRecord } from '../kernel/fault.ts';
import { forKeeping } from '../kernel/kept-error.ts';
import { Breaker } from './breaker.ts';
import type { BreakerPolicy, BreakerState } from './breaker-machine.ts';
import {
  type HandedBreaker,
  type HandedRestarts,
  restartsFrom,
  writtenRestarts,
} from './handed-supervision.ts';
import { freshRestarts, type RestartState } from './restart-machine.ts';

export interface HandedStanding {
  readonly breaker: HandedBreaker;
  readonly restarts: HandedRestarts;
  readonly generation: number;
  readonly startsAgain: number;
  readonly lastFault: (FaultRecord & { readonly at: number }) | null;
}

export class ServerStanding {
  readonly breaker: Breaker;
  restarts: RestartState = freshRestarts;
  /** The highest generation given out so far. */
  generation = 0;
  /** Starts beyond the first of each connection; never decreases. */
  startsAgain = 0;
  /** It is no longer registered: waiting callers are refused with that reason. */
  isRemoved = false;
  lastFault: { readonly fault: Fault; readonly at: number } | undefined;

  readonly #clock: Clock;

  constructor(
    clock: Clock,
    policy: BreakerPolicy,
    announce: (circuit: BreakerState['kind']) => void,
  ) {
    this.#clock = clock;
    this.breaker = new Breaker(clock, policy, announce);
  }

  /** For the process after this one. */
  get written(): HandedStanding {
    const { breaker, generation, startsAgain, lastFault } = this;
    return {
      breaker: breaker.written,
      restarts: writtenRestarts(this.restarts, this.#clock.now()),
      generation,
      startsAgain,
      lastFault: lastFault === undefined ? null : { ...lastFault.fault.record, at: lastFault.at },
    };
  }

  /** As it was in the process before this one. */
  restore({ breaker, restarts, generation, startsAgain, lastFault }: HandedStanding): void {
    this.breaker.restore(breaker);
    this.restarts = restartsFrom(restarts, this.#clock.now());
    this.generation = Math.max(this.generation, generation);
    this.startsAgain = startsAgain;
    if (lastFault === null) return;
    const { at, code, detail, ...facts } = lastFault;
    this.lastFault = { fault: forKeeping(new Fault(code, detail, facts)), at };
  }
}
