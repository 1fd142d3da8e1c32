// The pid-holder: the process that a client or init has started with `holdfast serve`. It serves nothing. It is the
// parent of the serving process and of all processes of MCP servers, keeps copies of listening sockets and pipes,
// passes signals on, ends as the serving process ends, and starts another when that dies. In a rollout it starts the
// successor from the files that are there then. What it is told is in `messages.ts`; who reads and writes is elsewhere.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { errnoOf } from '../../kernel/errno.ts';
import type { ProcessTable } from '../../supervise/process/watch/process-table.ts';
import { InstanceReaper } from './instance-reaper.ts';
import { KeptChildren, type StartedChild } from './kept-children.ts';
import { KeptListeners } from './kept-listeners.ts';
import type { Asked, ForwardedSignal, HeldExit, ServingRole } from './messages.ts';
import { programFlaw } from './program-file.ts';
import type { RawHandle } from './raw-handle.ts';
import { afterDeath, type Deaths } from './restarts.ts';
import { ServingProcess } from './serving-process.ts';

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

export class Holder {
  readonly #parts: HolderParts;
  readonly #children = new KeptChildren();
  readonly #listeners = new KeptListeners();
  /** Each until it has exited; at most `maxFormers`. */
  readonly #formers = new Set<ServingProcess>();
  #reaper: InstanceReaper;
  #current: ServingProcess | undefined;
  #successor: ServingProcess | undefined;
  /** Connections that the serving process has given away, until its successor is the serving process. */
  #passed: Passed[] = [];
  /** Successors that are being ended, until they have ended. */
  readonly #abandoned = new WeakSet<ServingProcess>();
  /** Names of variables; at most those that this process has. */
  readonly #usedHooks = new Set<string>();
  #hasServed = false;
  #isEnding = false;
  #deaths: Deaths = [];
  #count = 0;
  #end: (exit: HeldExit) => void = () => {};

  constructor(parts: HolderParts) {
    this.#parts = parts;
    this.#reaper = this.#newReaper();
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
    this.#children.releaseAll();
    this.#closePassed();
    this.#listeners.closeAll();
    await this.#reaper.letGo();
  }

  signal(name: ForwardedSignal): void {
    // Between two serving processes nothing has to be done: the next one is started from the files that are there then.
    if (name === 'SIGHUP') return this.#current?.hangUp();
    this.#isEnding = true;
    if (this.#current === undefined) {
      // Between two serving processes.
      return this.#end({ code: null, signal: name });
    }
    this.#current.signal(name);
  }

  /** It asks for a dump of memory: it reaches the serving process as it is, and is the end of both. */
  quit(): void {
    this.#isEnding = true;
    if (this.#current === undefined) this.#end({ code: null, signal: 'SIGQUIT' });
    else this.#current.kill('SIGQUIT');
  }

  #newReaper(): InstanceReaper {
    const instance = randomBytes(8).toString('hex');
    const notice = (text: string) => this.#notice(text);
    return new InstanceReaper(instance, this.#parts.table, notice);
  }

  #startFirst(): void {
    const started = this.#started('first');
    this.#current = started;
    // A serving process that needs it asks again, and is told why it cannot be started.
    this.#reaper.start().catch(ignored);
    started.ended.then((exit) => this.#currentEnded(started, exit)).catch(ignored);
  }

  #started(role: ServingRole): ServingProcess {
    const { file, args } = this.#parts;
    const introduction = { ordinal: ++this.#count, instance: this.#reaper.instance, role };
    const started: ServingProcess = new ServingProcess(
      { introduction, words: [file, ...args], without: this.#usedHooks },
      (asked, handle) => this.#heard(started, asked, handle),
    );
    this.#reaper.addServing(started);
    return started;
  }

  /** Also a former one, whose exit means nothing. */
  #currentEnded(one: ServingProcess, exit: HeldExit): void {
    if (this.#formers.delete(one)) this.#tellFormers();
    if (this.#current !== one) return;
    this.#current = undefined;
    this.#successor?.kill();
    this.#successor = undefined;
    const isInOrder = one.isInOrder || this.#isEnding || exit.code === 0;
    if (isInOrder || !this.#hasServed || !this.#parts.startsAgain) return this.#end(exit);
    const after = afterDeath(this.#deaths, this.#parts.clock.now());
    const how = exit.signal ?? `exit code ${exit.code}`;
    if (after.kind === 'give-up') {
      this.#parts.complain(
        `the serving process has died again (${how}), too often within a minute: giving up`,
      );
      return this.#end(exit);
    }
    this.#deaths = after.deaths;
    this.#parts.complain(`the serving process has died (${how}); another is started`);
    this.#loseInstance();
    this.#parts.clock.after(after.delayMs, () => {
      if (!this.#isEnding) this.#startFirst();
    });
  }

  /** Nobody has its servers any more: they end, and so does everybody who waits for them. */
  #loseInstance(): void {
    for (const former of this.#formers) former.kill();
    this.#closePassed();
    this.#children.releaseAll();
    const lost = this.#reaper;
    this.#reaper = this.#newReaper();
    lost.letGo().catch(ignored);
  }

  #heard(from: ServingProcess, asked: Asked, handle: RawHandle | undefined): void {
    switch (asked.op) {
      case 'hello':
        from.startedHearing();
        return;
      case 'spawn':
        return void this.#spawn(from, asked).catch(ignored);
      case 'take':
        return this.#take(from, asked);
      case 'give':
        return this.#children.give(asked.id, from);
      case 'released':
        return this.#children.released(asked.id, from);
      case 'reaper':
        return this.#answerWhen(from, asked.ask, this.#reaper.start());
      case 'reaper-tell':
        return this.#reaper.tell(asked.change, asked.what);
      case 'reaper-end':
        // Those of a former are the current one's now.
        return this.#answerWhen(
          from,
          asked.ask,
          from === this.#current ? this.#reaper.end() : Promise.resolve(),
        );
      case 'keep':
        if (handle === undefined) return;
        if (!this.#listeners.keep(asked.name, handle, from.ordinal)) {
          this.#notice('too many listening sockets: one is not kept for the next serving process');
        }
        return;
      case 'listener': {
        const kept = this.#listeners.take(asked.name, from.ordinal);
        if (kept !== undefined) from.tell({ op: 'handle', ask: asked.ask }, kept);
        return from.tell({ op: 'answer', ask: asked.ask, value: kept !== undefined });
      }
      case 'successor':
        return this.#startSuccessor(from, asked.ask);
      case 'abandon':
        return this.#abandon(from, asked.ask);
      case 'claim': {
        const isIts = from === this.#successor && !this.#abandoned.has(from);
        if (isIts) this.#takesOver(from);
        return from.tell({ op: 'answer', ask: asked.ask, value: isIts });
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
    }
  }

  async #spawn(from: ServingProcess, asked: Asked & { readonly op: 'spawn' }): Promise<void> {
    const { ask } = asked;
    try {
      const child = await this.#children.spawn(asked, from);
      this.#give(from, ask, child);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const code = errnoOf(error) ?? (error as { code?: unknown }).code;
      from.tell({ op: 'refusal', ask, code: String(code ?? 'unknown error'), text });
    }
  }

  #take(from: ServingProcess, { ask, id }: { readonly ask: number; readonly id: number }): void {
    const child = this.#children.take(id, from);
    if (child === undefined) {
      return from.tell({ op: 'refusal', ask, code: 'ESRCH', text: `there is no child ${id}` });
    }
    this.#give(from, ask, child);
    const exit = this.#children.exitOf(id);
    if (exit !== null) from.exited(id, exit);
  }

  #give(to: ServingProcess, ask: number, { id, pid, pipes, report }: StartedChild): void {
    for (const pipe of pipes) to.tell({ op: 'handle', ask }, pipe);
    if (report !== undefined) to.tell({ op: 'handle', ask }, report, () => report.close());
    to.tell({ op: 'answer', ask, value: { id, pid } });
  }

  #answerWhen(to: ServingProcess, ask: number, done: Promise<void>): void {
    done
      .then(() => to.tell({ op: 'answer', ask, value: null }))
      .catch((error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        const cause = error instanceof Error ? error.cause : undefined;
        to.tell({ op: 'refusal', ask, code: errnoOf(cause) ?? 'unknown error', text });
      });
  }

  #startSuccessor(from: ServingProcess, ask: number): void {
    const reason = this.#whyNoSuccessor(from);
    if (reason !== undefined) {
      return from.tell({ op: 'refusal', ask, code: reason.code, text: reason.text });
    }
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
    const { link } = successor;
    if (link === undefined) {
      successor.kill();
      return from.tell({ op: 'refusal', ask, code: 'ENOTCONN', text: 'it has no link' });
    }
    from.tell({ op: 'handle', ask }, link, () => link.close());
    from.tell({ op: 'answer', ask, value: null });
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
    const answer = (value: boolean) => from.tell({ op: 'answer', ask, value });
    if (successor === undefined) return answer(from === this.#current);
    this.#abandoned.add(successor);
    successor.kill();
    successor.ended.then(() => answer(true)).catch(ignored);
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
  }

  #serves(from: ServingProcess): void {
    if (from !== this.#current) return;
    this.#hasServed = true;
    this.#listeners.tidy(from.ordinal);
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
