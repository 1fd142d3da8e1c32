// What replicas ask each other about idempotency keys: whether a replica works on a claim of its own that another one has
// found in the store. A claim is a random name, so that nobody who listens learns of which key it is. The answer carries
// a code that only a replica can make: one that says "take it" lets a call run.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Bus, BusError, type BusMessage } from './bus.ts';

/** As the holder of a claim says it. */
export type ClaimWord = 'held' | 'idle' | 'none';

export interface ClaimQuestionsParts {
  readonly bus: Bus;
  readonly subjects: string;
  /** This replica. */
  readonly id: string;
  /** The same at all replicas, and known to nobody else. */
  readonly secret: Buffer;
}

const words: readonly ClaimWord[] = ['held', 'idle', 'none'];
const answerMs = 2_000;
/** Of a name of a replica or of a claim. */
const namePattern = /^[0-9a-f]{1,64}$/;

export class ClaimQuestions implements Disposable {
  readonly #parts: ClaimQuestionsParts;
  readonly #subscription: Disposable;
  /** Nothing has been claimed yet. */
  #stateOf: (claim: string) => ClaimWord = () => 'none';

  constructor(parts: ClaimQuestionsParts) {
    this.#parts = parts;
    const { bus, id } = parts;
    this.#subscription = bus.subscribe(this.#subjectOf(id), (message) => this.#asked(message));
  }

  answer(stateOf: (claim: string) => ClaimWord): void {
    this.#stateOf = stateOf;
  }

  /** Rejects with a BusError if that cannot be said. */
  async ask(replica: string, claim: string): Promise<ClaimWord | 'gone'> {
    if (!namePattern.test(replica) || !namePattern.test(claim)) return 'gone';
    const { bus } = this.#parts;
    try {
      const body = await bus.ask(this.#subjectOf(replica), Buffer.from(claim), answerMs);
      const said = words.find((word) => isSame(body, this.#answerOf(replica, claim, word)));
      if (said !== undefined) return said;
    } catch (error) {
      if (error instanceof BusError && error.reason === 'absent') return 'gone';
      throw error;
    }
    throw new BusError('lost', 'another replica has given an answer that is none');
  }

  #asked({ body, answer }: BusMessage): void {
    const claim = Buffer.from(body).toString('latin1');
    if (!namePattern.test(claim)) return;
    answer(this.#answerOf(this.#parts.id, claim, this.#stateOf(claim)));
  }

  #subjectOf(replica: string): string {
    return `${this.#parts.subjects}.claim.${replica}`;
  }

  #answerOf(replica: string, claim: string, word: ClaimWord): Buffer {
    const about = `claim of a key ${replica} ${claim} ${word}`;
    return createHmac('sha256', this.#parts.secret).update(about).digest();
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
