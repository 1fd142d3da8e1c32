// One hand on whatever a call is waiting for. A deadline or a caller who gives up raises it once;
// whatever waits at that moment ends, and whatever would wait afterwards does not begin to.

import type { Fault } from '../kernel/fault.ts';

export class Interruption {
  #raised: Fault | undefined;
  #handler: ((fault: Fault) => void) | undefined;

  raise(fault: Fault): void {
    if (this.#raised) return;
    this.#raised = fault;
    this.#handler?.(fault);
  }

  /** From now on this is what is interrupted. */
  interrupts(handler: (fault: Fault) => void): void {
    this.#handler = handler;
    if (this.#raised) handler(this.#raised);
  }

  /** Waits for the work unless interrupted; the work itself goes on without us. */
  of<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.interrupts(reject);
      work.then(resolve, reject);
    });
  }
}
