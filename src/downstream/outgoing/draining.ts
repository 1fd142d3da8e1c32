// The end of a gateway that still has work under way: it may be finished until a deadline, and what is
// left then is answered all the same. A call that never left us was simply not done; one that may have
// reached its server has an outcome that nobody knows, and its client is told so.

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

  /** So long from now at the most; a later word can only make it shorter. */
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
    // Those with a server hear of it within this turn; whoever does not is answered here.
    this.#deadline = this.#parts.clock.after(0, () => {
      for (const incoming of this.#parts.underWay()) answer(incoming, goingDown(incoming));
      this.#finish();
    });
  }
}

/** What is with a server ends there and comes back as a fault that knows whether it was sent. */
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
