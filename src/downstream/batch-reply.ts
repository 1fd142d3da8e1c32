// The answers to a batch (2025-03-26), gathered: they leave as one array when the last is there. What
// comes before an answer leaves at once. A request that was cancelled has no answer, and a batch without
// answers is not answered at all.

import type { Frame } from '../wire/frames.ts';
import { byteLengthOf } from '../wire/pieces.ts';
import type { Reply } from './contract.ts';

/** Told how much has been gathered, and, with a negative number, that it has left. */
export interface BatchListener {
  gathered(bytes: number): void;
}

export class BatchReply {
  readonly #write: (frame: Frame) => void;
  readonly #listener: BatchListener;
  readonly #answers: Frame[] = [];
  #bytes = 0;
  #open: number;

  /** `requests` is how many of the messages will be answered. */
  constructor(requests: number, write: (frame: Frame) => void, listener: BatchListener) {
    this.#open = requests;
    this.#write = write;
    this.#listener = listener;
  }

  /** The place of one request's answer; the first that is put there is the one. */
  reply(): Reply {
    let isOpen = true;
    const end = (answer: Frame | undefined) => {
      if (!isOpen) return;
      isOpen = false;
      this.#ended(answer);
    };
    return { send: this.#write, answer: end, withdrawn: () => end(undefined) };
  }

  #ended(answer: Frame | undefined): void {
    if (answer) this.#gather(answer);
    this.#open -= 1;
    if (this.#open > 0 || this.#answers.length === 0) return;
    this.#listener.gathered(-this.#bytes);
    const pieces = this.#answers.flatMap((answer, at) => (at > 0 ? [',', ...answer] : answer));
    this.#write(['[', ...pieces, ']']);
  }

  #gather(answer: Frame): void {
    let bytes = 0;
    for (const piece of answer) bytes += byteLengthOf(piece);
    this.#answers.push(answer);
    this.#bytes += bytes;
    this.#listener.gathered(bytes);
  }
}
