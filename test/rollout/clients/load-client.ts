// A client of the load of a rollout's proof: how it is called, and the loop in which it asks. Each call begins when it
// is due, whether the one before was answered or not: what a gateway does not answer for half a second is asked for all the
// same, and the rate is that of the proof, not that of the answers.

import { ignored } from '../../../src/kernel/contain.ts';
import type { History, Order } from '../history.ts';
import type { Orders } from '../orders.ts';

export interface LoadClient extends AsyncDisposable {
  readonly name: string;
  /** The result of the tool; rejects with what came instead. */
  call(order: Order): Promise<unknown>;
}

/** Elicitation, and nothing else. */
export const askable = { elicitation: { form: {} } };

export class Caller {
  readonly #client: LoadClient;
  readonly #history: History;
  /** At most `mostOpen`. */
  readonly #open = new Set<Promise<void>>();
  readonly #loop: Promise<void>;
  #isOver = false;

  /** So many calls a second. */
  constructor(client: LoadClient, history: History, orders: Orders, rate: number) {
    this.#client = client;
    this.#history = history;
    this.#loop = this.#run(orders, 1_000 / rate);
  }

  /** Resolves when everything that was asked has ended, or nothing can be waited for any more. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.race([this.#ended(), after(endMs)]);
  }

  async #ended(): Promise<void> {
    await this.#loop;
    await Promise.all(this.#open);
  }

  async #run(orders: Orders, everyMs: number): Promise<void> {
    const began = performance.now();
    for (let number = 0; !this.#isOver; number += 1) {
      await after(began + number * everyMs - performance.now());
      const done = this.#one(orders.next());
      this.#open.add(done);
      // It never rejects.
      done.then(() => void this.#open.delete(done)).catch(ignored);
      if (this.#open.size >= mostOpen) await Promise.race(this.#open);
    }
  }

  async #one(order: Order): Promise<void> {
    const ended = this.#history.begin(this.#client.name, order);
    try {
      ended(await this.#client.call(order));
    } catch (error) {
      ended(undefined, messageOf(error));
    }
  }
}

/** What a client waits for at once; in a pause of a second there are about twenty. */
const mostOpen = 64;
const endMs = 15_000;

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { data, cause, code } = error as Error & { data?: unknown; code?: unknown };
  const more = [code, data, cause]
    .filter((one) => one !== undefined)
    .map((one) => (one instanceof Error ? String(one) : JSON.stringify(one)));
  return [error.message || error.name, ...more].join(' ');
}
