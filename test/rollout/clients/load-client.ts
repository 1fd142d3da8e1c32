// A client of the load of a rollout's proof: how it is called, and the loop in which it asks. Long calls and questions
// run beside the short ones, so that a pause between two short answers is one of the gateway.

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
  readonly #beside = new Set<Promise<void>>();
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
    await Promise.all(this.#beside);
  }

  async #run(orders: Orders, everyMs: number): Promise<void> {
    for (
      let due = performance.now();
      !this.#isOver;
      due = Math.max(due, performance.now() - everyMs)
    ) {
      const order = orders.next();
      const done = this.#one(order);
      if (order.kind === 'long' || order.kind === 'question') {
        this.#beside.add(done);
        // It never rejects.
        done.then(() => void this.#beside.delete(done)).catch(ignored);
      } else await done;
      due += everyMs;
      await after(due - performance.now());
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
