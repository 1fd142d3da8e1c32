// Single flight: callers that ask for the same thing at the same time share one request. Only the
// running request is shared; storing results is the cache's task, and the pipeline chooses a key
// under which sharing is correct (the same principal, a cacheable request). A caller that cancels
// leaves without affecting the others; when the last one has left, the request is cancelled, and
// the next caller starts a new one. The outcome goes only to the callers that were waiting for it.

import type { Signal } from '../kernel/cancel-signal.ts';
import { Fault } from '../kernel/fault.ts';

interface Flight<Value> {
  readonly landing: Promise<Value>;
  readonly callOff: AbortController;
  waiting: number;
}

export class Flights<Value> {
  /** By key, until they end or are cancelled; each occupies a slot of its server. */
  readonly #flights = new Map<string, Flight<Value>>();

  get size(): number {
    return this.#flights.size;
  }

  /**
   * Joins the running request of this key or starts it. The request gets a signal of its own, which
   * fires when no caller waits any more; `signal` ends only the waiting of this caller.
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

  /** A cancelled request may end after its successor was started. */
  #forget(key: string, flight: Flight<Value>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}

/** A start that throws synchronously counts as a request that failed. */
async function launchSafely<Value>(
  launch: (signal: AbortSignal) => Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  return await launch(signal);
}

/**
 * The shared request may go on for other callers; this caller only learns that it stopped waiting.
 */
function gaveUp(dispatched: 'no' | 'maybe', reason: unknown): Fault {
  return new Fault('cancelled', 'the caller stopped waiting', { dispatched }, reason);
}
