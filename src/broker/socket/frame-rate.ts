// How fast one link, or all links of one worker together, may send: so many frames in a second, and as many at once
// after a pause. It counts every frame that came, and says how long to read nothing more; nothing is dropped. A frame
// that asks for what there is no room for counts as many: whoever does not wait for room is slowed, and takes less of
// the time of the others. So does a frame with a long header, which takes as long to read as many short ones. All links
// of a worker have one rate: before a frame is read each of them asks whether the others have used it up.

import type { Clock } from '../../kernel/clock.ts';

const framesPerSecond = 40_000;
const burst = 20_000;
/** What one that is refused for want of room counts, besides itself. */
const refusedFrames = 19;
/** The header of a letter is shorter. */
const usualHeaderBytes = 256;
/** What is longer counts once more for each such piece: each takes about as long as a letter. */
const pieceBytes = 32;
/** Timers are not finer, and reading in many small pieces costs more. */
const shortestMs = 10;

export class FrameRate {
  readonly #clock: Clock;
  #left = burst;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
  }

  /** As if nothing had come yet. */
  get isWhole(): boolean {
    this.#count(0);
    return this.#left === burst;
  }

  /** One frame has come: for how many milliseconds nothing more is to be read; 0: go on. */
  taken(headerBytes = 0): number {
    const beyond = Math.max(0, headerBytes - usualHeaderBytes);
    return this.#count(1 + Math.floor(beyond / pieceBytes));
  }

  /** Before one is taken; as above. */
  owed(): number {
    return this.#count(0);
  }

  /** The last one was refused for want of room; as above. */
  refused(): number {
    return this.#count(refusedFrames);
  }

  #count(frames: number): number {
    const now = this.#clock.now();
    const more = ((now - this.#at) * framesPerSecond) / 1_000;
    this.#left = Math.min(burst, this.#left + more) - frames;
    this.#at = now;
    if (this.#left >= 0) return 0;
    return Math.max(shortestMs, (-this.#left * 1_000) / framesPerSecond);
  }
}
