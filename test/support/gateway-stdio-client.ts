// A client at the pipes of a gateway that speaks stdio: it writes any bytes, whole messages or not,
// and reads the lines that come back. Nothing is parsed that a test does not ask for.

import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

export interface StdioEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
export type Json = any;

export const legacyHello = (id: unknown = 0, protocolVersion = '2025-11-25') => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

export class StdioClient implements AsyncDisposable {
  readonly ended: Promise<StdioEnd>;
  /** Every line that came, without its line break. */
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #news = new EventEmitter();
  #rest = '';
  #stderr = '';
  #hasEnded = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#news.setMaxListeners(0);
    child.stdin?.on('error', () => {});
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#heard(text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        this.#hasEnded = true;
        this.#news.emit('line');
        resolve({ code, signal, stderr: this.#stderr });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What it has said on standard error so far. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Writes these bytes and nothing else. */
  write(bytes: string | Buffer): void {
    this.#child.stdin?.write(bytes);
  }

  send(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends a request; its answer. */
  async ask(method: string, params: object = {}, id: number | string = 1): Promise<Json> {
    const from = this.lines.length;
    this.send({ jsonrpc: '2.0', id, method, params });
    return await this.answer(id, from);
  }

  /** The answer to a request that was sent, among the lines from there on. */
  async answer(id: unknown, from = 0): Promise<Json> {
    return await this.message((message) => message.id === id && message.method === undefined, from);
  }

  /** The first message that is meant, come or to come. */
  async message(isMeant: (message: Json) => boolean, from = 0): Promise<Json> {
    for (let at = from; ; at += 1) {
      while (at >= this.lines.length) await this.#next();
      const message = JSON.parse(this.lines[at] ?? '');
      if (isMeant(message)) return message;
    }
  }

  /** The line at this place, come or to come. */
  async line(at: number): Promise<string> {
    while (at >= this.lines.length) await this.#next();
    return this.lines[at] ?? '';
  }

  /** A legacy client that has said hello. */
  async initialize(protocolVersion?: string): Promise<Json> {
    this.send(legacyHello('hello', protocolVersion));
    const answer = await this.answer('hello');
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  }

  /** Closes its input: the client has nothing more to say. */
  end(): Promise<StdioEnd> {
    this.#child.stdin?.end();
    return this.ended;
  }

  kill(signal: NodeJS.Signals): Promise<StdioEnd> {
    this.#child.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return;
    const hung = setTimeout(() => this.#child.kill('SIGKILL'), 20_000);
    await this.end();
    clearTimeout(hung);
  }

  #heard(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    this.lines.push(...lines);
    if (lines.length > 0) this.#news.emit('line');
  }

  async #next(): Promise<void> {
    if (this.#hasEnded) throw new Error(`the gateway has ended: ${this.#stderr}`);
    await once(this.#news, 'line');
  }
}
