// What clients remember of the calls they have made under a key, over all lives of the host: a client
// that was left without an answer asks the next process the same under the same key, and so does now
// and then one that had its answer.

import type { Plan } from './calls.ts';
import type { Dice } from './random.ts';

const remembered = 24;

export class KeyedPlans {
  readonly #plans: Plan[] = [];

  add(plan: Plan): void {
    this.#plans.push(plan);
    if (this.#plans.length > remembered) this.#plans.shift();
  }

  /** Those that are asked once more, of a process that has not been asked. */
  again(dice: Dice): readonly Plan[] {
    return this.#plans
      .filter(() => dice.chance(0.5))
      .map((plan) => ({ ...plan, isRepeated: true, timeoutMs: undefined }));
  }
}
