// The pid-holder: the process that a client or init has started with `holdfast serve`. It serves nothing. It is the
// parent of the serving process and of all processes of MCP servers, passes signals on, ends as the serving process
// ends, and starts another when that dies. In a rollout it starts the successor from the files that are there then.
// What it is told is in `messages.ts`, what it keeps for serving processes in `kept-resources.ts`.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { contain, ignored } from '../../kernel/contain.ts';
import { errnoOf } from '../../kernel/errno.ts';
import type { ProcessTable } from '../../supervise/process/watch/process-table.ts';
import { answer, KeptResources, refuse } from './kept-resources.ts';
import type { Asked, ForwardedSignal, HeldExit, ServingRole } from './messages.ts';
import { programFlaw } from './program-file.ts';
import type { RawHandle } from './raw-handle.ts';
import { afterDeath, type Deaths } from './restarts.ts';
import { cannotStartCode, ServingProcess } from './serving-process.ts';

export interface HolderParts {
  readonly clock: Clock;
  readonly table: ProcessTable;
  /** The real path of the program, and its arguments. */
  readonly file: string;
  readonly args: readonly string[];
  /** A client on the standard streams knows nothing of another process: it has to begin anew. */
  readonly startsAgain: boolean;
  readonly complain: (text: string) => void;
}

interface Passed {
  readonly head: unknown;
  readonly handle: RawHandle;
}

/** Serving processes that only end what they have begun; with more, a rollout has to wait. */
const maxFormers = 4;
/** A second signal ends the serving process at once: it takes so long only if it hangs. */
const atOnceMs = 2_000;
/** Taking over is a matter of hundredths of a second. */
const takingMs = 30_000;

export class Holder {
  readonly #parts: HolderParts;
  readonly #kept: KeptResources;
  /** Each until it has exited; at most `maxFormers`. */
  readonly #formers = new Set<ServingProcess>();
  #current: ServingProcess | undefined;
  #successor: ServingProcess | undefined;
  /** Connections that the serving process has given away, until its successor is the serving process. */
  #passed: Passed[] = [];
  /** Successors that are being ended, until they have ended. */
  readonly #abandoned = new WeakSet<ServingProcess>();
  /** Names of variables; at most those that this process has. */
  readonly #usedHooks = new Set<string>();
  #hasServed = false;
  /** It ends, because of this signal if there was one. */
  #isEnding = false;
  #endSignal: ForwardedSignal | undefined;
  /** A rollout is wanted, and the serving process does not hear yet. */
  #isHangupWaiting = false;
  #deaths: Deaths = [];
  #count = 0;
  #end: (exit: HeldExit) => void = () => {};

  constructor(parts: HolderParts) {
    this.#parts = parts;
    this.#kept = new KeptResources({
      newInstance: () => randomBytes(8).toString('hex'),
      table: parts.table,
      notice: (text) => this.#notice(text),
    });
  }

  /** Resolves to how it has to exit. */
  run(): Promise<HeldExit> {
    return new Promise((resolve) => {
      this.#end = resolve;
      this.#startFirst();
    });
  }

  /** After the end: what is left of the instance is ended. A process that exits does that by its exit. */
  async close(): Promise<void> {
    this.#isEnding = true;
    for (const one of [...this.#formers, this.#successor, this.#current]) one?.kill();
    this.#closePassed();
    await this.#kept.close();
  }

  /** The end, in good order; a second one ends it at once. */
  signal(name: ForwardedSignal): void {
    this.#isEnding = true;
    // Between two serving processes there is nothing to end.
    if (this.#current === undefined) return this.#end({ code: null, signal: name });
    this.#endSignal = name;
    this.#current.signal(name);
    if (this.#current.signals === 2) this.#endsSoon(this.#current);
  }

  /** It is to end at once: one that hangs does not. */
  #endsSoon(current: ServingProcess): void {
    const timer = this.#parts.clock.after(atOnceMs, () => current.kill());
    current.ended.then(() => timer[Symbol.dispose]()).catch(ignored);
  }

  /** A rollout. Between two serving processes it is under way: the next is started from the files that are there. */
  hangup(): void {
    if (this.#current !== undefined) this.#isHangupWaiting = !this.#current.hangup();
  }

  /** It asks for a dump of memory: it reaches the serving process as it is, and is the end of both. */
  quit(): void {
    this.#isEnding = true;
    if (this.#current === undefined) this.#end({ code: null, signal: 'SIGQUIT' });
    else this.#current.kill('SIGQUIT');
  }

  /** It is shown, and nothing ends. */
  unexpected(error: unknown): void {
    this.#parts.complain(`internal error in the pid-holder: ${textOf(error)}`);
  }

  #startFirst(): void {
    const started = this.#started('first');
    this.#current = started;
    this.#kept.startReaper();
    const { notStarted, ended } = started;
    notStarted?.then((error) => this.#parts.complain(cannotStart(error))).catch(ignored);
    ended.then((exit) => this.#currentEnded(started, exit)).catch(ignored);
  }

  #started(role: ServingRole): ServingProcess {
    const { file, args } = this.#parts;
    const introduction = { ordinal: ++this.#count, instance: this.#kept.instance, role };
    const started: ServingProcess = new ServingProcess(
      { introduction, words: [file, ...args], without: this.#usedHooks },
      // An unexpected error costs the message: everything of the instance hangs on this process.
      (asked, handle) =>
        contain(
          () => this.#heard(started, asked, handle),
          (error) => this.unexpected(error),
        ),
    );
    this.#kept.add(started);
    return started;
  }

  /** Also a former one, whose exit means nothing. */
  #currentEnded(one: ServingProcess, exit: HeldExit): void {
    if (this.#formers.delete(one)) this.#tellFormers();
    if (this.#current !== one) return this.#kept.ended(one);
    this.#current = undefined;
    this.#successor?.kill();
    this.#successor = undefined;
    // One that has ended well has served before; a new version that does nothing ends well, too.
    const isInOrder = one.isInOrder || this.#isEnding || (exit.code === 0 && one.hasServed);
    if (isInOrder || !this.#hasServed || !this.#parts.startsAgain) return this.#end(exit);
    this.#loseInstance();
    this.#startAgain(exit, `the serving process has died (${exitText(exit)})`);
  }

  /** Later and later, and not for ever. */
  #startAgain(exit: HeldExit, what: string): void {
    const { clock, complain, file } = this.#parts;
    const after = afterDeath(this.#deaths, clock.now());
    if (after.kind === 'give-up') {
      complain(`${what}, too often within a minute: giving up`);
      return this.#end(exit.code === 0 ? { code: cannotStartCode, signal: null } : exit);
    }
    this.#deaths = after.deaths;
    complain(`${what}; another is started`);
    clock.after(after.delayMs, () => {
      if (this.#isEnding) return;
      // It may be another file by now.
      const flaw = programFlaw(file);
      if (flaw === undefined) this.#startFirst();
      else {
        const none = { code: cannotStartCode, signal: null };
        this.#startAgain(none, `no other process can be started: ${flaw}`);
      }
    });
  }

  /** Nobody has its servers any more: they end, and so does everybody who waits for them. */
  #loseInstance(): void {
    for (const former of this.#formers) former.kill();
    this.#closePassed();
    this.#kept.lose();
  }

  #heard(from: ServingProcess, asked: Asked, handle: RawHandle | undefined): void {
    switch (asked.op) {
      case 'hello':
        from.hears = true;
        if (this.#isHangupWaiting) this.hangup();
        return;
      case 'successor':
        return this.#startSuccessor(from, asked.ask);
      case 'abandon':
        return this.#abandon(from, asked.ask);
      case 'claim': {
        const isIts = from === this.#successor && !this.#abandoned.has(from);
        if (isIts) this.#takesOver(from);
        return answer(from, asked.ask, isIts);
      }
      case 'serving':
        return this.#serves(from);
      case 'hook-used':
        this.#usedHooks.add(asked.name);
        return;
      case 'exiting':
        from.stoppedHearing();
        from.isInOrder ||= asked.isInOrder;
        return;
      case 'pass':
        return this.#pass(from, asked.head, handle);
      default: {
        const isLast = from === this.#current && this.#formers.size === 0;
        return this.#kept.heard(from, asked, handle, isLast);
      }
    }
  }

  #startSuccessor(from: ServingProcess, ask: number): void {
    const reason = this.#whyNoSuccessor(from);
    if (reason !== undefined) return refuse(from, ask, reason.code, reason.text);
    const successor = this.#started('successor');
    this.#successor = successor;
    successor.ended
      .then((exit) => {
        if (this.#successor === successor) {
          this.#successor = undefined;
          this.#current?.tell({ op: 'successor-ended', ...exit });
        } else this.#currentEnded(successor, exit);
      })
      .catch(ignored);
    const { link, notStarted } = successor;
    if (link !== undefined) {
      from.tell({ op: 'handle', ask }, link, () => link.close());
      return answer(from, ask, null);
    }
    successor.kill();
    const why = notStarted ?? Promise.resolve(new Error('it has no link'));
    why
      .then((error) => refuse(from, ask, errnoOf(error) ?? 'ENOTCONN', cannotStart(error)))
      .catch(ignored);
  }

  #whyNoSuccessor(
    from: ServingProcess,
  ): { readonly code: string; readonly text: string } | undefined {
    if (from !== this.#current || this.#isEnding || from.isInOrder) {
      return { code: 'ending', text: 'the instance is ending' };
    }
    if (this.#successor !== undefined) return { code: 'busy', text: 'a rollout is under way' };
    if (this.#formers.size >= maxFormers) {
      return { code: 'busy', text: `${maxFormers} earlier processes still end their work` };
    }
    const flaw = programFlaw(this.#parts.file);
    return flaw === undefined ? undefined : { code: 'program', text: flaw };
  }

  #abandon(from: ServingProcess, ask: number): void {
    const successor = from === this.#current ? this.#successor : undefined;
    if (successor === undefined) return answer(from, ask, from === this.#current);
    this.#abandoned.add(successor);
    successor.kill();
    successor.ended.then(() => answer(from, ask, true)).catch(ignored);
  }

  /** It is the serving process, and about to use what its incumbent has used. */
  #takesOver(successor: ServingProcess): void {
    if (this.#current !== undefined) this.#formers.add(this.#current);
    this.#successor = undefined;
    this.#current = successor;
    this.#tellFormers();
    const passed = this.#passed;
    this.#passed = [];
    for (const { head, handle } of passed) passTo(successor, head, handle);
    // It has come while this one was not the serving process yet.
    if (this.#endSignal !== undefined) successor.signal(this.#endSignal);
    this.#followTaking(successor);
  }

  /** Nobody else can serve any more: one that hangs is as good as dead. */
  #followTaking(successor: ServingProcess): void {
    const late = () => {
      if (successor.hasServed) return;
      this.#parts.complain('the new version has taken over and does not serve: it is ended');
      successor.kill();
    };
    const timer = this.#parts.clock.after(takingMs, late, true);
    successor.ended.then(() => timer[Symbol.dispose]()).catch(ignored);
  }

  #serves(from: ServingProcess): void {
    if (from !== this.#current) return;
    this.#hasServed = true;
    from.hasServed = true;
    this.#kept.serves(from);
  }

  #tellFormers(): void {
    this.#current?.tell({ op: 'formers', count: this.#formers.size });
  }

  /** To the one that serves; it waits while that is the one that gives it away, because a successor may be lost before. */
  #pass(from: ServingProcess, head: unknown, handle: RawHandle | undefined): void {
    const to = this.#current;
    if (to === undefined || handle === undefined) return handle?.close();
    if (from === to) this.#passed.push({ head, handle });
    else passTo(to, head, handle);
  }

  /** Their clients come again. */
  #closePassed(): void {
    for (const { handle } of this.#passed) handle.close();
    this.#passed = [];
  }

  #notice(text: string): void {
    if (this.#current?.hears) this.#current.tell({ op: 'notice', text });
    else this.#parts.complain(text);
  }
}

function passTo(to: ServingProcess, head: unknown, handle: RawHandle): void {
  to.tell({ op: 'passed', head }, handle, () => handle.close());
}

function cannotStart(error: Error): string {
  return `cannot start ${process.execPath}: ${error.message}`;
}

function exitText({ code, signal }: HeldExit): string {
  return signal ?? `exit code ${code}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
