// Server-sent events as bytes. The data of an event is handed on as it came, several `data` lines
// joined by a line feed, which inside a JSON value can only be white space. An event without data only
// marks a place, from which the stream can be taken up again; a comment keeps it alive and says
// nothing. Chunks are gathered in a list, never joined one by one.

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

export class EventStreamReader {
  readonly #limitBytes: number;
  readonly #listener: EventStreamListener;
  #parts: Buffer[] = [];
  #lineBytes = 0;
  #data: Buffer[] = [];
  #dataBytes = 0;
  #event = 'message';
  #id: string | undefined;
  #retryMs: number | undefined;
  #isOver = false;

  constructor(limitBytes: number, listener: EventStreamListener) {
    this.#limitBytes = limitBytes;
    this.#listener = listener;
  }

  /** After which event the stream would go on; undefined if the server names none. */
  get lastId(): string | undefined {
    return this.#id;
  }

  /** How long the server wants us to wait before we come back. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  push(chunk: Buffer): void {
    if (this.#isOver) return;
    let start = 0;
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, start)) {
      this.#gather(chunk.subarray(start, at));
      this.#line();
      start = at + 1;
      if (this.#isOver) return;
    }
    this.#gather(chunk.subarray(start));
  }

  #gather(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#parts.push(piece);
    this.#lineBytes += piece.length;
    // The field name and its colon are not part of what the limit is about.
    if (this.#lineBytes + this.#dataBytes > this.#limitBytes + 64) this.#tooLarge();
  }

  #tooLarge(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts = [];
    this.#data = [];
    this.#listener.oversized();
  }

  #line(): void {
    const [first] = this.#parts;
    let line = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#lineBytes = 0;
    if (line.at(-1) === carriageReturn) line = line.subarray(0, -1);
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
      if (this.#data.length > 0) this.#data.push(joint);
      this.#data.push(value);
      this.#dataBytes += value.length + 1;
    } else if (name === 'event') {
      this.#event = value.toString('utf8');
    } else if (name === 'id' && !value.includes(0)) {
      this.#id = value.toString('utf8');
    } else if (name === 'retry' && /^\d{1,9}$/.test(value.toString('latin1'))) {
      this.#retryMs = Number(value.toString('latin1'));
    }
  }

  #dispatch(): void {
    const [first] = this.#data;
    const isEmpty = this.#data.every((piece) => piece.length === 0);
    if (first && !isEmpty) {
      const data = this.#data.length === 1 ? first : Buffer.concat(this.#data);
      this.#listener.event({ event: this.#event, data, id: this.#id });
    }
    this.#data = [];
    this.#dataBytes = 0;
    this.#event = 'message';
  }
}
