// The built gateway, and every program that it or a process below it starts, seen from outside: strace writes down each
// execve. What was started before `settle` was called is what the config names, with the containment around it;
// everything that is started later has to be one of the same command lines. Without strace only the canary tells.

import { spawn } from 'node:child_process';
import { straceRefusal } from '../crash/sqlite/traced.ts';
import { mainProgram } from '../support/build.ts';
import { type Ended, type GatewayHome, Started } from '../support/gateway-home.ts';
import { linesOf } from './world.ts';

const trace = [
  '-f',
  '--seccomp-bpf',
  '-qq',
  '-s',
  '10000',
  '-e',
  'signal=none',
  '-e',
  'trace=execve,execveat',
];

export class WatchedGateway implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Why nobody watches; undefined if somebody does. */
  readonly blindness: string | undefined;
  readonly #started: Started;
  readonly #log: string;
  /** Bound: the command lines of one start of each server. */
  #known: ReadonlySet<string> = new Set();

  private constructor(started: Started, log: string, blindness: string | undefined) {
    const [line = ''] = started.stdout.split('\n');
    const { url, pid } = JSON.parse(line) as { url: string; pid: number };
    this.url = url;
    this.pid = pid;
    this.blindness = blindness;
    this.#started = started;
    this.#log = log;
  }

  static async start(home: GatewayHome): Promise<WatchedGateway> {
    const blindness = straceRefusal();
    const log = home.file('started-programs');
    const words = ['serve', '--config', home.configFile, '--listen', '127.0.0.1:0', '--json'];
    const command = [process.execPath, mainProgram, ...words];
    const watched = blindness === undefined ? ['strace', ...trace, '-o', log, ...command] : command;
    const [program = '', ...args] = watched;
    const child = spawn(program, args, {
      cwd: home.folder,
      env: home.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = new Started(child);
    await started.printed('\n');
    return new WatchedGateway(started, log, blindness);
  }

  /** Everything that the config names has been started once. */
  settle(): void {
    this.#known = new Set(this.#commands());
  }

  /** The command lines of what was started since and is not known. */
  get strangers(): readonly string[] {
    return this.#commands().filter((command) => !this.#known.has(command));
  }

  /** How many programs were started in all. */
  get starts(): number {
    return this.#commands().length;
  }

  get complaints(): string {
    return this.#started.stderr;
  }

  /** The gateway is told to end, and strace ends with it. */
  async stop(): Promise<Ended> {
    try {
      process.kill(this.pid, 'SIGTERM');
    } catch (error) {
      // It has ended by itself; its exit code tells.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    return await this.#started.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** As strace writes them: `PID execve("/bin/sh", ["/bin/sh", "-c", …], 0x… ) = 0`. */
  #commands(): readonly string[] {
    return linesOf(this.#log).flatMap((line) => {
      const [, command] = /^\d+ +execve(?:at)?\((.*\]), 0x/.exec(line) ?? [];
      return command === undefined ? [] : [command];
    });
  }
}
