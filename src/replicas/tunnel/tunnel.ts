// One end of a tunnel: a connection to another replica over the bus, used as if it were a socket. Each end may send as
// much as the other has given it credit for, so that a reader that does not keep up holds up its own tunnel only. A
// message that is missing, a reset, a lost bus or a peer that is gone destroys the tunnel; nothing is sent again.

import { Duplex } from 'node:stream';
import { BusError } from '../bus.ts';
import { creditFrame, dataFrame, endFrame, resetFrame, type TunnelFrame } from './frames.ts';

/** What an end may send before the other has read any of it. */
export const windowBytes = 1_048_576;
/** Far below what a NATS server takes as one message by default (1 MiB); one with a lower limit has smaller ones. */
const chunkBytes = 262_144;
const headBytes = 64;
/** Credit is given in steps, so that small reads do not cost a message each. */
const creditStep = windowBytes / 4;

export interface TunnelParts {
  /** To the other end. */
  readonly send: (frame: Buffer) => void;
  /** What one message may have, in bytes. */
  readonly maxBytes: () => number;
  /** It is over in whatever way; called once. */
  readonly closed: () => void;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly done: (error?: Error | null) => void;
}

export class Tunnel extends Duplex {
  /** Whoever reads the address of a socket finds none. */
  readonly remoteAddress = undefined;
  readonly #parts: TunnelParts;
  #credit = windowBytes;
  #waiting: Waiting | undefined;
  /** Read by our side, and not yet given as credit. */
  #consumed = 0;
  /** Received while our side does not read. */
  #held = 0;
  #isReset = false;
  /** Everything of the other end has come. */
  #hasAll = false;

  constructor(parts: TunnelParts) {
    super({ allowHalfOpen: true, readableHighWaterMark: creditStep });
    this.#parts = parts;
    // Somebody who has given it up does not hear of its end.
    this.on('error', () => {});
  }

  /** A message of the other end. */
  receive(frame: TunnelFrame): void {
    if (this.destroyed) return;
    switch (frame.kind) {
      case 'credit':
        this.#credit += frame.bytes;
        return this.#continue();
      case 'reset':
        this.#isReset = true;
        // What it has sent before its end is still read here.
        if (!this.#hasAll) this.destroy(lost());
        return;
      case 'data':
        return this.#take(frame.bytes);
      case 'end':
        this.#hasAll = true;
        this.push(null);
    }
  }

  #take(bytes: Buffer): void {
    this.#held += bytes.length;
    // More than it was given credit for.
    if (this.#held > 2 * windowBytes) return void this.destroy(lost());
    if (this.push(bytes)) this.#giveCredit();
  }

  #giveCredit(): void {
    this.#consumed += this.#held;
    this.#held = 0;
    if (this.#consumed < creditStep) return;
    this.#parts.send(creditFrame(this.#consumed));
    this.#consumed = 0;
  }

  override _read(): void {
    this.#giveCredit();
  }

  override _write(
    chunk: Buffer | string,
    encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    this.#waiting = { bytes, done };
    this.#continue();
  }

  /** Sends what there is credit for; the rest waits. */
  #continue(): void {
    const { bytes, done } = this.#waiting ?? {};
    if (bytes === undefined || done === undefined) return;
    let at = 0;
    const most = Math.max(1, Math.min(chunkBytes, this.#parts.maxBytes() - headBytes));
    while (at < bytes.length && this.#credit > 0) {
      const end = Math.min(bytes.length, at + Math.min(most, this.#credit));
      this.#parts.send(dataFrame(bytes.subarray(at, end)));
      this.#credit -= end - at;
      at = end;
    }
    if (at < bytes.length) {
      this.#waiting = { bytes: bytes.subarray(at), done };
      return;
    }
    this.#waiting = undefined;
    done();
  }

  override _final(done: () => void): void {
    this.#parts.send(endFrame());
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const { done: written } = this.#waiting ?? {};
    this.#waiting = undefined;
    const isWhole = this.writableFinished && (this.readableEnded || error === null);
    if (!this.#isReset && !isWhole) this.#parts.send(resetFrame());
    written?.(error ?? lost());
    this.#parts.closed();
    done(error);
  }

  // --- what the HTTP code of Node expects of a socket ---------------------------------------

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** Ends it when what was written is sent. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }
}

function lost(): BusError {
  return new BusError('lost', 'the connection to the other replica is lost');
}
