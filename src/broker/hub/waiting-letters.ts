// The letters that wait for one place: a seat, or any seat. They are handed out in the order in which they came. Where a
// sender has its share of what readers may hold, or is not known yet, its letters are withheld, in their order, and those
// of others go on.

import type { Held } from './held.ts';
import { LetterQueue } from './letter-queue.ts';

/** What became of a letter: it is gone from here; its sender has its share, or is not known yet; nobody can take any. */
export type Handing = 'gone' | 'share' | 'full';

export class WaitingLetters {
  readonly #line = new LetterQueue();
  /** By sender; none is empty, so there are at most as many as letters. */
  readonly #withheld = new Map<string, LetterQueue>();

  get isEmpty(): boolean {
    return this.#line.size === 0 && this.#withheld.size === 0;
  }

  /** The newest one. */
  push(held: Held): void {
    (this.#withheld.get(held.from.mailbox) ?? this.#line).push(held);
  }

  /** Letters that come back, before newer ones. */
  putBack(letters: readonly Held[]): void {
    const withheld = [...this.#withheld.values()].flatMap((queue) => queue.takeOut(() => true));
    this.#withheld.clear();
    this.#line.putBack([...letters, ...withheld]);
  }

  /** Whether it was there. */
  remove(held: Held): boolean {
    if (this.#line.remove(held)) return true;
    const sender = held.from.mailbox;
    const queue = this.#withheld.get(sender);
    const isThere = queue?.remove(held) === true;
    if (queue?.size === 0) this.#withheld.delete(sender);
    return isThere;
  }

  /** Removes and returns those for which this is true. */
  takeOut(isOut: (held: Held) => boolean): readonly Held[] {
    const out = [...this.#line.takeOut(isOut)];
    for (const [sender, queue] of this.#withheld) {
      for (const held of queue.takeOut(isOut)) out.push(held);
      if (queue.size === 0) this.#withheld.delete(sender);
    }
    return out;
  }

  /** Hands out as many as can be. */
  handOut(hand: (held: Held) => Handing): void {
    for (const [sender, queue] of this.#withheld) {
      const last = handFrom(queue, hand);
      if (queue.size === 0) this.#withheld.delete(sender);
      if (last === 'full') return;
    }
    while (handFrom(this.#line, hand) === 'share') this.#withholdFirst();
  }

  #withholdFirst(): void {
    const { first } = this.#line;
    if (first === undefined) return;
    this.#line.dropFirst();
    const sender = first.from.mailbox;
    const queue = this.#withheld.get(sender) ?? new LetterQueue();
    queue.push(first);
    this.#withheld.set(sender, queue);
  }
}

/** Until one cannot be handed out; 'gone': all were. */
function handFrom(queue: LetterQueue, hand: (held: Held) => Handing): Handing {
  for (let held = queue.first; held !== undefined; held = queue.first) {
    const handing = hand(held);
    if (handing !== 'gone') return handing;
    queue.dropFirst();
  }
  return 'gone';
}
