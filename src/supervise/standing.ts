// The supervision state of one server over all of its connections: its breaker, its restart budget,
// the number of its last generation and its last fault. A server may have several connections at a
// time, for clients that cannot share one; their failures count for the server as a whole.

import type { Clock } from '../kernel/clock.ts';
import type { Fault } from '../kernel/fault.ts';
import { Breaker } from './breaker.ts';
import type { BreakerPolicy, BreakerState } from './breaker-machine.ts';
import { freshRestarts, type RestartState } from './restart-machine.ts';

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

  constructor(
    clock: Clock,
    policy: BreakerPolicy,
    announce: (circuit: BreakerState['kind']) => void,
  ) {
    this.breaker = new Breaker(clock, policy, announce);
  }
}
