// One flight per key: callers who ask for the same thing at the same time wait for one request. It
// shares only what is in the air; keeping results is the cache's work, and choosing a key under
// which sharing is right (the same principal, a request that may be cached) the pipeline's. A
// caller who gives up leaves alone; when the last one has left, the flight is called off and a
// newcomer starts another. Whatever a flight ends with goes to those who were waiting, no further.

import type { Signal } from '../kernel/cancel-signal.ts';
import { Fault } from '../kernel/fault.ts';

interface Flight<Value> {
  readonly landing: Promise<Value>;
  readonly callOff: AbortController;
  waiting: number;
}

export class Flights<Value> {
  /** By key, until they land or are called off; each holds a place at its server. */
  readonly #flights = new Map<string, Flight<Value>>();

  get size(): number {
    return this.#flights.size;
  }

  /**
   * Joins the flight of this key or launches it. The launch gets a signal of its own, which fires
   * when nobody waits any more; `signal` ends only this caller's waiting.
   */
  join(
    key: string,
    launch: (signal: AbortSignal) => Promise<Value>,
    signal?: Signal,
  ): Promise<Value> {
    if (signal?.aborted) return Promise.reject(gaveUp('no', signal.reason));
    const flight = this.#flights.get(key) ?? this.#launch(key, launch);
    flight.waiting += 1;
    return signal === undefined ? flight.landing : this.#wait(key, flight, signal);
  }

  #launch(key: string, launch: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const callOff = new AbortController();
    const landing = launchSafely(launch, callOff.signal).finally(() => this.#forget(key, flight));
    const flight: Flight<Value> = { landing, callOff, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  #wait(key: string, flight: Flight<Value>, signal: Signal): Promise<Value> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(gaveUp('maybe', signal.reason));
        flight.waiting -= 1;
        if (flight.waiting > 0) return;
        this.#forget(key, flight);
        flight.callOff.abort(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      const stay = () => signal.removeEventListener('abort', leave);
      flight.landing
        .then(
          (value) => {
            stay();
            resolve(value);
          },
          (thrown) => {
            stay();
            reject(thrown);
          },
        )
        .catch(reject);
    });
  }

  /** A flight that was called off may land after its successor was launched. */
  #forget(key: string, flight: Flight<Value>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}

/** A launch that throws at once is a flight that failed. */
async function launchSafely<Value>(
  launch: (signal: AbortSignal) => Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  return await launch(signal);
}

/** Someone else's request may be on its way; for the one who leaves, that is all there is to say. */
function gaveUp(dispatched: 'no' | 'maybe', reason: unknown): Fault {
  return new Fault('cancelled', 'the caller gave up waiting', { dispatched }, reason);
}
