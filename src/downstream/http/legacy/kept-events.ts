// The recent events of a legacy session, stored for a client whose connection broke: it reconnects
// with the id of the last event it saw, and gets what followed on the same stream. Messages without
// an open stream wait here too, for the first one that opens. The memory is bounded in number and
// bytes, including overhead; the oldest is dropped first, but the newest message is always kept,
// whatever its size, because it may be the answer that the client reconnects for. All sessions
// share one budget of bytes.

import type { Frame } from '../../../wire/frames.ts';
import { byteLength, ownCopy } from '../frame-bytes.ts';

/** The bytes that all sessions keep together. Whenever they grow, it is asked whether they are too many. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #grown: () => void;
  #bytes = 0;

  constructor(maxBytes: number, grown: () => void) {
    this.#maxBytes = maxBytes;
    this.#grown = grown;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isExceeded(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (bytes > 0) this.#grown();
  }
}

export interface KeptEvent {
  /** The stream it belongs to; undefined while it waits for one. */
  readonly stream: string | undefined;
  /** Its place on the stream. */
  readonly place: number;
  readonly frame: Frame;
  /** Of those that wait, one of a kind is enough. */
  readonly kind: string | undefined;
}

interface StoredEvent extends KeptEvent {
  readonly bytes: number;
}

/** What a kept message takes beside its bytes, as text and in a buffer; measured, and rounded up. */
export const besideText = 256;
const besideBuffer = 512;

export interface KeptEventsPolicy {
  readonly keptEvents: number;
  readonly keptBytes: number;
}

export class KeptEvents {
  readonly #policy: KeptEventsPolicy;
  readonly #budget: ByteBudget;
  #events: StoredEvent[] = [];
  #bytes = 0;

  constructor(policy: KeptEventsPolicy, budget: ByteBudget) {
    this.#policy = policy;
    this.#budget = budget;
  }

  keep(stream: string, place: number, frame: Frame): void {
    this.#add(stream, place, frame, undefined);
  }

  /** Keeps what waits for a stream to open; of messages of one kind one. */
  wait(frame: Frame, kind?: string): void {
    if (kind !== undefined && this.#events.some((event) => event.kind === kind)) return;
    this.#add(undefined, 0, frame, kind);
  }

  #add(stream: string | undefined, place: number, frame: Frame, kind: string | undefined): void {
    const length = byteLength(frame);
    const own = ownCopy(frame, length);
    const isText = own.every((piece) => typeof piece === 'string');
    const bytes = length + (isText ? besideText : besideBuffer);
    this.#events.push({ stream, place, frame: own, bytes, kind });
    this.#count(bytes);
    while (this.#events.length > 1 && this.#isFull) {
      const oldest = this.#events.shift();
      if (oldest !== undefined) this.#count(-oldest.bytes);
    }
  }

  /** What followed on this stream. */
  after(stream: string, place: number): readonly KeptEvent[] {
    return this.#events.filter((event) => event.stream === stream && event.place > place);
  }

  /** Is anything of this stream still here? */
  has(stream: string): boolean {
    return this.#events.some((event) => event.stream === stream);
  }

  /** Takes out what waits for a stream. */
  takeWaiting(): readonly Frame[] {
    const waiting = this.#events.filter(({ stream }) => stream === undefined);
    if (waiting.length === 0) return [];
    this.#events = this.#events.filter(({ stream }) => stream !== undefined);
    for (const { bytes } of waiting) this.#count(-bytes);
    return waiting.map(({ frame }) => frame);
  }

  /** Takes out what these streams do not need, for whoever keeps it from now on. */
  takeBut(needed: ReadonlySet<string>): readonly KeptEvent[] {
    const [kept, given]: [StoredEvent[], StoredEvent[]] = [[], []];
    for (const event of this.#events) {
      const { stream } = event;
      (stream !== undefined && needed.has(stream) ? kept : given).push(event);
    }
    this.#events = kept;
    for (const { bytes } of given) this.#count(-bytes);
    return given;
  }

  /** What another process has kept until now. */
  restore(events: readonly KeptEvent[]): void {
    for (const { stream, place, frame, kind } of events) {
      if (stream === undefined) this.wait(frame, kind);
      else this.#add(stream, place, frame, undefined);
    }
  }

  /** This stream is not resumed any more. */
  forget(stream: string): void {
    for (const event of this.#events) if (event.stream === stream) this.#count(-event.bytes);
    this.#events = this.#events.filter((event) => event.stream !== stream);
  }

  clear(): void {
    this.#events = [];
    this.#count(-this.#bytes);
  }

  get #isFull(): boolean {
    const { keptEvents, keptBytes } = this.#policy;
    return this.#events.length > keptEvents || this.#bytes > keptBytes;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.add(bytes);
  }
}
