// A socket that carries lines of JSON, in both directions. Lines are limited, and so is what waits for a
// peer that does not read: such a peer is disconnected. An unexpected error costs this connection only.

import type { Socket } from 'node:net';
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
}

/** A result of 16 MiB in base64, and room around it. */
const maxLineBytes = 33_554_432;
const maxWaitingBytes = 2 * maxLineBytes;

export class LineChannel {
  readonly #parts: LineChannelParts;
  readonly #reader: LineReader;
  #isOver = false;

  constructor(parts: LineChannelParts) {
    this.#parts = parts;
    this.#reader = new LineReader(maxLineBytes, {
      line: (bytes) => this.#line(bytes),
      oversized: () => this.end(),
    });
    const { socket } = parts;
    socket.on('data', (chunk: Buffer) => this.#contained(() => this.#reader.push(chunk)));
    socket.on('error', () => this.end());
    socket.on('end', () => this.end());
    socket.on('close', () => this.end());
  }

  /** False if the peer is gone, or reads nothing. */
  send(message: unknown): boolean {
    const { socket } = this.#parts;
    if (this.#isOver) return false;
    socket.write(`${JSON.stringify(message)}\n`);
    if (socket.writableLength <= maxWaitingBytes) return true;
    this.end();
    return false;
  }

  /** Sends what waits, unless the peer does not read, and ends the connection. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { socket, ended, caught } = this.#parts;
    if (socket.writableLength > maxWaitingBytes) socket.destroy();
    else socket.end();
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
