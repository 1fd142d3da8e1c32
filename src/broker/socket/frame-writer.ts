// What is sent on one WebSocket. Everything of one turn of the event loop is written to the socket together: each write
// is a call of the operating system, which takes longer than everything else that is done with a small letter
// (bench/broker). Numbers of one turn go into one frame. Where nobody on the way can look at the bytes, the messages
// of the WebSocket are made here: their bytes need no mask then, and the body of a large letter is not copied.

import type { WebSocket } from 'ws';
import { type ClientFrame, encodeFrame, type HubFrame, maxNumbers } from './frames.ts';
import { type MessageSide, webSocketHead } from './web-socket-head.ts';

/** What is used of a Writable. */
export interface StreamBelow {
  cork(): void;
  uncork(): void;
  write(bytes: Buffer, written?: () => void): unknown;
}

export interface FrameWriterOptions {
  readonly socket: Pick<WebSocket, 'send' | 'readyState' | 'OPEN'>;
  /** What the WebSocket writes to. */
  readonly stream: StreamBelow;
  /** Which side this is; 'masked': the WebSocket makes the messages. */
  readonly side: MessageSide | 'masked';
  /** The frame of the numbers of one turn. */
  readonly numbersFrame: (numbers: readonly number[]) => ClientFrame | HubFrame;
  /** A frame, whichever, has left this process. */
  readonly written?: () => void;
}

/** A body from this length on is written by itself. */
const largeBytes = 16 * 1024;

export class FrameWriter {
  readonly #options: FrameWriterOptions;
  /** At most `maxNumbers`, until the end of the turn. */
  #numbers: number[] = [];
  #isGathering = false;
  #sentBytes = 0;

  constructor(options: FrameWriterOptions) {
    this.#options = options;
  }

  /** Of all frames, also those that have not left this process yet. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  /** Does nothing if the socket is not open. */
  send(frame: ClientFrame | HubFrame, body?: Buffer): void {
    const { socket, stream, side, written } = this.#options;
    if (socket.readyState !== socket.OPEN) return;
    this.#gather();
    if (side === 'masked') {
      const bytes = encodeFrame(frame, body);
      this.#sentBytes += bytes.length;
      return socket.send(bytes, written);
    }
    const apart = body !== undefined && body.length >= largeBytes ? body : undefined;
    const apartBytes = apart?.length ?? 0;
    const bytes = encodeFrame(frame, apart === undefined ? body : undefined, (length) =>
      webSocketHead(length + apartBytes, side),
    );
    this.#sentBytes += bytes.length + apartBytes;
    stream.write(bytes, apart === undefined ? written : undefined);
    if (apart !== undefined) stream.write(apart, written);
  }

  /** It goes into a frame with the others of this turn. */
  number(number: number): void {
    this.#numbers.push(number);
    if (this.#numbers.length >= maxNumbers) this.#sendNumbers();
    else this.#gather();
  }

  /** What was gathered is written now. */
  flush(): void {
    if (!this.#isGathering) return;
    this.#sendNumbers();
    this.#isGathering = false;
    this.#options.stream.uncork();
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#options.stream.cork();
    // After everything that this turn has led to.
    setImmediate(() => this.flush());
  }

  #sendNumbers(): void {
    if (this.#numbers.length === 0) return;
    const numbers = this.#numbers;
    this.#numbers = [];
    this.send(this.#options.numbersFrame(numbers));
  }
}
