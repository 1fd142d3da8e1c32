// A socket that carries lines of JSON, in both directions. Lines are limited, and so is what waits for a
// peer that does not read, in bytes and in time: such a peer is disconnected. In an instance, what waits counts
// together with what waits for its other clients. An unexpected error costs this connection only.

import type { Socket } from 'node:net';
import type { OutgoingBudget, Share } from '../downstream/outgoing/outgoing-budget.ts';
import { type Caught, contain } from '../kernel/contain.ts';
import { LineReader } from '../wire/line-reader.ts';

export interface LineChannelParts {
  readonly socket: Socket;
  /** A line that is JSON. */
  readonly heard: (message: unknown) => void;
  /** Once, after the last line. */
  readonly ended: () => void;
  /** An unexpected error while a line was handled. */
  readonly caught: Caught;
  /** What waits for all clients of this process. */
  readonly outgoing?: OutgoingBudget | undefined;
  /** How long a peer may read nothing of what waits for it. */
  readonly stallMs?: number;
}

/** A result of 16 MiB in base64, and room around it. */
const maxLineBytes = 33_554_432;
const maxWaitingBytes = 2 * maxLineBytes;
/** As for the streams of HTTP. */
const usualStallMs = 30_000;

export class LineChannel {
  readonly #parts: LineChannelParts;
  readonly #reader: LineReader;
  readonly #share: Share | undefined;
  #isOver = false;

  constructor(parts: LineChannelParts) {
    this.#parts = parts;
    this.#reader = new LineReader(maxLineBytes, {
      line: (bytes) => this.#line(bytes),
      oversized: () => this.end(),
    });
    const { socket, outgoing, stallMs = usualStallMs } = parts;
    this.#share = outgoing?.share({
      get waitingBytes() {
        return socket.writableLength;
      },
      giveUp: () => this.#giveUp(),
    });
    // Node begins the time anew whenever the peer takes a part of what waits.
    socket.setTimeout(stallMs, () => {
      if (socket.writableLength > 0) this.#giveUp();
    });
    socket.on('data', (chunk: Buffer) => this.#contained(() => this.#reader.push(chunk)));
    socket.on('error', () => this.end());
    socket.on('end', () => this.end());
    socket.on('drain', () => this.#share?.look());
    socket.on('close', () => {
      this.end();
      this.#share?.end();
    });
  }

  /** False if the peer is gone, or reads nothing. */
  send(message: unknown): boolean {
    const { socket } = this.#parts;
    if (this.#isOver) return false;
    const line = `${JSON.stringify(message)}\n`;
    socket.write(line);
    this.#share?.wrote(line.length);
    if (!this.#isOver && socket.writableLength > maxWaitingBytes) this.#giveUp();
    return !this.#isOver;
  }

  /** The peer does not read: what waits for it is dropped. */
  #giveUp(): void {
    this.#parts.socket.destroy();
    this.end();
  }

  /** Sends what waits, as long as the peer reads, and ends the connection. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { socket, ended, caught } = this.#parts;
    socket.end();
    contain(ended, caught);
  }

  /** Something that is not JSON is not our protocol. */
  #line(bytes: Buffer): void {
    if (this.#isOver) return;
    let message: unknown;
    try {
      message = JSON.parse(bytes.toString('utf8'));
    } catch {
      return this.end();
    }
    this.#parts.heard(message);
  }

  #contained(work: () => void): void {
    contain(work, (error) => {
      this.#parts.caught(error);
      this.end();
    });
  }
}
