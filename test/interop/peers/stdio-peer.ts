// A raw client on the standard streams of a server that it starts itself. What the server writes to
// standard error is kept, its last lines, for the message when it ends without an answer.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import {
  answerTo,
  type ClientKind,
  ErrorAnswer,
  type Incoming,
  isListChange,
  type Peer,
  paramsFor,
  readMessage,
} from './peer.ts';

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const stopMs = 3_000;

interface Asked {
  readonly resolve: (result: string) => void;
  readonly reject: (error: Error) => void;
}

export class StdioPeer implements Peer {
  readonly #child: ChildProcess;
  readonly #kind: ClientKind;
  readonly #rootUri: string;
  readonly #asked = new Map<unknown, Asked>();
  readonly #listeners: (() => void)[] = [];
  #nextId = 1;
  #errors = '';
  #ending: Error | undefined;

  constructor({ command, args, env, cwd }: Launch, kind: ClientKind, rootUri: string) {
    this.#kind = kind;
    this.#rootUri = rootUri;
    this.#child = spawn(command, args, {
      env,
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child.stdin?.on('error', () => {}); // its exit tells more
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = `${this.#errors}${text}`.slice(-1_000);
    });
    if (this.#child.stdout === null) throw new Error('no pipes');
    createInterface(this.#child.stdout).on('line', (line) => this.#hear(readMessage(line)));
    this.#child.on('error', (error) => this.#end(error));
    this.#child.on('close', (code, signal) => {
      this.#end(new Error(`ended with ${code ?? signal}: ${this.#errors.trim()}`));
    });
  }

  ask(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (this.#ending !== undefined) return reject(this.#ending);
      this.#asked.set(id, { resolve, reject });
      this.#send({ id, method, params: paramsFor(this.#kind, params) });
    });
  }

  async notify(method: string): Promise<void> {
    this.#send({ method });
  }

  onListChanged(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Its standard input ends, and what is left of its process group after a while is killed. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined) return;
    const ended = exitCode === null && signalCode === null ? once(this.#child, 'exit') : undefined;
    this.#child.stdin?.end();
    const hung = setTimeout(() => killGroup(pid), stopMs);
    await ended;
    clearTimeout(hung);
    killGroup(pid);
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #hear(message: Incoming | undefined): void {
    if (message === undefined) return;
    if (message.method !== undefined) return this.#hearAsked(message.method, message.id);
    const asked = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    if (message.result !== undefined) asked?.resolve(message.result);
    else asked?.reject(new ErrorAnswer(message.error));
  }

  #hearAsked(method: string, id: unknown): void {
    if (id !== undefined) this.#send({ id, ...answerTo(method, this.#kind, this.#rootUri) });
    if (isListChange(method)) for (const listener of this.#listeners) listener();
  }

  #end(error: Error): void {
    this.#ending ??= error;
    for (const { reject } of this.#asked.values()) reject(this.#ending);
    this.#asked.clear();
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody of the group is left.
  }
}
