// One serving process, as the holder sees it: how it is started, what it has said about itself, and when it is gone.
// A signal goes to it as a message while it hears messages, because a terminal or a service manager may send the same
// signal to it directly, and a second one would end it at once; before and after that, as the signal itself.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { processEnvironment } from '../../supervise/process/start/environment.ts';
import { holderVariable } from './holder-variable.ts';
import {
  type Asked,
  askedIn,
  type EndingSignal,
  type HeldExit,
  type Introduction,
  introductionText,
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
  /** It hears messages. */
  #hears = false;
  /** It was hung up before it heard messages. */
  #isHungUp = false;
  /** It has said that its exit is the end of all, or was told to end. */
  isInOrder = false;
  hasServed = false;
  #hasStopped = false;
  readonly #child: ChildProcess;
  /** What waits for a message to be sent, each until it is, or the process has ended. */
  readonly #unsent = new Set<() => void>();

  constructor(
    { introduction, words, without = new Set() }: ServingPlan,
    heard: (asked: Asked, handle: RawHandle | undefined) => void,
  ) {
    this.ordinal = introduction.ordinal;
    const isSuccessor = introduction.role === 'successor';
    const child = spawn(process.execPath, [...process.execArgv, ...words], {
      env: { ...environment(without), [holderVariable]: introductionText(introduction) },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', ...(isSuccessor ? (['pipe'] as const) : [])],
    });
    this.#child = child;
    const link = child.stdio[4] as Socket | undefined;
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
    return this.#child.pid;
  }

  /** `sent` is called when the handle is no longer needed here, sent or not. */
  tell(told: Told, handle?: RawHandle, sent: () => void = () => {}): void {
    if (!this.#child.connected) return sent();
    const once = () => {
      if (this.#unsent.delete(once)) sent();
    };
    this.#unsent.add(once);
    // It may end at this moment: then nobody needs to be told.
    this.#child.send(told, handle as never, {}, once);
  }

  exited(id: number, exit: HeldExit): void {
    this.tell({ op: 'exited', id, ...exit });
  }

  get hears(): boolean {
    return this.#hears && !this.#hasStopped;
  }

  /** To be ended. */
  signal(name: EndingSignal): void {
    this.isInOrder = true;
    if (this.hears) this.tell({ op: 'signal', name });
    else this.kill(name);
  }

  /** A wish for a rollout, which ends nothing: one that is loading hears of it as soon as it can, and one that is ending never. */
  hangUp(): void {
    if (this.hears) this.tell({ op: 'hangup' });
    else this.#isHungUp = true;
  }

  startedHearing(): void {
    this.#hears = true;
    if (this.#isHungUp) this.hangUp();
    this.#isHungUp = false;
  }

  stoppedHearing(): void {
    this.#hasStopped = true;
  }

  kill(name: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(name);
  }
}

function ended(child: ChildProcess): Promise<HeldExit> {
  return new Promise((resolve) => {
    let exit: HeldExit | undefined;
    const look = () => {
      if (exit !== undefined && !child.connected) resolve(exit);
    };
    child.on('error', (error) => {
      // What cannot be told to one that ends at this moment need not be.
      if (child.pid !== undefined) return;
      process.stderr.write(`holdfast: cannot start ${process.execPath}: ${error.message}\n`);
      resolve({ code: cannotStart, signal: null });
    });
    child.once('exit', (code, signal) => {
      exit = { code, signal };
      look();
    });
    child.once('disconnect', look);
  });
}

/** Of the exit codes: a part of what is needed is not available. */
const cannotStart = 3;

function environment(without: ReadonlySet<string>): NodeJS.ProcessEnv {
  const kept = Object.entries(processEnvironment()).filter(([name]) => !without.has(name));
  return Object.fromEntries(kept);
}
