// What a process knows of the past of a stream: which one it was that held what is kept, and up to which number
// something was acknowledged in it. By that it is decided, whenever the stream is looked at, whether something is missing.
// A stream that was made anew is missing what the other had, until that one is there again. What a stream has lost
// within itself cannot be seen any more once it is written to: that stays known until the process ends.

/** What is new since the last look. */
export type PastChange = 'other' | 'short' | 'restored';

export class StreamPast {
  /** The random part of the stream that held what is kept; undefined: not known yet. */
  kept: string | undefined;
  #present: string | undefined;
  /** The highest number that was acknowledged to us in the stream that is kept. */
  #acknowledged = 0;
  #isShort = false;

  /** Whether nothing is known to be lost. */
  get isWhole(): boolean {
    return !this.#isShort && !this.#isOther;
  }

  get #isOther(): boolean {
    return this.#present !== undefined && this.#present !== this.kept;
  }

  acknowledged(incarnation: string, sequence: number): void {
    if (incarnation === this.kept) this.#acknowledged = Math.max(this.#acknowledged, sequence);
  }

  /** The stream as it is there now; `last` is its highest number. */
  found(incarnation: string, last: number): PastChange | undefined {
    const wasOther = this.#isOther;
    const isSame = this.#present === incarnation;
    this.#present = incarnation;
    if (this.#isOther) return isSame ? undefined : 'other';
    if (last < this.#acknowledged) {
      this.#acknowledged = last;
      this.#isShort = true;
      return 'short';
    }
    return wasOther && !this.#isShort ? 'restored' : undefined;
  }
}
