// One connection that is asked again and again, and the time from the last byte of a request to the first of its
// answer, with as little of our own in between as possible.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Timed {
  readonly ms: number;
  readonly text: string;
}

export class QuickLine implements Disposable {
  readonly #socket: Socket;
  #heard: ((timed: Timed) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;
  #text = '';
  #askedAt = 0;
  #firstAt = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#hear(text));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('the gateway has closed the connection')));
  }

  static async open(port: number): Promise<QuickLine> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new QuickLine(socket);
  }

  /** One at a time. */
  ask(bytes: Buffer): Promise<Timed> {
    return new Promise((resolve, reject) => {
      this.#heard = resolve;
      this.#failed = reject;
      this.#text = '';
      this.#askedAt = performance.now();
      this.#socket.write(bytes);
    });
  }

  #hear(text: string): void {
    if (this.#text === '') this.#firstAt = performance.now();
    this.#text += text;
    const end = this.#text.indexOf('\r\n\r\n') + 4;
    if (end < 4) return;
    const length = /^content-length: (\d+)\r$/im.exec(this.#text.slice(0, end))?.[1];
    if (length === undefined) return this.#failed?.(new Error(`no length: ${this.#text}`));
    if (this.#text.length < end + Number(length)) return;
    this.#heard?.({ ms: this.#firstAt - this.#askedAt, text: this.#text });
  }

  [Symbol.dispose](): void {
    this.#failed = undefined;
    this.#socket.destroy();
  }
}
