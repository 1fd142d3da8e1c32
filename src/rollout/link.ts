// The link between an incumbent and its successor: messages in order over one stream, each with a kind, a head in
// JSON and payload bytes that pass unchanged. It knows nothing of what the messages mean. Whatever is wrong with the
// stream, with a frame or with a message ends the link with a LinkError, never the process; what is sent on a link
// that has ended is dropped, so whoever relies on it watches `closed`. link-frames.ts has the form of a frame.

import type { Duplex } from 'node:stream';
import {
  brokenLink,
  FrameReader,
  frameStart,
  type JsonValue,
  LinkError,
  type LinkMessage,
} from './link-frames.ts';

export { type JsonValue, LinkError } from './link-frames.ts';

export interface Link extends Disposable {
  /**
   * `kind` names the part that uses it ('child', 'store', 'bus', 'stdio', 'rollout', …). The payload is not copied
   * and must not be changed afterwards. Dropped if the link has ended; never throws for what the other side does.
   */
  send(kind: string, head: JsonValue, payload?: Uint8Array): void;
  /**
   * One listener for each kind; messages that came before the first one was set wait (bounded), and are delivered
   * after this call. After it was disposed of, messages of the kind are dropped until another one is set. A listener
   * that throws ends the link.
   */
  on(kind: string, heard: (head: unknown, payload: Buffer) => void): Disposable;
  readonly isOpen: boolean;
  /** Resolves when the other side is gone. One that this side has closed: when the other one has read all that was sent. */
  readonly closed: Promise<void>;
  /** Why it has ended; undefined: it is open, or one side has closed it between two messages. */
  readonly fault: LinkError | undefined;
  /** Ends it at once because of something that came over it. */
  fail(error: unknown): void;
}

/** What may be sent and not taken yet, or come and not heard yet. */
const maxWaitingBytes = 268_435_456;
/** A message that waits costs more than its bytes. */
const messageBytes = 256;

export function linkOver(stream: Duplex): Link {
  return new StreamLink(stream);
}

type Heard = (head: unknown, payload: Buffer) => void;

class StreamLink implements Link {
  readonly closed: Promise<void>;
  readonly #stream: Duplex;
  readonly #reader = new FrameReader((message) => this.#receive(message));
  /** One for each kind of our own. Null: there was one, and it was disposed of. */
  readonly #listeners = new Map<string, Heard | null>();
  /** Of kinds without a listener, or whose waiting messages are being delivered; at most `maxWaitingBytes` in all. */
  readonly #waiting = new Map<string, LinkMessage[]>();
  #waitingBytes = 0;
  #isOpen = true;
  #fault: LinkError | undefined;
  #resolveClosed = () => {};

  constructor(stream: Duplex) {
    this.#stream = stream;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    stream.on('data', (chunk: Buffer) => this.#came(chunk));
    stream.once('end', () => this.#ended());
    stream.on('error', (error) => this.#end(brokenLink(error)));
    stream.once('close', () => this.#ended());
    if (stream.destroyed) this.#ended();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get fault(): LinkError | undefined {
    return this.#fault;
  }

  send(kind: string, head: JsonValue, payload?: Uint8Array): void {
    if (!this.#isOpen) return;
    const stream = this.#stream;
    const bytes = payload?.length ?? 0;
    let start: Buffer;
    try {
      start = frameStart(kind, head, bytes);
    } catch (error) {
      if (!(error instanceof LinkError)) throw error;
      return this.#end(error);
    }
    if (stream.writableLength + start.length + bytes > maxWaitingBytes) {
      return this.#end(new LinkError('overloaded', 'the other version does not read'));
    }
    stream.cork();
    stream.write(start);
    if (payload !== undefined && bytes > 0) stream.write(payload);
    stream.uncork();
  }

  on(kind: string, heard: Heard): Disposable {
    if (this.#listeners.get(kind)) throw new TypeError(`${kind} messages are listened to already`);
    this.#listeners.set(kind, heard);
    // Whoever listens may still be in the middle of its beginning.
    if (this.#waiting.has(kind)) queueMicrotask(() => this.#deliverWaiting(kind));
    return {
      [Symbol.dispose]: () => {
        if (this.#listeners.get(kind) === heard) this.#listeners.set(kind, null);
      },
    };
  }

  /** Everything that was sent still arrives; nothing more is heard here. */
  [Symbol.dispose](): void {
    if (this.#isOpen) this.#end(undefined);
  }

  fail(error: unknown): void {
    const detail = 'a message cannot be used';
    this.#end(error instanceof LinkError ? error : new LinkError('bad_message', detail, error));
  }

  #came(chunk: Buffer): void {
    if (!this.#isOpen) return;
    try {
      this.#reader.add(chunk);
    } catch (error) {
      this.fail(error);
    }
  }

  #receive(message: LinkMessage): void {
    const { kind, head, payload } = message;
    const listener = this.#listeners.get(kind);
    if (listener === null) return;
    const waiting = this.#waiting.get(kind);
    if (listener !== undefined && waiting === undefined) return listener(head, payload);
    this.#waitingBytes += messageBytes + payload.length;
    if (this.#waitingBytes > maxWaitingBytes) {
      throw new LinkError('overloaded', `nobody listens for ${kind} messages`);
    }
    if (waiting === undefined) this.#waiting.set(kind, [message]);
    else waiting.push(message);
  }

  /** In order, also if more come meanwhile. What came before the other side has gone is delivered, too. */
  #deliverWaiting(kind: string): void {
    const waiting = this.#waiting.get(kind) ?? [];
    try {
      for (const { head, payload } of waiting) {
        this.#waitingBytes -= messageBytes + payload.length;
        // Given up meanwhile, by itself or because the link was closed here.
        if (!this.#waiting.has(kind)) return;
        this.#listeners.get(kind)?.(head, payload);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#waiting.delete(kind);
    }
  }

  /** The other side has gone. */
  #ended(): void {
    if (this.#isOpen && !this.#reader.isBetweenFrames) {
      return this.#end(new LinkError('cut', 'it was cut within a message'));
    }
    this.#isOpen = false;
    this.#stream.end();
    this.#resolveClosed();
  }

  #end(fault: LinkError | undefined): void {
    if (this.#isOpen) {
      this.#isOpen = false;
      this.#fault = fault;
      this.#reader.stop();
      this.#waiting.clear();
    }
    if (fault !== undefined) this.#stream.destroy();
    // What still comes is read and dropped until the other side has read everything and ended, too: were this one gone
    // before, the other side's next message would fail, and what it had not read yet be lost with its stream.
    else this.#stream.end();
  }
}
