// The callers that wait for the connection of a server, until it is open or refused. One start
// serves them all.

import type { Fault } from '../kernel/fault.ts';

interface Waiting<C> {
  serve(connection: C): void;
  refuse(fault: Fault): void;
}

export class StartWaiters<C> {
  /** Until they are served or refused; each occupies a slot. */
  readonly #waiting = new Set<Waiting<C>>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** One more; `begun` is called when it is counted. */
  wait(begun: () => void): Promise<C> {
    return new Promise<C>((serve, refuse) => {
      this.#waiting.add({ serve, refuse });
      begun();
    });
  }

  serve(connection: C): void {
    for (const one of this.#take()) one.serve(connection);
  }

  refuse(fault: Fault): void {
    for (const one of this.#take()) one.refuse(fault);
  }

  #take(): readonly Waiting<C>[] {
    const all = [...this.#waiting];
    this.#waiting.clear();
    return all;
  }
}
