// The load of the fleet's proof: agents at workers, each with a few callers that call one tool after the other, most
// of them with an effect that must not be repeated. What each call came to is written down; a worker that is killed is
// started again, and its callers go on.

import type { Fleet } from '../support/fleet.ts';
import type { Json, StdioClient } from '../support/gateway-stdio-client.ts';

export interface Settled {
  readonly nonce: string;
  /** `gone`: its worker was killed; nobody waits for the answer. */
  readonly outcome: 'answered' | 'refused' | 'unknown' | 'gone';
  readonly ms: number;
  readonly detail: string;
}

const callersOfWorker = 4;

export class Callers {
  readonly settled: Settled[] = [];
  /** Calls that are under way, with the time of their beginning; at most `callersOfWorker` for each worker. */
  readonly open = new Map<string, number>();
  readonly #fleet: Fleet;
  readonly #workers: StdioClient[] = [];
  readonly #loops: Promise<void>[] = [];
  #isOver = false;
  #calls = 0;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  async start(workers: number): Promise<void> {
    for (let number = 0; number < workers; number += 1) {
      this.#workers[number] = await this.#greeted();
      for (let caller = 0; caller < callersOfWorker; caller += 1) {
        this.#loops.push(this.#loop(number));
      }
    }
  }

  /** kill -9 of one worker, and another one in its place. */
  async killWorker(number: number): Promise<void> {
    const worker = this.#workers[number % this.#workers.length];
    if (worker === undefined) return;
    process.kill(worker.pid, 'SIGKILL');
    await worker.ended;
    this.#workers[number % this.#workers.length] = await this.#greeted();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  /** How many calls have been answered since then. */
  get answered(): number {
    return this.settled.filter(({ outcome }) => outcome === 'answered').length;
  }

  async #greeted(): Promise<StdioClient> {
    const worker = this.#fleet.rawWorker();
    await worker.initialize();
    return worker;
  }

  async #loop(number: number): Promise<void> {
    while (!this.#isOver) {
      this.#calls += 1;
      const nonce = `call-${this.#calls}`;
      const isEffect = this.#calls % 4 !== 0;
      const worker = this.#workers[number];
      if (worker === undefined) return;
      const began = performance.now();
      this.open.set(nonce, began);
      const settled = await outcomeOf(worker, nonce, isEffect);
      this.open.delete(nonce);
      this.settled.push({ nonce, ...settled, ms: performance.now() - began });
      // A worker that is being replaced.
      if (settled.outcome === 'gone') await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function outcomeOf(
  worker: StdioClient,
  nonce: string,
  isEffect: boolean,
): Promise<Pick<Settled, 'outcome' | 'detail'>> {
  const name = isEffect ? 'own__add' : 'own__get';
  const params = { name, arguments: { nonce, key: 'k', amount: 1 } };
  const gone = worker.ended.then(() => undefined);
  const answer: Json = await Promise.race([
    worker.ask('tools/call', params, nonce).catch(() => undefined),
    gone,
  ]);
  if (answer === undefined) return { outcome: 'gone', detail: '' };
  const fault = answer.result?._meta?.['holdfast/fault'] ?? answer.error;
  if (fault === undefined) return { outcome: 'answered', detail: '' };
  const isSure = fault.dispatched === 'no';
  return { outcome: isSure ? 'refused' : 'unknown', detail: JSON.stringify(fault).slice(0, 300) };
}
