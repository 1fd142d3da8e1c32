// Bytes that arrive in pieces and are needed as one. Each piece is copied when it arrives, while the
// sender is still busy with the next, into a buffer with room for more; joining a list of pieces at
// the end would cost the same work, but at the moment when everybody waits for it, and twice the
// memory. A single piece is not copied at all. A large text is taken to be as long as the last one
// was, so that its buffer seldom has to grow. What is taken is never written to again.

const nothing = Buffer.alloc(0);
/** From here on it counts how long the last one was. */
const largeBytes = 256 * 1024;
/** A buffer of our own has at least this much room, lest a drip make one per byte. */
const leastBytes = 4096;

export class GrowingBuffer {
  readonly #limitBytes: number;
  /** A piece as it came, or a buffer of our own with room behind what is in it. */
  #held: Buffer = nothing;
  #isOwn = false;
  #bytes = 0;
  #expectedBytes = 0;

  /** Room is made for at most `limitBytes`, unless more is added. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What is in it, as long as nothing is added. */
  get view(): Buffer {
    return this.#held.subarray(0, this.#bytes);
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    const needed = this.#bytes + piece.length;
    if (this.#bytes === 0) this.#held = piece;
    else {
      if (!this.#hasRoom(needed)) this.#grow(this.#roomFor(needed));
      piece.copy(this.#held, this.#bytes);
    }
    this.#bytes = needed;
  }

  /** Everything, with this last piece; nothing is in it afterwards. */
  take(last: Buffer = nothing): Buffer {
    if (last.length > 0 && this.#bytes > 0) {
      const needed = this.#bytes + last.length;
      if (!this.#hasRoom(needed)) this.#grow(needed);
    }
    this.add(last);
    const whole = this.view;
    if (this.#bytes >= largeBytes) this.#expectedBytes = this.#bytes;
    this.clear();
    return whole;
  }

  clear(): void {
    this.#held = nothing;
    this.#isOwn = false;
    this.#bytes = 0;
  }

  #hasRoom(needed: number): boolean {
    return this.#isOwn && needed <= this.#held.length;
  }

  #roomFor(needed: number): number {
    const expected = needed >= largeBytes ? this.#expectedBytes : leastBytes;
    const wanted = expected >= needed ? expected : needed * 2;
    return Math.max(needed, Math.min(wanted, this.#limitBytes));
  }

  #grow(room: number): void {
    const grown = Buffer.allocUnsafeSlow(room);
    this.#held.copy(grown, 0, 0, this.#bytes);
    this.#held = grown;
    this.#isOwn = true;
  }
}
