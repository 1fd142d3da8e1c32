// A response as a stream of server-sent events. It sends heartbeats while there is nothing else,
// and it is closed when its client does not keep up: waiting data is bounded, for each stream and
// in total (outgoing-budget), and a client that reads nothing from one heartbeat to the next counts
// as gone. The owner of the stream knows its content, and whether it can be resumed elsewhere.

import type { ServerResponse } from 'node:http';
import { contain } from '../../../kernel/contain.ts';
import type { Frame } from '../../../wire/frames.ts';
import type { Share, Waiter } from '../../outgoing/outgoing-budget.ts';
import type { HeaderList } from '../answers.ts';
import { byteLength, writeFrame } from '../frame-bytes.ts';
import type { Edge } from '../http-context.ts';

const streamHead = [
  'Content-Type',
  'text/event-stream',
  'Cache-Control',
  'no-cache',
  'X-Accel-Buffering',
  'no',
];

const nothing: ReadonlyMap<string, Frame> = new Map();

export class EventStream implements Waiter {
  /** Sends what was held back, once the client keeps up again. */
  released: (frame: Frame) => void = (frame) => this.message(frame);
  /** Whether its client has used up its share of waiting data. */
  isSpent = false;
  readonly #res: ServerResponse;
  readonly #edge: Edge;
  readonly #gone: (stream: EventStream) => void;
  readonly #share: Share;
  /** Of each kind the last; there are three kinds. */
  #held: Map<string, Frame> | undefined;
  #isFull = false;
  #heartbeat: Disposable | undefined;
  #waitingBytes = 0;
  #isOpen = true;

  /** `gone` is called once, when the stream has ended in whatever way. */
  constructor(
    res: ServerResponse,
    edge: Edge,
    more: HeaderList,
    gone: (stream: EventStream) => void,
  ) {
    this.#res = res;
    this.#edge = edge;
    this.#gone = gone;
    this.#share = edge.outgoing.share(this);
    res.writeHead(200, more.length === 0 ? streamHead : [...streamHead, ...more]);
    // The client sees at once that there is a stream; the first messages are sent with the head.
    res.cork();
    res.flushHeaders();
    queueMicrotask(() => res.uncork());
    const caught = (error: unknown) => edge.front.caught(error);
    res.on('drain', () => contain(() => this.#drained(), caught));
    res.on('close', () => contain(() => this.#over(), caught));
    if (res.closed) this.#over();
    else this.#beatLater();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get waitingBytes(): number {
    return this.#res.writableLength;
  }

  giveUp(): void {
    this.isSpent = true;
    this.#cut();
  }

  /** What is held back, by kind. */
  get held(): ReadonlyMap<string, Frame> {
    return this.#held ?? nothing;
  }

  /** Holds a message back while the client does not keep up; of each kind one. False if it does. */
  holds(kind: string | undefined, frame: Frame): boolean {
    if (kind === undefined || !this.#isFull || !this.#isOpen) return false;
    this.#held ??= new Map();
    this.#held.set(kind, frame);
    return true;
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
    const bytes = byteLength(event);
    if (!writeFrame(this.#res, event, bytes)) this.#isFull = true;
    this.#share.wrote(bytes);
  }

  #drained(): void {
    this.#isFull = false;
    const held = this.#held;
    this.#held = undefined;
    for (const frame of held?.values() ?? []) this.released(frame);
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
    // What was written before a regular end may still wait.
    if (this.#res.closed || this.#res.destroyed) this.#share.end();
    else this.#res.on('close', () => this.#share.end());
    this.#gone(this);
  }
}
