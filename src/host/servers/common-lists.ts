// Lets the lists for all clients be read on a new connection before its server is sent one client's
// roots: what is listed after that is for that client only, and is not kept for later runs. Servers
// often ask for roots at their start, at the moment at which their lists are read. The roots wait
// for a short time only, because a server may list nothing before it has them.

import { type Clock, within } from '../../kernel/clock.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';

/** How long roots wait at most from the question on: less than their client's call waits for them. */
const maxWaitMs = 1_000;

export interface CommonReading extends Disposable {
  /** The lists are being read. Disposing does not end the wait for them. */
  reads(lists: Promise<unknown>): void;
}

export class CommonLists {
  readonly #clock: Clock;
  /** Of slots where a connection is being made, until its lists are read. */
  readonly #readings = new WeakMap<ConnectionSlot, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A connection is being made; disposing says that it is there, or will not be. */
  begin(slot: ConnectionSlot): CommonReading {
    let resolve!: () => void;
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    const readings = this.#readings.set(slot, promise);
    const ended = () => {
      if (readings.get(slot) === promise) readings.delete(slot);
      resolve();
    };
    let reading: Promise<unknown> | undefined;
    return {
      reads: (lists) => {
        reading = lists.then(ended, ended);
      },
      [Symbol.dispose]: () => {
        if (reading === undefined) ended();
      },
    };
  }

  /**
   * What roots wait for before they are sent on this slot's connection; undefined if nothing. `late`
   * is called if nothing was read in that time.
   */
  before(slot: ConnectionSlot, late: () => void): Promise<void> | undefined {
    const reading = this.#readings.get(slot);
    return reading && this.#wait(slot, reading, late);
  }

  async #wait(slot: ConnectionSlot, reading: Promise<void>, late: () => void): Promise<void> {
    await within(this.#clock, maxWaitMs, reading);
    if (this.#readings.get(slot) === reading) late();
  }
}
