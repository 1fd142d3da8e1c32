// Collects bytes that arrive in chunks and are needed as one buffer. Each chunk is copied when it
// arrives, while the sender is still sending, into a buffer with spare room; joining a list of
// chunks at the end would cost the same work, but at a moment when the caller waits, and twice the
// memory. A single chunk is not copied at all. A large text is expected to be as long as the last
// one, so that its buffer seldom has to grow. A buffer that was taken is never written to again.

const nothing = Buffer.alloc(0);
/** From this size on, the length of the last one is used as an estimate. */
const largeBytes = 256 * 1024;
/** An own buffer has at least this size, so that single bytes do not each allocate one. */
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
