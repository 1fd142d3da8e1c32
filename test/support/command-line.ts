// Runs the real command `holdfast` from the build, in a folder of its own: config, state and home are
// all in there, so that nothing of the user's is seen or touched.

import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mainProgram } from './build.ts';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly ended: Promise<Ended>;
  /** What it has printed so far. */
  readonly stdout: string;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Closes our end of its standard output, as `head` does when it has seen enough. */
  readonly stopReading: () => void;
  /** Resolves when standard error holds the text. */
  readonly said: (text: string) => Promise<void>;
  readonly printed: (text: string) => Promise<void>;
}

export interface StartOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A folder below the command line's own. */
  readonly cwd?: string;
  /** Where standard output goes instead of to us: an open file. */
  readonly stdoutFd?: number;
  /** A program that runs it, with its arguments, such as strace. */
  readonly through?: readonly string[];
}

export interface CommandLine extends AsyncDisposable {
  readonly folder: string;
  file(name: string): string;
  /** Writes holdfast.json, or another file, with these servers. */
  servers(servers: Readonly<Record<string, unknown>>, name?: string): Promise<void>;
  start(args: readonly string[], options?: StartOptions): Started;
  run(args: readonly string[], options?: StartOptions): Promise<Ended>;
}

export async function commandLine(): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  await mkdir(join(folder, 'home'));
  const start = (args: readonly string[], options: StartOptions = {}) =>
    startIn(folder, args, options);
  return {
    folder,
    file: (name) => join(folder, name),
    servers: (mcpServers, name = 'holdfast.json') =>
      writeFile(join(folder, name), JSON.stringify({ mcpServers }, null, 2)),
    start,
    run: (args, options) => start(args, options).ended,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function startIn(folder: string, args: readonly string[], options: StartOptions): Started {
  const [program = process.execPath, ...before] = options.through ?? [];
  const words = options.through === undefined ? [] : [...before, process.execPath];
  const child = spawn(program, [...words, mainProgram, ...args], {
    cwd: join(folder, options.cwd ?? '.'),
    env: { ...surroundings(folder), ...options.env },
    stdio: ['pipe', options.stdoutFd ?? 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  const news = new EventEmitter();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
      news.emit('text');
    });
  }
  // A command that does not read its input may be gone before it is written.
  child.stdin?.on('error', () => {}).end(options.stdin ?? '');
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...texts }));
  });
  const appears = async (name: 'stdout' | 'stderr', text: string) => {
    const early = ended.then(() => {
      if (!texts[name].includes(text)) throw new Error(`ended without "${text}": ${texts.stderr}`);
    });
    while (!texts[name].includes(text)) await Promise.race([once(news, 'text'), early]);
  };
  return {
    ended,
    get stdout() {
      return texts.stdout;
    },
    kill: (signal) => void child.kill(signal),
    stopReading: () => void child.stdout?.destroy(),
    said: (text) => appears('stderr', text),
    printed: (text) => appears('stdout', text),
  };
}

/** What a shell of a new user has, and the mark by which survivors are found. */
function surroundings(folder: string): Record<string, string> {
  const { PATH = '', HOLDFAST_INSTANCE = '' } = process.env;
  return {
    PATH,
    HOLDFAST_INSTANCE,
    HOME: join(folder, 'home'),
    HOLDFAST_STATE: join(folder, 'state'),
  };
}
