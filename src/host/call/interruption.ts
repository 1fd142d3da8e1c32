// Interrupts whatever a call is waiting for. A deadline or a caller that cancels raises it once;
// the current wait ends, and no later wait begins.

import type { Fault } from '../../kernel/fault.ts';

export interface Interruptible {
  cancel(fault: Fault): void;
}

export class Interruption {
  #raised: Fault | undefined;
  #current: Interruptible | undefined;

  get raised(): Fault | undefined {
    return this.#raised;
  }

  raise(fault: Fault): void {
    if (this.#raised) return;
    this.#raised = fault;
    this.#current?.cancel(fault);
  }

  /** From now on this is interrupted. */
  interrupts(current: Interruptible): void {
    this.#current = current;
    if (this.#raised) current.cancel(this.#raised);
  }

  /** Waits for the work unless interrupted; the work itself goes on without us. */
  of<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.interrupts({ cancel: reject });
      work.then(resolve).catch(reject);
    });
  }
}
