// Starts the built gateway for a test, in a folder of its own: config, state and home are all in
// there. Over HTTP it is a process that runs until it is disposed of; over stdio it is a door that
// a client opens by itself, each time with a fresh state.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mainProgram } from './build.ts';

/** Where an MCP client connects to: a command that it starts, or an address. */
export type Door =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface Gateway extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** What it said on standard error, for a test that fails. */
  readonly stderr: () => string;
  /** Ends it as a service manager does, and gives its exit code. */
  stop(): Promise<number | null>;
}

export type GatewayConfig = Readonly<Record<string, unknown>>;

/** A folder in which gateways live; everything in it goes with it. */
export class GatewayFolder implements AsyncDisposable {
  readonly path: string;
  #doors = 0;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<GatewayFolder> {
    return new GatewayFolder(await mkdtemp(join(tmpdir(), 'holdfast-gateway-')));
  }

  /** The gateway over HTTP, when it listens. */
  async start(config: GatewayConfig): Promise<Gateway> {
    const { args, env } = await this.#prepared({ http: { auth: 'none' }, ...config });
    const flags = ['--listen', '127.0.0.1:0', '--json'];
    const child = spawn(process.execPath, [...args, ...flags], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const errors: string[] = [];
    child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
    const stderr = () => errors.join('');
    const line = await firstLine(child, stderr);
    const { url, pid } = JSON.parse(line) as { url: string; pid: number };
    const stop = () => stopped(child);
    return { url, pid, stderr, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
  }

  /** The gateway over stdio, for one client. */
  async stdioDoor(config: GatewayConfig): Promise<Door> {
    const { args, env } = await this.#prepared(config);
    return { kind: 'stdio', command: process.execPath, args: [...args, '--stdio'], env };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  async #prepared(config: GatewayConfig) {
    const folder = join(this.path, String(++this.#doors));
    await mkdir(join(folder, 'home'), { recursive: true });
    const file = join(folder, 'holdfast.json');
    await writeFile(file, JSON.stringify(config, null, 2));
    const { PATH = '', HOLDFAST_INSTANCE = '' } = process.env;
    const env = {
      PATH,
      HOLDFAST_INSTANCE,
      HOME: join(folder, 'home'),
      HOLDFAST_STATE: join(folder, 'state'),
    };
    return { args: [mainProgram, 'serve', '--config', file], env };
  }
}

async function firstLine(
  child: ChildProcess & { readonly stdout: NodeJS.ReadableStream },
  stderr: () => string,
): Promise<string> {
  const abort = new AbortController();
  const lines = once(createInterface(child.stdout), 'line', { signal: abort.signal });
  const ended = once(child, 'exit', { signal: abort.signal }).then(([code]) => {
    throw new Error(`the gateway ended with ${code} before it listened: ${stderr()}`);
  });
  try {
    const [line] = (await Promise.race([lines, ended])) as [string];
    return line;
  } finally {
    lines.catch(() => {});
    ended.catch(() => {});
    abort.abort();
  }
}

/** Within the test's own patience; whoever hangs is killed, and says so by a null code. */
async function stopped(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const hung = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await exited;
  clearTimeout(hung);
  return child.exitCode;
}
