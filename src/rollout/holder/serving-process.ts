// One serving process, as the holder sees it: how it is started, what it has said about itself, and when it is gone.
// A signal goes to it as a message while it hears messages, because a terminal or a service manager may send the same
// signal to it directly, and a second one would end it at once; before and after that, as the signal itself.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { ignored } from '../../kernel/contain.ts';
import { processEnvironment } from '../../supervise/process/start/environment.ts';
import { holderVariable } from './holder-variable.ts';
import {
  type Asked,
  askedIn,
  type ForwardedSignal,
  type HeldExit,
  type Introduction,
  introductionText,
  linkDescriptor,
  type Told,
} from './messages.ts';
import { type RawHandle, rawHandle, takenFrom } from './raw-handle.ts';

export interface ServingPlan {
  readonly introduction: Introduction;
  /** The program's file and its arguments. */
  readonly words: readonly string[];
  /** The names of variables that it does not get. */
  readonly without?: ReadonlySet<string>;
}

export class ServingProcess {
  readonly ordinal: number;
  /** Resolves when it has exited and nothing more of what it said is to be read. */
  readonly ended: Promise<HeldExit>;
  /** The incumbent's end of the link to a successor; it belongs to whoever takes it. */
  readonly link: RawHandle | undefined;
  /** Resolves to why there is no process; undefined: there is one. */
  readonly notStarted: Promise<Error> | undefined;
  /** It hears messages. */
  hears = false;
  /** It has said that its exit is the end of all, or was told to end. */
  isInOrder = false;
  /** It has said that it serves. */
  hasServed = false;
  /** How many signals it was sent that end it. */
  signals = 0;
  #hasStopped = false;
  readonly #child: ChildProcess | undefined;
  /** What waits for a message to be sent, each until it is, or the process has ended. */
  readonly #unsent = new Set<() => void>();

  constructor(
    { introduction, words, without = new Set() }: ServingPlan,
    heard: (asked: Asked, handle: RawHandle | undefined) => void,
  ) {
    this.ordinal = introduction.ordinal;
    const isSuccessor = introduction.role === 'successor';
    const env = { ...environment(without), [holderVariable]: introductionText(introduction) };
    const child = started(words, env, isSuccessor);
    if (child instanceof Promise) {
      this.notStarted = child;
      this.ended = child.then(() => ({ code: cannotStartCode, signal: null }));
      return;
    }
    this.#child = child;
    const link = child.stdio[linkDescriptor] as Socket | undefined;
    this.link = link === undefined ? undefined : takenFrom(link);
    child.on('message', (message, handle) => {
      const asked = askedIn(message);
      const given = rawHandle(handle);
      if (asked === undefined) given?.close();
      else heard(asked, given);
    });
    // What lies in the channel of one that was killed is neither sent nor dropped by Node: its handles stay open.
    this.ended = ended(child).then((exit) => {
      for (const sent of this.#unsent) sent();
      return exit;
    });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** `sent` is called when the handle is no longer needed here, sent or not. */
  tell(told: Told, handle?: RawHandle, sent: () => void = () => {}): void {
    const child = this.#child;
    if (child?.connected !== true) return sent();
    const once = () => {
      if (this.#unsent.delete(once)) sent();
    };
    this.#unsent.add(once);
    // It may end at this moment: then nobody needs to be told.
    child.send(told, handle as never, {}, once);
  }

  exited(id: number, exit: HeldExit): void {
    this.tell({ op: 'exited', id, ...exit });
  }

  /** In good order, or at once if it is the second one. */
  signal(name: ForwardedSignal): void {
    this.signals += 1;
    this.isInOrder = true;
    if (this.#isTold) this.tell({ op: 'signal', name });
    else this.kill(name);
  }

  /** False: it does not hear it. */
  hangup(): boolean {
    if (this.#isTold) this.tell({ op: 'hangup' });
    return this.#isTold;
  }

  get #isTold(): boolean {
    return this.hears && !this.#hasStopped;
  }

  stoppedHearing(): void {
    this.#hasStopped = true;
  }

  kill(name: NodeJS.Signals = 'SIGKILL'): void {
    this.#child?.kill(name);
  }
}

/** The process; or why there is none, which Node throws or tells in the next turn. */
function started(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  isSuccessor: boolean,
): ChildProcess | Promise<Error> {
  let child: ChildProcess;
  try {
    child = spawn(process.execPath, [...process.execArgv, ...words], {
      env,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', ...(isSuccessor ? (['pipe'] as const) : [])],
    });
  } catch (error) {
    return Promise.resolve(error instanceof Error ? error : new Error(String(error)));
  }
  if (child.pid !== undefined) return child;
  // Where there were too many open files, it has not even got any.
  const pipes: ChildProcess['stdio'] | undefined = child.stdio;
  for (const pipe of pipes ?? []) pipe?.destroy();
  return new Promise((resolve) => child.on('error', resolve));
}

function ended(child: ChildProcess): Promise<HeldExit> {
  return new Promise((resolve) => {
    let exit: HeldExit | undefined;
    const look = () => {
      if (exit !== undefined && !child.connected) resolve(exit);
    };
    // What cannot be told to one that ends at this moment need not be.
    child.on('error', ignored);
    child.once('exit', (code, signal) => {
      exit = { code, signal };
      look();
    });
    child.once('disconnect', look);
  });
}

/** Of the exit codes: a part of what is needed is not available. */
export const cannotStartCode = 3;

function environment(without: ReadonlySet<string>): NodeJS.ProcessEnv {
  const kept = Object.entries(processEnvironment()).filter(([name]) => !without.has(name));
  return Object.fromEntries(kept);
}
