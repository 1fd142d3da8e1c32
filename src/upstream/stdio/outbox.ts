// Our own queue in front of one pipe. One write is outstanding at a time and everything behind it
// has not been sent: that makes `dispatched: no` exact. A single frame is written at once; while
// other calls are running, the frames of one turn of the event loop are written together at its
// end, or as soon as there are enough of them: a system call for each, and waking the server for
// each, would cost more than everything else a call does here. In a rollout the pipe is given up
// between two writes, and what has not been written goes another way, line by line.

import type { Clock } from '../../kernel/clock.ts';
import type { TextOrFrame } from '../../wire/frames.ts';
import { joinPieces } from '../../wire/pieces.ts';
import type { Exchange } from '../exchange.ts';

interface Queued {
  readonly frame: TextOrFrame;
  readonly size: number;
  /** Absent for notifications and answers. */
  readonly exchange: Exchange | undefined;
}

export interface Pipe {
  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void;
}

export interface OutboxListener {
  /** Whether other calls are running, so that more frames are likely in this turn. */
  isBusy(): boolean;
  /** The pipe is broken, or the reader has not taken a byte for too long. */
  stuck(cause: 'broken' | 'not-reading', error: Error | null): void;
}

/** Collected frames are written as soon as they have this size. */
const gatherBytes = 16 * 1024;
/** A joined write stays below this, so that few frames are "maybe" when a pipe breaks. */
const joinBytes = 64 * 1024;
/** A pipe is given up only if the write under way ends by then: until then nothing new begins at any server. */
const lastWriteMs = 700;

export class Outbox {
  readonly #pipe: Pipe;
  readonly #clock: Clock;
  readonly #writeDeadlineMs: number;
  readonly #listener: OutboxListener;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  #isGathering = false;
  #writing = false;
  #writes = 0;
  #watch: Disposable | undefined;
  #isClosed = false;
  #isStopped = false;
  /** Notified when the write under way is over, while the pipe is being given up. */
  #ended: ((isOver: boolean) => void) | undefined;
  /** Where lines go instead of the pipe. */
  #toLine: ((line: Buffer) => void) | undefined;
  readonly #written = (error: Error | null) => {
    try {
      this.#done(error);
    } catch (thrown) {
      this.#failed(thrown);
    }
  };
  readonly #turnEnded = () => {
    this.#isGathering = false;
    try {
      if (!this.#writing && !this.#isStopped) this.#flush();
    } catch (thrown) {
      this.#failed(thrown);
    }
  };

  constructor(pipe: Pipe, clock: Clock, writeDeadlineMs: number, listener: OutboxListener) {
    this.#pipe = pipe;
    this.#clock = clock;
    this.#writeDeadlineMs = writeDeadlineMs;
    this.#listener = listener;
  }

  push(frame: TextOrFrame, exchange: Exchange | undefined): void {
    if (this.#isClosed) return;
    const size = sizeOf(frame);
    this.#queue.push({ frame, size, exchange });
    this.#queuedBytes += size;
    if (this.#isStopped) this.#pass();
    else if (this.#writing) {
      if (!this.#watch) this.#watchWrite();
    } else if (this.#queuedBytes >= gatherBytes) {
      this.#flush();
    } else if (!this.#isGathering) {
      this.#isGathering = true;
      if (this.#listener.isBusy()) setImmediate(this.#turnEnded);
      else process.nextTick(this.#turnEnded);
    }
  }

  /** The orderly end: waiting cancellations and answers are written, calls are not. */
  finish(): void {
    if (this.#isClosed) return;
    // The pipe is somebody else's.
    if (this.#isStopped) return this.close();
    const words = this.#queue.filter(({ exchange }) => exchange === undefined);
    const pieces = words.flatMap(({ frame }) => frame);
    this.close();
    // Behind an outstanding write, if there is one; whether it arrives does not matter now.
    if (pieces.length > 0) this.#pipe.write(joinPieces(pieces), () => {});
  }

  /** Nothing more is written; what is queued stays undispatched. */
  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#watch?.[Symbol.dispose]();
    this.#watch = undefined;
    this.#ended?.(false);
  }

  // --- giving up the pipe ------------------------------------------------------------------

  /**
   * Nothing more is written to the pipe, except for the write under way. Resolves when that has
   * ended, to whether the pipe can be given up now.
   */
  stop(): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    this.#isStopped = true;
    if (!this.#writing) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (isOver: boolean) => {
        this.#ended = undefined;
        limit[Symbol.dispose]();
        resolve(isOver);
      };
      const limit = this.#clock.after(lastWriteMs, () => end(false), true);
      this.#ended = end;
    });
  }

  /** The pipe stays ours. */
  goOn(): void {
    this.#isStopped = false;
    if (!this.#isClosed && !this.#writing) this.#flush();
  }

  /** The pipe is somebody else's now: lines go there, without their ends, also those that wait. */
  redirect(toLine: (line: Buffer) => void): void {
    this.#toLine = toLine;
    this.#pass();
  }

  #pass(): void {
    while (this.#toLine && this.#queue.length > 0) {
      const { frame, size, exchange } = this.#queue.shift() as Queued;
      this.#queuedBytes -= size;
      if (exchange?.isSettled) continue;
      if (exchange) exchange.dispatched = 'maybe';
      const line = typeof frame === 'string' ? Buffer.from(frame) : joinPieces(frame);
      try {
        this.#toLine(line.subarray(0, -1));
      } catch (thrown) {
        this.#failed(thrown);
      }
    }
  }

  // --- writing -----------------------------------------------------------------------------

  #flush(): void {
    const bytes = this.#take();
    if (!bytes) return;
    this.#writing = true;
    this.#writes += 1;
    this.#pipe.write(bytes, this.#written);
  }

  #done(error: Error | null): void {
    this.#writing = false;
    if (this.#isClosed) return;
    if (error) {
      // Nothing can pass a broken pipe any more: waiting and later frames stay undispatched.
      this.close();
      this.#listener.stuck('broken', error);
    } else if (this.#isStopped) this.#ended?.(true);
    else if (!this.#isGathering || this.#queuedBytes >= gatherBytes) this.#flush();
  }

  /** An unexpected error: it is unknown what was written, so nothing more is. */
  #failed(thrown: unknown): void {
    this.close();
    this.#listener.stuck('broken', thrown instanceof Error ? thrown : new Error(String(thrown)));
  }

  /** The next frames as one piece of bytes; from here on they may have been sent. */
  #take(): Uint8Array | string | undefined {
    const pieces: (string | Buffer)[] = [];
    let isText = true;
    let size = 0;
    let taken = 0;
    while (taken < this.#queue.length && size < joinBytes) {
      const { frame, exchange, size: own } = this.#queue[taken++] as Queued;
      this.#queuedBytes -= own;
      if (exchange) {
        if (exchange.isSettled) continue; // cancelled while it was still ours
        exchange.dispatched = 'maybe';
      }
      size += own;
      if (typeof frame === 'string') pieces.push(frame);
      else {
        isText = false;
        pieces.push(...frame);
      }
    }
    // Cleared with every write: a queue that never runs empty must not keep what it has sent.
    this.#queue = taken === this.#queue.length ? [] : this.#queue.slice(taken);
    if (pieces.length === 0) return undefined;
    // Nothing but text is encoded by the pipe itself.
    return isText ? pieces.join('') : joinPieces(pieces);
  }

  // Set only when frames accumulate behind a write, and checked again only when it fires: a healthy
  // pipe does not pay for it.
  #watchWrite(): void {
    const seen = this.#writes;
    const look = () => {
      this.#watch = undefined;
      if (!this.#writing || this.#isClosed) return;
      if (this.#writes === seen) this.#listener.stuck('not-reading', null);
      else this.#watchWrite();
    };
    this.#watch = this.#clock.after(this.#writeDeadlineMs, look, true);
  }
}

function sizeOf(frame: TextOrFrame): number {
  if (typeof frame === 'string') return frame.length;
  let size = 0;
  for (const piece of frame) size += piece.length;
  return size;
}
