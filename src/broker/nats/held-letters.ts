// The letters of one queue that were handed out and are not acknowledged. The server hands a letter out again when it has
// heard nothing of it for a while, such as from a process that stood still: that is another delivery of the same letter,
// and no second one. Only the last delivery counts: acknowledging an earlier one would be taken for the letter itself. One
// that was on its way when the letter was acknowledged is none at all.

import { sequenceOf } from './kept-at.ts';

interface Delivery {
  /** What to acknowledge it by. */
  readonly ack: string;
  readonly bytes: number;
}

/** More than can be on their way to one link. */
const maxDone = 4_096;

export class HeldLetters {
  /** The last delivery of each, by its place in the stream; at most `windowLetters` and what one request brings. */
  readonly #deliveries = new Map<string, Delivery>();
  /** Letters that were acknowledged last, the oldest first; at most `maxDone`. */
  readonly #done = new Set<string>();
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

  /** It was handed out, perhaps once more; false if it is done with. */
  add(ack: string, bytes: number): boolean {
    const letter = sequenceOf(ack);
    if (this.#done.has(letter)) return false;
    this.#bytes += bytes - (this.#deliveries.get(letter)?.bytes ?? 0);
    this.#deliveries.set(letter, { ack, bytes });
    return true;
  }

  /** False if it is not held, or was handed out again since. */
  release(ack: string): boolean {
    const letter = sequenceOf(ack);
    const held = this.#deliveries.get(letter);
    if (held?.ack !== ack) return false;
    this.#deliveries.delete(letter);
    this.#bytes -= held.bytes;
    this.#done.add(letter);
    const [oldest] = this.#done;
    if (this.#done.size > maxDone && oldest !== undefined) this.#done.delete(oldest);
    return true;
  }

  clear(): void {
    this.#deliveries.clear();
    this.#bytes = 0;
  }
}
