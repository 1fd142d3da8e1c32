// The answers to a batch (2025-03-26), gathered: they leave as one array when the last is there. What
// comes before an answer leaves at once. A request that was cancelled has no answer, and a batch without
// answers is not answered at all.

import type { Frame, Reply } from './contract.ts';

export class BatchReply {
  readonly #write: (frame: Frame) => void;
  readonly #answers: Frame[] = [];
  #open: number;

  /** `requests` is how many of the messages will be answered. */
  constructor(requests: number, write: (frame: Frame) => void) {
    this.#open = requests;
    this.#write = write;
  }

  /** The place of one request's answer. */
  reply(): Reply {
    return {
      send: this.#write,
      answer: (frame) => this.#ended(frame),
      withdrawn: () => this.#ended(undefined),
    };
  }

  #ended(answer: Frame | undefined): void {
    if (answer) this.#answers.push(answer);
    this.#open -= 1;
    if (this.#open > 0 || this.#answers.length === 0) return;
    const pieces = this.#answers.flatMap((answer, at) => (at > 0 ? [',', ...answer] : answer));
    this.#write(['[', ...pieces, ']']);
  }
}
