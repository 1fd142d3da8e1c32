// The processes that the holder has started for its serving processes: it is their parent, keeps a copy of our ends of
// their pipes, so that another serving process can have them, and reports the exit of each to the one that has it now.
// It reads nothing from them.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { HeldExit, SpawnRequest } from './messages.ts';
import { type RawHandle, takenFrom } from './raw-handle.ts';

/** A serving process, as far as children are concerned. */
export interface ChildOwner {
  exited(id: number, exit: HeldExit): void;
}

export interface StartedChild {
  readonly id: number;
  readonly pid: number;
  /** stdin, stdout and stderr. */
  readonly pipes: readonly RawHandle[];
  /** The holder keeps no copy: it is closed when it was sent. */
  readonly report: RawHandle | undefined;
}

interface Kept {
  readonly pid: number;
  readonly pipes: readonly RawHandle[];
  /** Null between two serving processes. */
  owner: ChildOwner | null;
  exit: HeldExit | null;
}

export class KeptChildren {
  /** Each until it has ended and its owner has read the rest. */
  readonly #children = new Map<number, Kept>();
  #count = 0;

  /** Throws the system's error, or resolves to it. */
  async spawn(request: SpawnRequest, owner: ChildOwner): Promise<StartedChild> {
    const child = started(request);
    const { pid } = child;
    if (pid === undefined) throw await failure(child);
    child.on('error', () => {});
    const [stdin, stdout, stderr, report] = child.stdio.map((one) => takenFrom(one as Socket));
    // Node would read what is left in them when the process exits.
    (child.stdio as unknown as unknown[]).length = 0;
    if (stdin === undefined || stdout === undefined || stderr === undefined) {
      child.kill('SIGKILL');
      throw new Error('a process was started without its pipes');
    }
    const id = ++this.#count;
    const kept: Kept = { pid, pipes: [stdin, stdout, stderr], owner, exit: null };
    this.#children.set(id, kept);
    child.once('exit', (code, signal) => {
      kept.exit = { code, signal };
      kept.owner?.exited(id, kept.exit);
    });
    return { id, pid, pipes: kept.pipes, report };
  }

  /** Undefined if there is no such child. */
  take(id: number, owner: ChildOwner): StartedChild | undefined {
    const kept = this.#children.get(id);
    if (kept === undefined) return undefined;
    kept.owner = owner;
    return { id, pid: kept.pid, pipes: kept.pipes, report: undefined };
  }

  /** It may have ended before it was taken. */
  exitOf(id: number): HeldExit | null {
    return this.#children.get(id)?.exit ?? null;
  }

  give(id: number, owner: ChildOwner): void {
    const kept = this.#children.get(id);
    if (kept?.owner === owner) kept.owner = null;
  }

  released(id: number, owner: ChildOwner): void {
    const kept = this.#children.get(id);
    if (kept === undefined || kept.owner !== owner) return;
    this.#children.delete(id);
    for (const pipe of kept.pipes) pipe.close();
  }

  /** It has ended, and others go on: the processes that it still had end with it. */
  endOf(owner: ChildOwner): void {
    for (const id of [...this.#children.keys()]) this.end(id, owner);
  }

  /** Nobody uses it, and nobody will. */
  end(id: number, owner: ChildOwner): void {
    const kept = this.#children.get(id);
    if (kept === undefined || kept.owner !== owner) return;
    this.released(id, owner);
    if (kept.exit === null) endGroup(kept.pid);
  }

  /** Their processes are ended by others. */
  releaseAll(): void {
    for (const { pipes } of this.#children.values()) for (const pipe of pipes) pipe.close();
    this.#children.clear();
  }

  get size(): number {
    return this.#children.size;
  }
}

function started({ line, env, cwd, hasReport }: SpawnRequest): ChildProcess {
  const [file = '', ...args] = line;
  return spawn(file, args, {
    env,
    cwd,
    // Its own session and group: our signals reach all of it, and those of our terminal do not.
    detached: true,
    shell: false,
    stdio: hasReport ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
  });
}

/** Its exit has not been told: nobody else has its pid. What has left its group is the reaper's. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended in this moment.
  }
}

/** Some errors are thrown, the others come as an event. */
function failure(child: ChildProcess): Promise<Error> {
  return new Promise((resolve) => child.once('error', resolve));
}
