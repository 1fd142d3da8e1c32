// Starts and informs the reaper: one small shell process per host that reads from a pipe and ends
// everything we started when the pipe breaks, for whatever reason we died. This file starts it,
// tells it which processes are ours, and starts another if it is killed. It has its own session and
// none of our streams: `holdfast call … | cat` must end when we do.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { contain } from '../../../kernel/contain.ts';
import { errnoOf } from '../../../kernel/errno.ts';
import { Fault } from '../../../kernel/fault.ts';
import { shortageOf } from '../../../kernel/shortage.ts';
import { type Environment, instanceToken } from '../start/environment.ts';
import type { ReaperControl } from '../start/process-starter.ts';
import type { ProcessIdentity } from '../watch/process-table.ts';
import { reaperScript } from './reaper-script.ts';

export interface ReaperOptions {
  readonly instance: string;
  readonly procDir: string;
  readonly sourceEnv: Environment;
  readonly notice: (message: string) => void;
}

/** After being killed so often, it is not started again. */
const maxRestarts = 5;

export class Reaper implements ReaperControl {
  readonly #options: ReaperOptions;
  /** What it must know, as the lines that are sent to it; each until the child is swept. */
  readonly #told = new Set<string>();
  #process: ChildProcess | undefined;
  #restartsLeft = maxRestarts;
  #hasEnded = false;

  constructor(options: ReaperOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it, once. Throws a Fault if that is not possible. */
  async start(): Promise<void> {
    if (this.#process !== undefined || this.#hasEnded) return;
    try {
      await once(this.#launch(), 'spawn');
    } catch (cause) {
      this.#process = undefined;
      const shortage = shortageOf(cause);
      const why = shortage ?? errnoOf(cause) ?? 'unknown error';
      const kind = shortage === undefined ? 'unavailable' : 'overloaded';
      throw new Fault(kind, `cannot start /bin/sh as the reaper: ${why}`, {}, cause);
    }
  }

  add({ pid, start }: ProcessIdentity): void {
    this.#tell(`${pid} ${start}`, '+');
  }

  remove({ pid, start }: ProcessIdentity): void {
    this.#untell(`${pid} ${start}`, '+', '-');
  }

  addCgroup(dir: string): void {
    this.#tell(dir, 'c');
  }

  removeCgroup(dir: string): void {
    this.#untell(dir, 'c', 'd');
  }

  /** A process that serves for the host: only it is ended, not what is below it or in its session. */
  addHost({ pid, start }: ProcessIdentity): void {
    this.#tell(`${pid} ${start}`, 'h');
  }

  removeHost({ pid, start }: ProcessIdentity): void {
    this.#untell(`${pid} ${start}`, 'h', 'i');
  }

  /** The host is alive and has lost its processes: everything is swept. Resolves when that is done. */
  async letGo(): Promise<void> {
    this.#hasEnded = true;
    const reaper = this.#process;
    if (reaper === undefined || reaper.exitCode !== null || reaper.signalCode !== null) return;
    reaper.ref();
    const exit = once(reaper, 'exit');
    reaper.stdin?.end();
    await exit;
  }

  /** The orderly end: nothing is swept. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#hasEnded = true;
    const reaper = this.#process;
    if (reaper === undefined || reaper.exitCode !== null || reaper.signalCode !== null) return;
    reaper.ref();
    const exit = once(reaper, 'exit');
    reaper.stdin?.end('q\n');
    await exit;
  }

  #tell(what: string, verb: string): void {
    const line = `${verb} ${what}\n`;
    if (this.#told.has(line)) return;
    this.#told.add(line);
    this.#process?.stdin?.write(line);
  }

  #untell(what: string, verb: string, opposite: string): void {
    if (this.#told.delete(`${verb} ${what}\n`))
      this.#process?.stdin?.write(`${opposite} ${what}\n`);
  }

  #launch(): ChildProcess {
    const { instance, procDir, sourceEnv } = this.#options;
    const args = ['-c', reaperScript, 'holdfast-reaper', instanceToken(instance), procDir];
    const reaper = spawn('/bin/sh', args, {
      // Without the user's environment, above all without the marker: it must not find itself.
      env: { PATH: sourceEnv['PATH'] ?? '/usr/bin:/bin' },
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#process = reaper;
    // A broken pipe means that it has died; 'exit' deals with that.
    reaper.stdin?.on('error', () => {});
    reaper.on('error', () => {});
    reaper.on('exit', () => this.#onExit());
    for (const line of this.#told) reaper.stdin?.write(line);
    // It waits for us; we never wait for it.
    reaper.unref();
    if (reaper.stdin instanceof Socket) reaper.stdin.unref();
    return reaper;
  }

  #onExit(): void {
    if (this.#hasEnded) return;
    this.#process = undefined;
    if (this.#restartsLeft === 0) {
      this.#options.notice('the reaper was killed repeatedly: processes may outlive this host');
      return;
    }
    this.#restartsLeft--;
    contain(
      () => {
        this.#launch();
        this.#options.notice('the reaper was killed and has been started again');
      },
      (error) => this.#options.notice(`the reaper was killed and cannot be started: ${error}`),
    );
  }
}
