// The parent of real servers, played in the process of a test: it keeps their pipes (named ones), so that one
// spawner after the other can have them, as with the pid-holder of an instance.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { InstanceHolder } from '../../src/host/create-host.ts';
import type {
  ReaperControl,
  StartedProcess,
  StartPlan,
} from '../../src/supervise/process/start/process-starter.ts';

interface Held {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly ends: readonly number[];
}

const streams = ['stdin', 'stdout', 'stderr'] as const;
const noReaper: ReaperControl = {
  start: async () => {},
  add: () => {},
  remove: () => {},
  addCgroup: () => {},
  removeCgroup: () => {},
  [Symbol.asyncDispose]: async () => {},
};

export class PlayedHolder {
  readonly #held = new Map<number, Held>();
  #serving = 0;

  /** As the next serving process has it. */
  next(): InstanceHolder {
    this.#serving += 1;
    return {
      instance: '0123456789abcdef',
      pid: process.pid,
      ordinal: this.#serving,
      isSuccessor: this.#serving > 1,
      reaper: noReaper,
      start: (plan) => this.#start(plan),
      take: async (id) => this.#given(id),
    };
  }

  async #start({ line, env, cwd, hasReport }: StartPlan): Promise<StartedProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'played-holder-'));
    // Open for both directions: they stay when one that has the other end goes.
    const ends = streams.map((name) => {
      execFileSync('mkfifo', [join(folder, name)]);
      return openSync(join(folder, name), constants.O_RDWR);
    });
    const [program = '', ...args] = line;
    const stdio = [...ends, ...(hasReport ? ['pipe' as const] : [])];
    const child = spawn(program, args, { env, cwd, stdio, detached: true });
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
    const { pid = 0 } = child;
    this.#held.set(pid, { child, folder, ends });
    return { ...this.#given(pid), report: (child.stdio[3] as Readable | undefined) ?? null };
  }

  #given(id: number): StartedProcess {
    const held = this.#held.get(id);
    if (!held) throw new Error(`no process ${id}`);
    const { child, folder } = held;
    const end = (name: string, flag: number) => {
      const fd = openSync(join(folder, name), flag | constants.O_NONBLOCK);
      const writable = flag === constants.O_WRONLY;
      return new Socket({ fd, writable, readable: !writable });
    };
    return {
      pid: id,
      events: child,
      stdin: end('stdin', constants.O_WRONLY),
      stdout: end('stdout', constants.O_RDONLY),
      stderr: end('stderr', constants.O_RDONLY),
      report: null,
      held: { id, give: () => {} },
    };
  }

  [Symbol.dispose](): void {
    for (const { child, folder, ends } of this.#held.values()) {
      child.kill('SIGKILL');
      for (const fd of ends) closeSync(fd);
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
