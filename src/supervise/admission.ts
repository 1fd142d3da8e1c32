// How many calls one server carries at a time, and how many may wait. Beyond both, a caller is
// refused at once: a slow server must never become everybody's memory.

import { Fault } from '../kernel/fault.ts';
import type { Signal } from '../kernel/withdrawal.ts';

interface Waiting {
  admit(): void;
  refuse(fault: Fault): void;
}

export class Admission {
  readonly #server: string;
  readonly #concurrency: number;
  readonly #capacity: number;
  readonly #queue: Waiting[] = [];
  #inside = 0;

  constructor(server: string, concurrency: number, capacity: number) {
    this.#server = server;
    this.#concurrency = concurrency;
    this.#capacity = capacity;
  }

  get inside(): number {
    return this.#inside;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** Takes a place now if one is free; then `leave` must follow. */
  tryEnter(): boolean {
    if (this.#inside >= this.#concurrency) return false;
    this.#inside += 1;
    return true;
  }

  /** Waits for a place, first come, first served; refuses when too many wait already. */
  enter(signal: Signal | undefined): Promise<true> {
    if (this.#queue.length >= this.#capacity) {
      return Promise.reject(
        new Fault(
          'overloaded',
          `${this.#server} has ${this.#inside} calls running and ${this.#queue.length} waiting, its queue is full; ` +
            'try again later or raise its concurrency or queue',
          { server: this.#server },
        ),
      );
    }
    if (signal?.aborted) return Promise.reject(this.#cancelled());
    return new Promise((resolve, reject) => {
      const giveUp = () => this.#giveUp(waiting);
      // A signal may outlive thousands of calls: it must not gather listeners.
      const admit = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve(true);
      };
      const waiting: Waiting = { admit, refuse: reject };
      this.#queue.push(waiting);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Gives the place to the next in line. */
  leave(): void {
    const next = this.#queue.shift();
    if (next) next.admit();
    else this.#inside -= 1;
  }

  #giveUp(waiting: Waiting): void {
    const index = this.#queue.indexOf(waiting);
    if (index === -1) return;
    this.#queue.splice(index, 1);
    waiting.refuse(this.#cancelled());
  }

  #cancelled(): Fault {
    return new Fault('cancelled', 'the caller gave up while the call waited in the queue', {
      server: this.#server,
    });
  }
}
