// Frames that are sent in one turn of the event loop are written to the socket together: each write is a call of the
// operating system, which takes longer than everything else that is done with a small letter (bench/broker).

import type { Writable } from 'node:stream';

export class TurnWrites {
  readonly #stream: Pick<Writable, 'cork' | 'uncork'>;
  #isHeld = false;

  /** The stream below the WebSocket. */
  constructor(stream: Pick<Writable, 'cork' | 'uncork'>) {
    this.#stream = stream;
  }

  /** What is sent from now on is written at the end of what runs now. */
  gather(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#isHeld = false;
      this.#stream.uncork();
    });
  }
}
