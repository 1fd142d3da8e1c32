// The letters of one queue that were handed out and are not acknowledged. The server hands a letter out again when it has
// heard nothing of it for a while, such as from a process that stood still: that is another delivery of the same letter,
// and no second one. Only the last delivery counts: acknowledging an earlier one would be taken for the letter itself.

import { sequenceOf } from './kept-at.ts';

interface Delivery {
  /** What to acknowledge it by. */
  readonly ack: string;
  readonly bytes: number;
}

export class HeldLetters {
  /** The last delivery of each, by its place in the stream; at most `windowLetters` and what one request brings. */
  readonly #deliveries = new Map<string, Delivery>();
  #bytes = 0;

  get size(): number {
    return this.#deliveries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What to acknowledge them by. */
  get acks(): readonly string[] {
    return [...this.#deliveries.values()].map(({ ack }) => ack);
  }

  /** It was handed out, perhaps once more. */
  add(ack: string, bytes: number): void {
    const letter = sequenceOf(ack);
    this.#bytes += bytes - (this.#deliveries.get(letter)?.bytes ?? 0);
    this.#deliveries.set(letter, { ack, bytes });
  }

  /** False if it is not held, or was handed out again since. */
  release(ack: string): boolean {
    const letter = sequenceOf(ack);
    const held = this.#deliveries.get(letter);
    if (held?.ack !== ack) return false;
    this.#deliveries.delete(letter);
    this.#bytes -= held.bytes;
    return true;
  }

  clear(): void {
    this.#deliveries.clear();
    this.#bytes = 0;
  }
}
