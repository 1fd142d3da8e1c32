// A home for the built gateway: one config file, one state directory, and any number of starts in
// them, one after another. What it keeps from one start to the next is what a test asks about; a
// gateway that needs no memory is easier had from gateway.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type InstancePlace, instancePlace } from '../../src/instance/place.ts';
import { mainProgram } from './build.ts';
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
  /** Of a token that this start made. */
  readonly tokenKept: boolean | null;
  readonly ended: Promise<Ended>;
  stop(): Promise<Ended>;
}

export type HomeConfig = Readonly<Record<string, unknown>>;

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

  /** Where its instance is. */
  get place(): InstancePlace {
    return instancePlace(this.state, this.configFile, {});
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Runs `holdfast serve` with these words; nothing is said to it. `through`: a program that runs it, with its arguments. */
  start(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    through: readonly string[] = [],
  ): Started {
    const child = this.#spawn(args, env, through);
    child.stdin?.end();
    return new Started(child);
  }

  /** The same in an empty folder, with nothing to say where a config is. */
  startWithoutConfig(args: readonly string[]): Started {
    const cwd = join(this.folder, 'home');
    const child = spawn(process.execPath, [mainProgram, 'serve', ...args], { cwd, env: this.env });
    child.stdin.end();
    return new Started(child);
  }

  /** The gateway over HTTP, when it listens; on the port of an earlier one, if that is given. */
  async serve(
    earlier?: { readonly url: string },
    env: Readonly<Record<string, string>> = {},
  ): Promise<Served> {
    const port = earlier === undefined ? '0' : new URL(earlier.url).port;
    const started = this.start(['--listen', `127.0.0.1:${port}`, '--json'], env);
    await started.printed('\n');
    const line = started.stdout.slice(0, started.stdout.indexOf('\n'));
    const { url, token, tokenKept, pid } = JSON.parse(line) as Omit<Served, 'ended' | 'stop'>;
    if (url === undefined) throw new Error(`it does not serve: ${line}${started.stderr}`);
    const { ended } = started;
    const stop = () => started.stop();
    return {
      url,
      token,
      tokenKept,
      pid,
      ended,
      stop,
      [Symbol.asyncDispose]: async () => void (await stop()),
    };
  }

  /** Another command with the same config. */
  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const words = [mainProgram, ...args, '--config', this.configFile];
    const child = spawn(process.execPath, words, {
      cwd: this.folder,
      env: { ...this.env, ...env },
    });
    child.stdin.end();
    return new Started(child).ended;
  }

  /** The gateway over stdio, with a client at its pipes. */
  stdio(): StdioClient {
    return new StdioClient(this.#spawn(['--stdio']));
  }

  /** The words that start it over stdio, for somebody else to say. */
  get stdioCommand(): { command: string; args: string[]; env: NodeJS.ProcessEnv } {
    const args = [mainProgram, 'serve', '--config', this.configFile, '--stdio'];
    return { command: process.execPath, args, env: this.env };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** What every command here sees. */
  get env(): Record<string, string> {
    const { PATH = '', HOLDFAST_INSTANCE = '' } = process.env;
    return {
      PATH,
      HOLDFAST_INSTANCE,
      HOME: join(this.folder, 'home'),
      HOLDFAST_STATE: this.state,
    };
  }

  #spawn(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    through: readonly string[] = [],
  ): ChildProcess {
    const serve = [mainProgram, 'serve', '--config', this.configFile, ...args];
    const [program = process.execPath, ...words] = [...through, process.execPath, ...serve];
    return spawn(program, words, {
      cwd: this.folder,
      env: { ...this.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }
}

/** A gateway as a process: what it has said so far, and how it ends. */
export class Started {
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  readonly #news = new EventEmitter();

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#news.emit('text');
      });
    }
    this.ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when its standard output holds the text. */
  async printed(text: string): Promise<void> {
    const early = this.ended.then(({ code, stderr }) => {
      if (!this.stdout.includes(text)) throw new Error(`ended with ${code}: ${stderr}`);
    });
    early.catch(() => {});
    while (!this.stdout.includes(text)) await Promise.race([once(this.#news, 'text'), early]);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it as a service manager does. One that does not go is killed: the code is null then. */
  async stop(): Promise<Ended> {
    this.kill('SIGTERM');
    const hung = setTimeout(() => this.kill('SIGKILL'), stopPatienceMs);
    try {
      return await this.ended;
    } finally {
      clearTimeout(hung);
    }
  }
}
