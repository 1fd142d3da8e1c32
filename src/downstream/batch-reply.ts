// Collects the answers to a batch (2025-03-26): they are sent as one array when the last is there.
// What comes before an answer is sent at once. A cancelled request has no answer, and a batch
// without answers is not answered at all.

import type { Frame } from '../wire/frames.ts';
import { byteLengthOf } from '../wire/pieces.ts';
import type { Reply } from './contract.ts';

/** Called with the number of collected bytes, and, with a negative number, when they are sent. */
export interface BatchListener {
  gathered(bytes: number): void;
  /** Called when all of it was answered, or has no answer. */
  over?(): void;
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

  /** The reply to one request; only the first answer counts. */
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
    if (this.#open > 0) return;
    if (this.#answers.length > 0) this.#send();
    this.#listener.over?.();
  }

  #send(): void {
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
