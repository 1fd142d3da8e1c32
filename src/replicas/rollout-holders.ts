// The serving processes of one instance in a rollout, as those who hold claims of idempotency keys: a retry that comes to
// the next process asks the one that has the call, over the bus between them, and waits for its answer. A process that
// is not on the bus any more has ended: the outcome of its calls is unknown, and they are not waited for.

import type { Bus } from './bus.ts';
import { ClaimQuestions, type ClaimWord } from './claim-questions.ts';

export interface RolloutHoldersParts {
  /** Between the processes of this instance, and nobody else. */
  readonly bus: Bus;
  /** Begins every subject. */
  readonly subjects: string;
  /** This process: hexadecimal digits that no other process has, also not after a restart. */
  readonly id: string;
  /** The same in all of them. */
  readonly secret: Buffer;
}

/** No claim has this name. */
const noClaim = '0';

export class RolloutHolders implements Disposable {
  readonly id: string;
  /** There is one database, which applies changes in the order in which they were asked for. */
  readonly keepsOrder = true;
  readonly #questions: ClaimQuestions;

  constructor(parts: RolloutHoldersParts) {
    this.id = parts.id;
    this.#questions = new ClaimQuestions(parts);
  }

  /** Rejects if that cannot be said. */
  async isAlive(process: string): Promise<boolean> {
    return (await this.#questions.ask(process, noClaim)) !== 'gone';
  }

  /** Rejects if that cannot be said. */
  claimAt(process: string, claim: string): Promise<ClaimWord | 'gone'> {
    return this.#questions.ask(process, claim);
  }

  answerClaims(stateOf: (claim: string) => ClaimWord): void {
    this.#questions.answer(stateOf);
  }

  [Symbol.dispose](): void {
    this.#questions[Symbol.dispose]();
  }
}
