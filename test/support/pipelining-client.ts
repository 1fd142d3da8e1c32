// A client of the HTTP front that keeps its connection, sends several requests without waiting for answers, and cuts what
// it sends into pieces at any byte. It does what the protocol says of a connection that is closed with an answer: what it
// has sent after that request was not begun, and is sent again on another connection. Everything else is a finding.

import { connect, type Socket } from 'node:net';
import { modernBody, modernHeaders } from './http-front.ts';
import { until } from './until.ts';

/** A number below this one. */
export type Dice = (below: number) => number;

export function diceFrom(seed: number): Dice {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export class PipeliningClient {
  /** What must not happen. */
  readonly findings: string[] = [];
  /** The `by` of each answer, by the id of its request. */
  readonly answers = new Map<string, string>();
  closes = 0;
  readonly #port: number;
  readonly #name: string;
  readonly #dice: Dice;
  /** Sent, in order, and not answered. */
  #sent: string[] = [];
  #socket: Socket | undefined;
  #text = '';
  #count = 0;

  constructor(port: number, name: string, dice: Dice) {
    this.#port = port;
    this.#name = name;
    this.#dice = dice;
  }

  get hasAll(): boolean {
    return this.#sent.length === 0;
  }

  /** So many more requests, in pieces over some turns. */
  async send(count: number): Promise<void> {
    const ids = Array.from({ length: count }, () => `${this.#name}-${this.#count++}`);
    await this.#write(ids);
  }

  async #write(ids: readonly string[]): Promise<void> {
    const socket = this.#connected();
    this.#sent.push(...ids);
    let bytes = Buffer.from(ids.map(requestText).join(''));
    while (bytes.length > 0) {
      const size = this.#dice(3) === 0 ? bytes.length : 1 + this.#dice(bytes.length);
      if (this.#socket !== socket) return;
      socket.write(bytes.subarray(0, size));
      bytes = bytes.subarray(size);
      for (let turns = this.#dice(4); turns > 0; turns -= 1) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  async done(): Promise<void> {
    await until(() => this.hasAll || this.findings.length > 0, `all answers for ${this.#name}`);
  }

  end(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  #connected(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    this.#text = '';
    const isCurrent = () => this.#socket === socket;
    socket.on('data', (chunk) => {
      if (isCurrent()) this.#read(chunk.toString());
    });
    socket.on('error', (error) => {
      if (isCurrent()) this.findings.push(`${this.#name}: ${error.message}`);
    });
    socket.on('close', () => {
      if (!isCurrent()) return;
      this.#socket = undefined;
      this.findings.push(`${this.#name}: closed with ${this.#sent.length} requests open`);
    });
    return socket;
  }

  #read(chunk: string): void {
    this.#text += chunk;
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n');
      const head = this.#text.slice(0, end).toLowerCase();
      const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? Number.NaN);
      if (end < 0 || this.#text.length < end + 4 + length) return;
      if (Number.isNaN(length)) {
        this.findings.push(`${this.#name}: ${this.#sent[0]} was answered with ${this.#text}`);
        return this.end();
      }
      const body = this.#text.slice(end + 4, end + 4 + length);
      this.#text = this.#text.slice(end + 4 + length);
      this.#answered(head, body);
      if (head.includes('connection: close')) return this.#again();
    }
  }

  #answered(head: string, body: string): void {
    const id = this.#sent.shift();
    const { id: of, result } = JSON.parse(body) as { id?: string; result?: { by: string } };
    if (!head.startsWith('http/1.1 200') || id === undefined || of !== id || !result) {
      this.findings.push(`${this.#name}: ${id} was answered with ${head} ${body}`);
    } else if (this.answers.has(id)) this.findings.push(`${id} was answered twice`);
    else this.answers.set(id, result.by);
  }

  #again(): void {
    this.closes += 1;
    this.#socket?.end();
    this.#socket = undefined;
    const open = this.#sent;
    this.#sent = [];
    if (open.length === 0) return;
    this.#write(open).catch((error: unknown) => this.findings.push(String(error)));
  }
}

function requestText(id: string): string {
  const body = JSON.stringify(modernBody('tools/call', { name: 'x' }, id));
  const headers = Object.entries(modernHeaders('tools/call', 'x'));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const length = `content-length: ${Buffer.byteLength(body)}`;
  return `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}${length}\r\n\r\n${body}`;
}
