// Server-sent events as bytes. The data of an event is passed on unchanged, several `data` lines
// joined by a line feed, which inside a JSON value can only be white space. An event without data
// only marks a position from which the stream can be resumed, and so does one with an empty object: servers of the
// official SDK store it for the beginning of a stream, and may send it when the stream is resumed. A comment only keeps
// it alive. An event counts when its empty line has arrived: one that was cut off before has no position.

const emptyObject = Buffer.from('{}');

export interface StreamEvent {
  readonly event: string;
  readonly data: Buffer;
  readonly id: string | undefined;
}

export interface EventStreamListener {
  event(event: StreamEvent): void;
  /** An event went past the limit; the rest of the stream is of no use. */
  oversized(): void;
}

const lineFeed = 10;
const carriageReturn = 13;
const joint = Buffer.from('\n');
const byteOrderMark = Buffer.from('\ufeff');
/** The field name and its colon are not part of what the limit is about. */
const nameBytes = 64;

export class EventStreamReader {
  readonly #limitBytes: number;
  readonly #listener: EventStreamListener;
  readonly #lineParts = new Gathering();
  readonly #data = new Gathering();
  #event = '';
  /** Of the event that is being read; it counts when the event is complete. */
  #nextId: string | undefined;
  #id: string | undefined;
  #retryMs: number | undefined;
  #isFirstLine = true;
  /** The last line ended in a carriage return: a line feed right behind it belongs to that end. */
  #isAfterReturn = false;
  #isOver = false;

  constructor(limitBytes: number, listener: EventStreamListener) {
    this.#limitBytes = limitBytes;
    this.#listener = listener;
  }

  /** The last complete event, after which the stream would go on; undefined if it has no id. */
  get lastId(): string | undefined {
    return this.#id;
  }

  /** How long the server wants us to wait before we reconnect. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** A line ends in LF, CRLF or CR. */
  push(chunk: Buffer): void {
    if (this.#isOver || chunk.length === 0) return;
    let start = this.#isAfterReturn && chunk[0] === lineFeed ? 1 : 0;
    this.#isAfterReturn = false;
    let feed = chunk.indexOf(lineFeed, start);
    let back = chunk.indexOf(carriageReturn, start);
    while (feed !== -1 || back !== -1) {
      const isFeed = back === -1 || (feed !== -1 && feed < back);
      const end = isFeed ? feed : back;
      this.#gather(chunk.subarray(start, end));
      if (this.#isOver) return;
      this.#line();
      start = end + 1;
      if (!isFeed) {
        this.#isAfterReturn = start === chunk.length;
        if (chunk[start] === lineFeed) start += 1;
        back = chunk.indexOf(carriageReturn, start);
      }
      if (feed !== -1 && feed < start) feed = chunk.indexOf(lineFeed, start);
    }
    this.#gather(chunk.subarray(start));
  }

  #gather(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#lineParts.push(piece);
    if (this.#lineParts.bytes + this.#data.bytes > this.#limitBytes + nameBytes) this.#tooLarge();
  }

  #tooLarge(): void {
    this.#isOver = true;
    this.#lineParts.take();
    this.#data.take();
    this.#listener.oversized();
  }

  #line(): void {
    let line = this.#lineParts.take();
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (line.indexOf(byteOrderMark) === 0) line = line.subarray(byteOrderMark.length);
    }
    if (line.length === 0) return this.#dispatch();
    const colon = line.indexOf(58);
    if (colon === 0) return;
    const name = line.toString('latin1', 0, colon === -1 ? line.length : colon);
    let value = colon === -1 ? line.subarray(line.length) : line.subarray(colon + 1);
    if (value.at(0) === 32) value = value.subarray(1);
    this.#field(name, value);
  }

  #field(name: string, value: Buffer): void {
    if (name === 'data') {
      if (this.#data.count > 0) this.#data.push(joint);
      this.#data.push(value);
    } else if (name === 'event') {
      this.#event = value.toString('utf8');
    } else if (name === 'id' && !value.includes(0)) {
      this.#nextId = value.toString('utf8');
    } else if (name === 'retry' && /^\d{1,9}$/.test(value.toString('latin1'))) {
      this.#retryMs = Number(value.toString('latin1'));
    }
  }

  #dispatch(): void {
    this.#id = this.#nextId;
    const data = this.#data.take();
    const event = this.#event === '' ? 'message' : this.#event;
    this.#event = '';
    if (data.length > 0 && !data.equals(emptyObject)) {
      this.#listener.event({ event, data, id: this.#id });
    }
  }
}

/**
 * So many pieces are kept separately; then they are joined, so that each does not cost more than
 * its bytes.
 */
const mostPieces = 1024;

/** Pieces that will be one. */
class Gathering {
  #joined: Buffer[] = [];
  #pieces: Buffer[] = [];
  /** Of all pieces. */
  bytes = 0;
  count = 0;

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.bytes += piece.length;
    this.count += 1;
    if (this.#pieces.length < mostPieces) return;
    this.#joined.push(Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  /** The whole of it; nothing is left. */
  take(): Buffer {
    const pieces = this.#joined.length === 0 ? this.#pieces : [...this.#joined, ...this.#pieces];
    this.#joined = [];
    this.#pieces = [];
    this.bytes = 0;
    this.count = 0;
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }
}
