// The contract of one child process and everything below it. `upstream/stdio` uses it,
// `supervise/process` implements it with the operating system, and the simulation implements it on
// a virtual clock. It moves bytes and signals and does not interpret MCP.

/** What ends a child's process tree when the host dies. */
export type Containment = 'pidns' | 'cgroup' | 'marker' | 'group';

export interface ChildSpec {
  /** Name in the config; used in messages and for the cgroup. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Declared variables, added to the safe set. */
  readonly env: Readonly<Record<string, string>>;
  /** More variables to pass on: "NAME" or "PREFIX_*". */
  readonly inheritEnv: readonly string[];
  /** Of those that can make a program run other code, the ones that a pattern may pass on. */
  readonly allowEnv?: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** That is the folder of a client, not of the config. */
  readonly isClientFolder?: boolean;
  readonly memoryMb: number | null;
  readonly processes: number | null;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Set when we ended it for breaking a limit. */
  readonly limit?: 'memoryMb' | 'processes';
}

/** Called by the child's shell; never before `spawn` has returned. */
export interface ChildListener {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** stdout has ended; the process may still be alive. */
  ended(): void;
  /** The process is gone. Called exactly once; nothing follows it. */
  exited(exit: Exit): void;
}

export interface Child {
  readonly pid: number;
  readonly containment: Containment;
  /** Whether the folders that processes should not see are all hidden from it. */
  readonly isStateHidden: boolean;
  /**
   * How its `limits` are enforced: by the kernel, by polling, or not at all because none is set.
   */
  readonly enforced: 'cgroup' | 'poll' | 'none';
  /**
   * One write at a time: the caller waits for `done` before the next. `done` may be called before
   * `write` returns. A string is written as UTF-8.
   */
  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void;
  closeStdin(): void;
  /** Stops and resumes reading stdout, for back-pressure. */
  pause(): void;
  resume(): void;
  /** Sends the signal to the whole tree that can be reached. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
  /** After the exit: ends the remaining processes of the tree. Resolves to how many there were. */
  sweep(): Promise<number>;
  /**
   * Gives the process up to the next serving process of the same holder, with everything that was
   * read and not reported: from then on nothing is reported or written here any more. Waits for a
   * write under way. Throws a Fault if the process is ending, and then nothing has changed. Absent:
   * it cannot be handed over.
   */
  readonly handOver?: () => Promise<HandedChild>;
}

/** JSON, which means something to the process layer of the same holder only. */
export interface ChildState {
  /** By which the holder knows the process. */
  readonly id: number;
}

/** A child between two serving processes. */
export interface HandedChild {
  readonly state: ChildState;
  /** What was read and not reported. */
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** Starts a child. Throws a Fault (`unavailable`, dispatched `no`) when it cannot be started. */
export type Spawn = (spec: ChildSpec, listener: ChildListener) => Promise<Child>;

/**
 * Takes over a child that an earlier serving process of the same holder has given up. Throws a Fault
 * if its state is not one that this version understands, or the holder does not know it.
 */
export type Adopt = (handed: HandedChild, listener: ChildListener) => Promise<Child>;
