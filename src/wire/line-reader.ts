// Cuts a stream of bytes into lines, on `\n` and nothing else: a lone `\r` is space inside a JSON
// text, and a chunk may end anywhere, also inside a character. A line that lies in one chunk is
// handed on as a piece of that chunk, uncopied; one that spans several is joined once, when its
// newline arrives. What is held is bounded by the limit however the bytes drip in, and a line
// beyond the limit is reported once and then thrown away as it comes. Chunks must not be written to
// after they were pushed; whoever keeps a line for long copies it, since it holds its chunk.

export interface LineSink {
  line(bytes: Buffer): void;
  /** The line is longer than the limit; `head` is its first 4096 bytes at most. */
  oversized(head: Buffer, limitBytes: number): void;
  /** Such a line has ended; `tail` is its last 256 bytes at most. */
  oversizedEnd?(tail: Buffer): void;
}

const newline = 0x0a;
const nothing = Buffer.alloc(0);
const headBytes = 4096;
const tailBytes = 256;
/** Pieces smaller than this are gathered in blocks of this size, lest a drip hold a chunk per byte. */
const blockBytes = 4096;

export class LineReader {
  readonly #limitBytes: number;
  readonly #sink: LineSink;
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  /** What is still free in the last piece, if that is a block of ours. */
  #roomBytes = 0;
  /** The end of the line that is being thrown away. */
  #discardedTail: Buffer | undefined;
  #isStopped = false;

  constructor(limitBytes: number, sink: LineSink) {
    this.#limitBytes = limitBytes;
    this.#sink = sink;
  }

  /** How much of an unfinished line is in memory; never more than the limit. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Is the rest of a line beyond the limit being thrown away? */
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

  /** Called while a line is handed over: no more of this chunk is read. The caller pushes the rest later. */
  stop(): void {
    this.#isStopped = true;
  }

  /** End of the stream. The rest that no newline has ended, null if there is none. */
  end(): Buffer | null {
    this.#discardedTail = undefined;
    const rest = this.#heldBytes === 0 ? null : this.#join(nothing);
    return rest === null || isBlank(rest) ? null : rest;
  }

  #finish(rest: Buffer): void {
    if (this.#discardedTail !== undefined) {
      const tail = lastBytes(this.#discardedTail, rest);
      this.#discardedTail = undefined;
      this.#sink.oversizedEnd?.(tail);
    } else if (this.#heldBytes + rest.length > this.#limitBytes) {
      const tail = this.#tailWith(rest);
      this.#sink.oversized(this.#takeHead(rest), this.#limitBytes);
      this.#sink.oversizedEnd?.(tail);
    } else {
      const line = this.#heldBytes === 0 ? rest : this.#join(rest);
      if (!isBlank(line)) this.#sink.line(line);
    }
  }

  #hold(piece: Buffer): void {
    if (this.#discardedTail !== undefined) {
      this.#discardedTail = lastBytes(this.#discardedTail, piece);
    } else if (this.#heldBytes + piece.length > this.#limitBytes) {
      this.#discardedTail = this.#tailWith(piece);
      this.#sink.oversized(this.#takeHead(piece), this.#limitBytes);
    } else {
      this.#append(piece);
      this.#heldBytes += piece.length;
    }
  }

  /** The first piece is not copied either: most lines that are cut are cut once. */
  #append(piece: Buffer): void {
    if (this.#heldBytes === 0 || piece.length >= blockBytes) {
      this.#sealBlock();
      this.#pieces.push(piece);
      return;
    }
    for (let from = 0; from < piece.length; ) {
      if (this.#roomBytes === 0) {
        this.#pieces.push(Buffer.allocUnsafeSlow(blockBytes));
        this.#roomBytes = blockBytes;
      }
      const copied = piece.copy(this.#lastPiece(), blockBytes - this.#roomBytes, from);
      this.#roomBytes -= copied;
      from += copied;
    }
  }

  #sealBlock(): void {
    if (this.#roomBytes === 0) return;
    const block = this.#lastPiece();
    this.#pieces[this.#pieces.length - 1] = block.subarray(0, blockBytes - this.#roomBytes);
    this.#roomBytes = 0;
  }

  #lastPiece(): Buffer {
    return this.#pieces[this.#pieces.length - 1] as Buffer;
  }

  /** Everything held plus the rest as one buffer; nothing is held afterwards. */
  #join(rest: Buffer): Buffer {
    this.#sealBlock();
    this.#pieces.push(rest);
    const line = Buffer.concat(this.#pieces, this.#heldBytes + rest.length);
    this.#letGo();
    return line;
  }

  /** A copy of the end of what is held and this piece. */
  #tailWith(piece: Buffer): Buffer {
    this.#sealBlock();
    let tail = lastBytes(nothing, piece);
    for (let at = this.#pieces.length - 1; at >= 0 && tail.length < tailBytes; at--) {
      tail = lastBytes(this.#pieces[at] as Buffer, tail);
    }
    return tail;
  }

  /** A copy of the line's beginning; nothing is held afterwards. */
  #takeHead(rest: Buffer): Buffer {
    this.#sealBlock();
    this.#pieces.push(rest);
    const head = Buffer.concat(this.#pieces, Math.min(headBytes, this.#heldBytes + rest.length));
    this.#letGo();
    return head;
  }

  #letGo(): void {
    this.#pieces = [];
    this.#heldBytes = 0;
  }
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
