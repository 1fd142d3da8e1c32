// A client at the pipes of `holdfast serve --stdio` that writes several requests in one piece, and the rest of a line
// later. Every line that comes must be the answer to one of its requests, once.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mainProgram } from '../../support/build.ts';
import type { GatewayHome } from '../../support/gateway-home.ts';
import { legacyHello } from '../../support/gateway-stdio-client.ts';
import type { History, Order } from '../history.ts';
import type { LoadClient } from './load-client.ts';

interface Waiting {
  readonly answered: (result: unknown) => void;
  readonly failed: (why: Error) => void;
}

const togetherMs = 30;

export class RawStdio implements LoadClient {
  readonly name: string;
  readonly #history: History;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #id = 0;
  #rest = '';
  /** What is written together in a moment. */
  #unsent = '';
  #isEnding = false;

  private constructor(name: string, home: GatewayHome, history: History) {
    this.name = name;
    this.#history = history;
    const words = [mainProgram, 'serve', '--config', home.configFile, '--stdio'];
    const child = spawn(process.execPath, words, { cwd: home.folder, env: home.env });
    this.#child = child;
    child.stdin.on('error', (error) => history.saw(name, String(error)));
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#heard(text));
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(-2_000);
    });
    child.on('exit', (code, signal) => {
      if (this.#isEnding) return;
      history.saw(name, `its process has ended with ${code ?? signal}: ${said}`);
      for (const { failed } of this.#waiting.values()) failed(new Error('the process has ended'));
    });
  }

  static async open(name: string, home: GatewayHome, history: History): Promise<RawStdio> {
    const client = new RawStdio(name, home, history);
    history.hello(name);
    const { method, params } = legacyHello();
    await client.#ask(method, params);
    client.#write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    return client;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  call({ tool, args }: Order): Promise<unknown> {
    return this.#ask('tools/call', { name: tool, arguments: args });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await exit;
  }

  #ask(method: string, params: object): Promise<unknown> {
    const id = ++this.#id;
    return new Promise((answered, failed) => {
      this.#waiting.set(id, { answered, failed });
      this.#write(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Several lines at once, cut in the middle of the last one. */
  #write(line: string): void {
    if (this.#unsent === '') setTimeout(() => this.#flush(), togetherMs);
    this.#unsent += `${line}\n`;
  }

  #flush(): void {
    const text = this.#unsent;
    this.#unsent = '';
    const cut = text.length - 20;
    this.#child.stdin?.write(text.slice(0, cut));
    setTimeout(() => this.#child.stdin?.write(text.slice(cut)), 5);
  }

  #heard(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    let message: { id?: unknown; method?: unknown; result?: unknown };
    try {
      message = JSON.parse(line);
    } catch {
      return this.#history.saw(this.name, `this is no message: ${line.slice(0, 300)}`);
    }
    const { id, method, result } = message;
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (waiting === undefined || method !== undefined) {
      return this.#history.saw(this.name, `it was not asked for: ${line.slice(0, 300)}`);
    }
    this.#waiting.delete(id as number);
    if (result === undefined) waiting.failed(new Error(line));
    else waiting.answered(result);
  }
}
