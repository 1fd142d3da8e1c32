// Cuts a stream of bytes into lines, only at `\n`: a lone `\r` is white space inside a JSON text,
// and a chunk may end anywhere, also inside a character. A line inside one chunk is passed on as a
// part of that chunk, without a copy; one that spans several chunks is collected as it arrives.
// Memory is bounded by the limit however the bytes arrive, and a line beyond the limit is reported
// once and then discarded as it comes. Chunks must not be written to after they were pushed; code
// that keeps a line for long must copy it, because it keeps its chunk alive.

import { GrowingBuffer } from './growing-buffer.ts';

export interface LineSink {
  line(bytes: Buffer): void;
  /** The line is longer than the limit; `head` is its first 4096 bytes at most. */
  oversized(head: Buffer, limitBytes: number): void;
  /** Such a line has ended; `tail` is its last 256 bytes at most. */
  oversizedEnd?(tail: Buffer): void;
}

const newline = 0x0a;
const headBytes = 4096;
const tailBytes = 256;

export class LineReader {
  readonly #limitBytes: number;
  readonly #sink: LineSink;
  /** The beginning of a line that has not ended. */
  readonly #held: GrowingBuffer;
  /** The end of the line that is being discarded. */
  #discardedTail: Buffer | undefined;
  #isStopped = false;

  constructor(limitBytes: number, sink: LineSink) {
    this.#limitBytes = limitBytes;
    this.#sink = sink;
    this.#held = new GrowingBuffer(limitBytes);
  }

  /** How much of an unfinished line is in memory; never more than the limit. */
  get heldBytes(): number {
    return this.#held.bytes;
  }

  /** Whether the rest of a line beyond the limit is being discarded. */
  get isDiscarding(): boolean {
    return this.#discardedTail !== undefined;
  }

  /** Returns how many bytes were taken: all, unless `stop` was called. */
  push(chunk: Buffer): number {
    let start = 0;
    this.#isStopped = false;
    for (;;) {
      const at = chunk.indexOf(newline, start);
      if (at < 0) break;
      this.#finish(chunk.subarray(start, at));
      start = at + 1;
      if (this.#isStopped) return start;
    }
    if (start < chunk.length) this.#hold(start === 0 ? chunk : chunk.subarray(start));
    return chunk.length;
  }

  /**
   * Called while a line is delivered: no more of this chunk is read. The caller pushes the rest
   * later.
   */
  stop(): void {
    this.#isStopped = true;
  }

  /** Takes the beginning of a line that has not ended, for another reader of the same stream. */
  takeHeld(): Buffer {
    return this.#held.take();
  }

  /** The stream begins within a line beyond the limit, which was reported: the rest of it is discarded. */
  discardRest(): void {
    this.#discardedTail = Buffer.alloc(0);
  }

  /** End of the stream. The rest that no newline has ended, null if there is none. */
  end(): Buffer | null {
    this.#discardedTail = undefined;
    const rest = this.#held.take();
    return isBlank(rest) ? null : rest;
  }

  #finish(rest: Buffer): void {
    if (this.#discardedTail !== undefined) {
      const tail = lastBytes(this.#discardedTail, rest);
      this.#discardedTail = undefined;
      this.#sink.oversizedEnd?.(tail);
    } else if (this.#held.bytes + rest.length > this.#limitBytes) {
      const tail = lastBytes(this.#held.view, rest);
      this.#sink.oversized(this.#takeHead(rest), this.#limitBytes);
      this.#sink.oversizedEnd?.(tail);
    } else {
      const line = this.#held.bytes === 0 ? rest : this.#held.take(rest);
      if (!isBlank(line)) this.#sink.line(line);
    }
  }

  #hold(piece: Buffer): void {
    if (this.#discardedTail !== undefined) {
      this.#discardedTail = lastBytes(this.#discardedTail, piece);
    } else if (this.#held.bytes + piece.length > this.#limitBytes) {
      this.#discardedTail = lastBytes(this.#held.view, piece);
      this.#sink.oversized(this.#takeHead(piece), this.#limitBytes);
    } else {
      this.#held.add(piece);
    }
  }

  /** A copy of the line's beginning; nothing is held afterwards. */
  #takeHead(rest: Buffer): Buffer {
    const head = firstBytes(this.#held.view, rest);
    this.#held.clear();
    return head;
  }
}

/** The first bytes of the two in a row, copied. */
function firstBytes(before: Buffer, after: Buffer): Buffer {
  const [one, other] = [before.subarray(0, headBytes), after.subarray(0, headBytes)];
  return Buffer.concat([one, other]).subarray(0, headBytes);
}

/** The last bytes of the two in a row, copied. */
function lastBytes(before: Buffer, after: Buffer): Buffer {
  if (after.length >= tailBytes) return Buffer.from(after.subarray(after.length - tailBytes));
  return Buffer.concat([before.subarray(-tailBytes), after]).subarray(-tailBytes);
}

/** Nothing but space; also what `\r\n` leaves of an empty line. */
function isBlank(line: Buffer): boolean {
  for (let at = 0; at < line.length; at++) {
    const byte = line[at];
    if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}
