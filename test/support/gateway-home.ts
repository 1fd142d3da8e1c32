// A home for the built gateway: one config file, one state directory, and any number of starts in
// them, one after another. What it keeps from one start to the next is what a test asks about; a
// gateway that needs no memory is easier had from gateway.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StdioClient } from './gateway-stdio-client.ts';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A gateway that listens. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Made by this start; null if it made none. */
  readonly token: string | null;
  readonly stderr: () => string;
  readonly ended: Promise<Ended>;
  /** Ends it as a service manager does. One that does not go is killed: the code is null then. */
  stop(): Promise<Ended>;
}

export type HomeConfig = Readonly<Record<string, unknown>>;

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const stopPatienceMs = 20_000;

export class GatewayHome implements AsyncDisposable {
  readonly folder: string;
  readonly state: string;
  readonly configFile: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.state = join(folder, 'state');
    this.configFile = join(folder, 'holdfast.json');
  }

  static async create(config: HomeConfig = { mcpServers: {} }): Promise<GatewayHome> {
    const home = new GatewayHome(await mkdtemp(join(tmpdir(), 'holdfast-home-')));
    await mkdir(join(home.folder, 'home'));
    await home.configure(config);
    return home;
  }

  /** Without authentication, unless the config says something about HTTP itself. */
  async configure(config: HomeConfig): Promise<void> {
    const text = JSON.stringify({ http: { auth: 'none' }, ...config }, null, 2);
    await writeFile(this.configFile, text);
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Runs `holdfast serve` with these words to its end. */
  async run(args: readonly string[], stdin = ''): Promise<Ended> {
    const child = this.#spawn(args);
    child.stdin?.end(stdin);
    return await endOf(child);
  }

  /** The gateway over HTTP, when it listens. */
  async serve(): Promise<Served> {
    const child = this.#spawn(['--listen', '127.0.0.1:0', '--json']);
    child.stdin?.end();
    const heard = new Hearing(child);
    const ended = endOf(child, heard);
    const line = await heard.line(ended);
    const { url, token, pid } = JSON.parse(line) as Pick<Served, 'url' | 'token' | 'pid'>;
    const stop = () => stopped(child, ended);
    return {
      url,
      token,
      pid,
      stderr: () => heard.stderr,
      ended,
      stop,
      [Symbol.asyncDispose]: async () => void (await stop()),
    };
  }

  /** The gateway over stdio, with a client at its pipes. */
  stdio(): StdioClient {
    return new StdioClient(this.#spawn(['--stdio']));
  }

  /** The words that start it over stdio, for somebody else to say. */
  get stdioCommand(): { command: string; args: string[]; env: NodeJS.ProcessEnv } {
    const args = [main, 'serve', '--config', this.configFile, '--stdio'];
    return { command: process.execPath, args, env: this.#env };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  get #env(): Record<string, string> {
    const { PATH = '', HOLDFAST_INSTANCE = '' } = process.env;
    return {
      PATH,
      HOLDFAST_INSTANCE,
      HOME: join(this.folder, 'home'),
      HOLDFAST_STATE: this.state,
    };
  }

  #spawn(args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [main, 'serve', '--config', this.configFile, ...args], {
      cwd: this.folder,
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }
}

/** What a process has said so far. */
class Hearing {
  stdout = '';
  stderr = '';
  readonly #news = new EventEmitter();

  constructor(child: ChildProcess) {
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#news.emit('text');
      });
    }
  }

  /** The first line of its standard output. */
  async line(ended: Promise<Ended>): Promise<string> {
    const early = ended.then(({ code, stderr }) => {
      if (!this.stdout.includes('\n')) throw new Error(`ended with ${code}: ${stderr}`);
    });
    while (!this.stdout.includes('\n')) await Promise.race([once(this.#news, 'text'), early]);
    early.catch(() => {});
    return this.stdout.slice(0, this.stdout.indexOf('\n'));
  }
}

function endOf(child: ChildProcess, heard = new Hearing(child)): Promise<Ended> {
  // One that is gone before its input was written must not fail the test by that.
  child.stdin?.on('error', () => {});
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout: heard.stdout, stderr: heard.stderr });
    });
  });
}

async function stopped(child: ChildProcess, ended: Promise<Ended>): Promise<Ended> {
  child.kill('SIGTERM');
  const hung = setTimeout(() => child.kill('SIGKILL'), stopPatienceMs);
  try {
    return await ended;
  } finally {
    clearTimeout(hung);
  }
}
