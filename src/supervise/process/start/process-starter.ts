// The contract of whoever starts processes: this process itself, or the pid-holder of a gateway, which is then their
// parent and can give them to another serving process. Both hand out the same: a pid, our ends of the pipes, and two
// events of Node, 'exit' and, when the pipes are closed as well, 'close'.

import type { Readable, Writable } from 'node:stream';
import type { ProcessIdentity } from '../watch/process-table.ts';

export interface StartPlan {
  /** The whole command line, its first word absolute. */
  readonly line: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Whether a wrapper reports that the server exists. */
  readonly hasReport: boolean;
}

/** What Node says about the end of a process. */
export interface ProcessEvents {
  once(name: 'exit', heard: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  once(name: 'close', heard: () => void): unknown;
  off(name: 'close', heard: () => void): unknown;
}

export interface StartedProcess {
  readonly pid: number;
  readonly events: ProcessEvents;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Where a wrapper reports that the server exists. */
  readonly report: Readable | null;
  /** Absent if its parent is this process: nobody else can have it. */
  readonly held?: HeldByHolder;
}

export interface HeldByHolder {
  /** By which another serving process of the same holder takes it. */
  readonly id: number;
  /** Its exit is nothing to us any more. */
  give(): void;
}

/** What ends everything when the holder is gone; see `Reaper`. */
export interface ReaperControl {
  /** Throws a Fault if there is none and none can be started. */
  start(): Promise<void>;
  add(identity: ProcessIdentity): void;
  remove(identity: ProcessIdentity): void;
  addCgroup(dir: string): void;
  removeCgroup(dir: string): void;
  /** The orderly end: nothing is swept. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The holder, as the process layer of a serving process uses it. */
export interface ProcessHolder {
  readonly pid: number;
  /** The number of this serving process among those of the holder, from 1. */
  readonly ordinal: number;
  /** It has the servers of another serving process, or will have them. */
  readonly isSuccessor: boolean;
  readonly reaper: ReaperControl;
  /** Rejects with the system's error. */
  start(plan: StartPlan): Promise<StartedProcess>;
  /** Rejects if the holder has no such child. */
  take(id: number): Promise<StartedProcess>;
}
