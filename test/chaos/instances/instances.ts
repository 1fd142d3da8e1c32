// The instance that the windows of a run share, from outside: which processes it may be at the moment, how it
// is ended in each of the ways in which that happens, and when each end began and was over, for the checker.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../support/until.ts';
import { EndsLog } from '../ends-log.ts';
import { commandsSaid, type GatewayHome, startCommand } from '../gateway.ts';
import { allProcesses, argumentsOf, below, mentions } from '../process-list.ts';
import { signal } from '../server-processes.ts';
import { lasting } from '../survivors.ts';

export type WayToEnd = 'SIGKILL' | 'SIGTERM' | 'shutdown';

/** Calls that hang are given up by then, and the rest is a matter of processes that do not end by themselves. */
const endMs = 20_000;

export class Instances {
  readonly home: GatewayHome;
  readonly configFile: string;
  readonly ends: EndsLog;
  /** What was started beside the windows, until it has ended. */
  readonly #served = new Set<ChildProcess>();
  /** Which processes were told to end by a signal; as many as the run has such ends. */
  readonly #told = new Set<number>();

  constructor(home: GatewayHome, configFile: string) {
    this.home = home;
    this.configFile = configFile;
    this.ends = new EndsLog(home.folder, 'instances.jsonl');
  }

  /** The instance; for a moment also those who find that another process is it. */
  processes(): readonly number[] {
    const found = allProcesses().filter(({ pid, isZombie }) => {
      const words = isZombie ? [] : argumentsOf(pid);
      const isOne = words[0] === process.execPath && words[2] === 'serve';
      return isOne && words.includes(this.configFile);
    });
    // Without the serving process of each: it has the same words as its pid-holder.
    const isBelow = (one: number) => found.some(({ pid }) => pid === one);
    return found.flatMap(({ pid, parent }) => (isBelow(parent) ? [] : [pid]));
  }

  /** Ends one, if there is one; what it leaves behind two seconds later, or undefined. Throws if it stays. */
  async end(way: WayToEnd, pid: number): Promise<readonly string[]> {
    const there = way === 'shutdown' ? this.processes() : [pid];
    const rows = allProcesses();
    const started = new Set(there.flatMap((one) => below(one, rows)).map((row) => row.pid));
    if (way === 'SIGTERM') this.#told.add(pid);
    const over = this.ends.begin(way);
    const isAsked = way === 'shutdown' ? await this.#isShutDown() : signal(pid, way);
    const isGone = () => !isAsked || !isAnyThere(there);
    await until(isGone, `the end of the instance by ${way}`, endMs);
    over();
    return await lasting(() =>
      allProcesses().filter(
        ({ pid: one, isZombie }) =>
          started.has(one) && !isZombie && mentions(one, [this.home.mark]),
      ),
    );
  }

  /** Somebody starts it by hand, too: it becomes the instance, or says that one runs. */
  serve(report: (finding: string) => void): void {
    const words = ['serve', '--config', this.configFile, '--listen', '127.0.0.1:0', '--json'];
    const child = startCommand(this.home, words);
    this.#served.add(child);
    child.once('exit', (code, killedBy) => {
      this.#served.delete(child);
      const isUsual = code === 0 || code === heldExit || killedBy === 'SIGKILL';
      // It was told to end before it served anybody.
      const isTold = code === toldExit || killedBy === 'SIGTERM';
      if (!isUsual && !(isTold && this.#told.has(child.pid ?? 0)))
        report(`holdfast serve of the windows ended with ${code ?? killedBy}`);
    });
  }

  /** No window is left: it ends by itself, or, if it was started by hand, when it is told to. */
  async rest(report: (finding: string) => void): Promise<void> {
    for (const child of this.#served) {
      this.#told.add(child.pid ?? 0);
      child.kill('SIGTERM');
    }
    await until(() => this.processes().length === 0, 'the instance to end', endMs).catch(
      (error: Error) => report(`${error.message}, though its windows had left`),
    );
  }

  /** What it has said itself, where windows had started it, but for those who found that another is it. */
  get complaints(): string {
    return this.#logs.filter((line) => !line.includes(' is running already (')).join('\n');
  }

  /** The same, and what those have said that were started by hand. */
  get said(): string {
    return [...this.#logs, commandsSaid(this.home)].join('\n');
  }

  get #logs(): readonly string[] {
    const folder = join(this.home.folder, this.home.state ?? '', 'by-config');
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .map((name) => join(folder, name, 'instance.log'))
      .filter(existsSync)
      .flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  }

  async close(): Promise<void> {
    for (const pid of this.processes()) signal(pid, 'SIGKILL');
    await until(() => this.processes().length === 0, 'the instance to be gone', endMs);
    rmSync(this.home.runtime ?? '', { recursive: true, force: true });
  }

  /** Not if none listens yet, or no more. */
  async #isShutDown(): Promise<boolean> {
    const words = ['shutdown', '--config', this.configFile];
    const [code] = await once(startCommand(this.home, words), 'exit');
    return code === 0;
  }

  /** Asks it for a rollout; the exit code. */
  async rollOut(): Promise<number | null> {
    const [code] = await once(
      startCommand(this.home, ['rollout', '--config', this.configFile]),
      'exit',
    );
    return code;
  }
}

/** `unavailable`: another process is the instance. */
const heldExit = 3;
/** What shells say of a program that SIGTERM has ended. */
const toldExit = 143;

/** Its sockets are closed when the last of its threads has ended: when its parent can collect it. */
function isAnyThere(pids: readonly number[]): boolean {
  return allProcesses().some(({ pid }) => pids.includes(pid));
}
