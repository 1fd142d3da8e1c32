// One keep-alive connection of HTTP/1.1, as lean as can be: one request at a time is written as
// bytes that were made beforehand, and its response comes back as the bytes of its body, whether it
// came in one piece or in chunks. For crowds of clients, where a real HTTP client would be the load.

import { connect, type Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');
const crlf = Buffer.from('\r\n');

export interface LeanAnswer {
  readonly head: string;
  readonly body: Buffer;
}

export class LeanSocket {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #waiting:
    | { readonly resolve: (answer: LeanAnswer) => void; readonly reject: (error: Error) => void }
    | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#push(chunk));
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the connection was closed')));
  }

  static open(port: number): Promise<LeanSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new LeanSocket(socket)));
      socket.once('error', reject);
    });
  }

  /** The next may be sent when this one is answered. */
  send(request: string): Promise<LeanAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #push(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = this.#received.indexOf(headEnd);
    if (end === -1) return;
    const head = this.#received.toString('latin1', 0, end);
    const start = end + headEnd.length;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const body =
      length === undefined
        ? unchunked(this.#received, start)
        : whole(this.#received, start, Number(length));
    if (body === undefined) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#received = Buffer.alloc(0);
    waiting?.resolve({ head, body });
  }
}

function whole(bytes: Buffer, start: number, length: number): Buffer | undefined {
  if (bytes.length > start + length) throw new Error('more came than the response had said');
  return bytes.length < start + length ? undefined : bytes.subarray(start);
}

/** Undefined while the last chunk is not there yet. */
function unchunked(bytes: Buffer, start: number): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (let at = start; ; ) {
    const end = bytes.indexOf(crlf, at);
    if (end === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    const piece = end + crlf.length;
    if (bytes.length < piece + size + crlf.length) return undefined;
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(piece, piece + size));
    at = piece + size + crlf.length;
  }
}

/** A POST to /mcp. */
export function leanPost(body: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = Buffer.byteLength(body);
  return `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}content-length: ${length}\r\n\r\n${body}`;
}
