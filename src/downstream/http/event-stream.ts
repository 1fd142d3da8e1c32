// A response as a stream of server-sent events. It shows a sign of life while there is nothing to
// say, and it is cut when its client does not keep up: what waits to be read is bounded, and a
// client that reads nothing from one heartbeat to the next is taken for gone. What is on the stream,
// and whether it can be taken up again elsewhere, is for its owner to know.

import type { ServerResponse } from 'node:http';
import { contain } from '../../kernel/contain.ts';
import type { Frame } from '../contract.ts';
import type { HeaderList } from './answers.ts';
import type { Edge } from './edge.ts';
import { byteLength, writeFrame } from './frame-bytes.ts';

const streamHead = [
  'Content-Type',
  'text/event-stream',
  'Cache-Control',
  'no-cache',
  'X-Accel-Buffering',
  'no',
];

export class EventStream {
  readonly #res: ServerResponse;
  readonly #edge: Edge;
  readonly #gone: (stream: EventStream) => void;
  #heartbeat: Disposable | undefined;
  #waitingBytes = 0;
  #isOpen = true;

  /** `gone` is told once, when the stream has ended in whatever way. */
  constructor(
    res: ServerResponse,
    edge: Edge,
    more: HeaderList,
    gone: (stream: EventStream) => void,
  ) {
    this.#res = res;
    this.#edge = edge;
    this.#gone = gone;
    res.writeHead(200, more.length === 0 ? streamHead : [...streamHead, ...more]);
    // The client learns at once that there is a stream; what is said right away goes along with it.
    res.cork();
    res.flushHeaders();
    queueMicrotask(() => res.uncork());
    const { front } = edge;
    res.on('close', () =>
      contain(
        () => this.#over(),
        (error) => front.caught(error),
      ),
    );
    if (res.closed) this.#over();
    else this.#beatLater();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** A message as an event. */
  message(frame: Frame, id?: string): void {
    if (this.#isOpen && this.#res.writableLength > this.#edge.limits.streamBytes) this.#cut();
    else this.repeat(frame, id);
  }

  /** The same, whatever waits already: what is repeated is bounded by what was kept. */
  repeat(frame: Frame, id?: string): void {
    const head = id === undefined ? 'event: message\ndata: ' : `event: message\nid: ${id}\ndata: `;
    this.#write([head, ...frame, '\n\n']);
  }

  /** Text in the format of the stream, whole events or comments. */
  raw(text: string): void {
    this.#write([text]);
  }

  /** The regular end: what was written is still sent. */
  end(): void {
    if (!this.#isOpen) return;
    this.#res.end();
    this.#over();
  }

  #write(event: Frame): void {
    if (!this.#isOpen) return;
    writeFrame(this.#res, event, byteLength(event));
  }

  #beatLater(): void {
    this.#heartbeat = this.#edge.deadlines.after(this.#edge.limits.heartbeatMs, () => this.#beat());
  }

  #beat(): void {
    const waitingBytes = this.#res.writableLength;
    if (waitingBytes > 0 && waitingBytes >= this.#waitingBytes && this.#waitingBytes > 0) {
      return this.#cut();
    }
    this.#waitingBytes = waitingBytes;
    if (waitingBytes === 0) this.#res.write(': keep-alive\n\n');
    this.#beatLater();
  }

  #cut(): void {
    this.#res.destroy();
    this.#over();
  }

  #over(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#heartbeat?.[Symbol.dispose]();
    this.#gone(this);
  }
}
