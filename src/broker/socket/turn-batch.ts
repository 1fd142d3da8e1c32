// Gathers numbers of one turn of the event loop, so that they go into one frame.

import { maxNumbers } from './frames.ts';

export class TurnBatch {
  readonly #send: (numbers: readonly number[]) => void;
  /** At most `maxNumbers`, until the end of the turn. */
  #numbers: number[] = [];

  constructor(send: (numbers: readonly number[]) => void) {
    this.#send = send;
  }

  add(number: number): void {
    this.#numbers.push(number);
    if (this.#numbers.length >= maxNumbers) return this.flush();
    if (this.#numbers.length === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    if (this.#numbers.length === 0) return;
    const numbers = this.#numbers;
    this.#numbers = [];
    this.#send(numbers);
  }
}
