// MCP servers that live in the memory of a test, behind the contract of a child process: they read
// lines and write lines, and everything above them is real. A script says how each method is
// answered; what it leaves open is answered by the test, when and how it wants.

import { Fault } from '../../src/kernel/fault.ts';
import type {
  Adopt,
  Child,
  ChildListener,
  Exit,
  HandedChild,
  Spawn,
} from '../../src/supervise/child.ts';

export interface Heard {
  /** The line as it came, without its end. */
  readonly text: string;
  readonly id: number | string | undefined;
  readonly method: string | undefined;
  readonly params: Readonly<Record<string, unknown>>;
  readonly result: unknown;
  readonly error: unknown;
}

/** Returns the result; undefined leaves the request open. A string is JSON text, as it is. */
export type Answers = (heard: Heard, child: ScriptedChild) => unknown;

export interface Script {
  readonly era?: 'legacy' | 'modern' | 'both';
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly instructions?: string;
  readonly tools?: readonly unknown[];
  readonly prompts?: readonly unknown[];
  readonly resources?: readonly unknown[];
  readonly resourceTemplates?: readonly unknown[];
  /** By method; before everything that a script answers by itself. */
  readonly on?: Readonly<Record<string, Answers>>;
}

/** A JSON-RPC error instead of a result. */
export class ErrorAnswer {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

export const tool = (name: string, more: object = {}) => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});

export const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

const lists = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;

export class ScriptedServer {
  script: Script;
  readonly children: ScriptedChild[] = [];

  constructor(script: Script = {}) {
    this.script = script;
  }

  /** The latest process. */
  get child(): ScriptedChild {
    const child = this.children.at(-1);
    if (!child) throw new Error('the server was not started');
    return child;
  }

  /** Everything that was heard under a method, by all processes. */
  heard(method: string): readonly Heard[] {
    return this.children.flatMap((child) => child.heardAs(method));
  }

  notified(heard: Heard, child: ScriptedChild): void {
    this.script.on?.[heard.method ?? '']?.(heard, child);
  }

  answerTo(heard: Heard, child: ScriptedChild): unknown {
    const { method = '' } = heard;
    const { on = {} } = this.script;
    const own = Object.hasOwn(on, method) ? on[method] : undefined;
    if (own) return own(heard, child);
    const { era = 'legacy', capabilities = everything, instructions } = this.script;
    if (method === 'initialize' && era !== 'modern') {
      const serverInfo = { name: 'scripted', version: '1' };
      return { protocolVersion: '2025-11-25', capabilities, serverInfo, instructions };
    }
    if (method === 'server/discover' && era !== 'legacy') {
      return {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities,
        instructions,
        ttlMs: 0,
        cacheScope: 'private',
      };
    }
    if (method === 'subscriptions/listen') return undefined;
    const list = Object.hasOwn(lists, method) ? lists[method as keyof typeof lists] : undefined;
    if (list) return { [list]: this.script[list] ?? [] };
    return new ErrorAnswer({ code: -32601, message: `no ${method}` });
  }
}

const everything = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
  completions: {},
};

export class ScriptedChild implements Child {
  readonly pid: number;
  readonly containment = 'group';
  readonly isStateHidden = false;
  readonly enforced = 'none';
  readonly heard: Heard[] = [];
  isGone = false;
  /** Lines that have come and are not read; undefined if it reads. */
  #unread: string[] | undefined;
  readonly #server: ScriptedServer;
  #listener: ChildListener;
  /** What it has said while it was on its way from one serving process to the next. */
  #onItsWay: Buffer[] | undefined;
  #rest = '';

  constructor(pid: number, server: ScriptedServer, listener: ChildListener) {
    this.pid = pid;
    this.#server = server;
    this.#listener = listener;
  }

  heardAs(method: string): readonly Heard[] {
    return this.heard.filter((one) => one.method === method);
  }

  /** The latest request or notification of a method. */
  last(method: string): Heard {
    const heard = this.heardAs(method).at(-1);
    if (!heard) throw new Error(`no ${method} was heard`);
    return heard;
  }

  /** The answer to a request of its own. */
  answerTo(id: number | string): Heard {
    const heard = this.heard.find((one) => one.method === undefined && one.id === id);
    if (!heard) throw new Error(`${id} was not answered`);
    return heard;
  }

  /** Writes a message: JSON text as it is, or a value. */
  say(message: unknown): void {
    const line = typeof message === 'string' ? message : JSON.stringify(message);
    if (!this.isGone) this.#print(Buffer.from(`${line}\n`));
  }

  /** Writes these bytes as one line. */
  sayBytes(bytes: Buffer): void {
    if (!this.isGone) this.#print(Buffer.concat([bytes, Buffer.from('\n')]));
  }

  #print(chunk: Buffer): void {
    if (this.#onItsWay) this.#onItsWay.push(chunk);
    else this.#listener.stdout(chunk);
  }

  note(method: string, params: unknown = {}): void {
    this.say({ jsonrpc: '2.0', method, params });
  }

  ask(id: number | string, method: string, params: unknown = {}): void {
    this.say({ jsonrpc: '2.0', id, method, params });
  }

  /** Answers a request that the script has left open. */
  answer(heard: Heard, result: unknown): void {
    const id = JSON.stringify(heard.id);
    if (result instanceof ErrorAnswer) {
      return this.say(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(result.error)}}`);
    }
    const json = typeof result === 'string' ? result : JSON.stringify(result);
    this.say(`{"jsonrpc":"2.0","id":${id},"result":${json}}`);
  }

  exit(exit: Exit = { code: 1, signal: null }): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#listener.exited(exit);
  }

  /** It is busy: it reads nothing until `readOn`. */
  stopReading(): void {
    this.#unread ??= [];
  }

  readOn(): void {
    const lines = this.#unread ?? [];
    this.#unread = undefined;
    for (const line of lines) this.#line(line);
  }

  /** Says nothing more, and runs on. */
  closeStdout(): void {
    this.#listener.ended();
  }

  /** Another serving process has it from now on. */
  moveTo(listener: ChildListener): void {
    const said = this.#onItsWay ?? [];
    this.#onItsWay = undefined;
    this.#listener = listener;
    setImmediate(() => {
      for (const chunk of said) listener.stdout(chunk);
    });
  }

  // --- as a child process ------------------------------------------------------------------

  readonly handOver = async (): Promise<HandedChild> => {
    this.#onItsWay = [];
    return { state: { id: this.pid }, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  };

  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void {
    this.#rest += Buffer.from(bytes as string).toString('utf8');
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    done(null);
    for (const line of lines) queueMicrotask(() => this.#line(line));
  }

  #line(line: string): void {
    if (this.isGone) return;
    if (this.#unread) {
      this.#unread.push(line);
      return;
    }
    const heard = read(line);
    this.heard.push(heard);
    if (heard.method === undefined) return;
    if (heard.id === undefined) return this.#server.notified(heard, this);
    const result = this.#server.answerTo(heard, this);
    if (result !== undefined) this.answer(heard, result);
  }

  closeStdin(): void {
    queueMicrotask(() => this.exit({ code: 0, signal: null }));
  }

  pause(): void {}
  resume(): void {}

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    queueMicrotask(() => this.exit({ code: null, signal: name }));
  }

  sweep(): Promise<number> {
    return Promise.resolve(0);
  }
}

/** Throws for a line that is not JSON: a server must never be sent one. */
function read(line: string): Heard {
  const { id, method, params = {}, result, error } = JSON.parse(line) as Heard;
  return { text: line, id, method, params, result, error };
}

/** Starts the scripted server of the name in the config; `others` stands for every other name. */
export function spawnScripted(
  servers: Readonly<Record<string, ScriptedServer>>,
  others?: ScriptedServer,
): Spawn {
  const known = Object.values(servers).flatMap(({ children }) => children);
  let pid = Math.max(100, ...known.map((child) => child.pid));
  return async (spec, listener) => {
    const server = servers[spec.name] ?? others;
    if (!server) throw new Error(`no script for ${spec.name}`);
    const child = new ScriptedChild(++pid, server, listener);
    server.children.push(child);
    return child;
  };
}

/** Takes a process over that another serving process has given up. */
export function adoptScripted(servers: Readonly<Record<string, ScriptedServer>>): Adopt {
  return async ({ state }, listener) => {
    const all = Object.values(servers).flatMap(({ children }) => children);
    const child = all.find(({ pid }) => pid === state.id);
    if (!child || child.isGone) throw new Fault('unavailable', 'it has ended on its way');
    child.moveTo(listener);
    return child;
  };
}
