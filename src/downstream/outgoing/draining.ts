// The shutdown of a gateway with running work: it may finish until a deadline, and the rest is
// answered then. A call that was never sent was not done; one that may have reached its server has
// an unknown outcome, and its client is told so.

import type { Clock } from '../../kernel/clock.ts';
import type { Fault } from '../../kernel/fault.ts';
import type { Incoming } from '../incoming.ts';
import { faultError, faultResult } from '../refusals.ts';
import { drainingFault, lostFault } from './draining-faults.ts';

export interface DrainingParts {
  readonly clock: Clock;
  /** Every request of a client that has no answer yet. */
  readonly underWay: () => readonly Incoming[];
}

export class Draining {
  readonly done: Promise<void>;
  readonly #parts: DrainingParts;
  #finish!: () => void;
  #deadline: Disposable | undefined;
  #endsAt = Number.POSITIVE_INFINITY;
  #isOver = false;

  constructor(parts: DrainingParts) {
    this.#parts = parts;
    this.done = new Promise((resolve) => {
      this.#finish = () => {
        this.#isOver = true;
        this.#deadline?.[Symbol.dispose]();
        resolve();
      };
    });
  }

  /** At most this long from now; a later call can only shorten it. */
  within(ms: number): void {
    const { clock } = this.#parts;
    const endsAt = clock.now() + ms;
    if (this.#isOver || endsAt >= this.#endsAt) return;
    this.#endsAt = endsAt;
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = clock.after(ms, () => this.#expired());
    this.settled();
  }

  /** A request has ended; it may have been the last. */
  settled(): void {
    if (!this.#isOver && this.#parts.underWay().length === 0) this.#finish();
  }

  #expired(): void {
    for (const incoming of this.#parts.underWay()) dismiss(incoming);
    // Requests at a server end within this turn; the others are answered here.
    this.#deadline = this.#parts.clock.after(0, () => {
      for (const incoming of this.#parts.underWay()) answer(incoming, goingDown(incoming));
      this.#finish();
    });
  }
}

/** A request at a server is cancelled and comes back as a fault that says whether it was sent. */
function dismiss(incoming: Incoming): void {
  incoming.isDismissed = true;
  if (incoming.isCarried) incoming.cancelSignal.abort();
  else answer(incoming, goingDown(incoming));
}

function goingDown({ isCarried }: Incoming): Fault {
  return isCarried ? lostFault() : drainingFault();
}

function answer(incoming: Incoming, fault: Fault): void {
  const isCall = incoming.message.method === 'tools/call';
  if (isCall) incoming.result(faultResult(fault, incoming));
  else incoming.error(faultError(fault, incoming.principal));
}
