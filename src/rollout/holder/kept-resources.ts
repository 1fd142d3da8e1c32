// What the holder keeps for its serving processes, and its answers to what they ask about it: the processes of MCP
// servers, the listening sockets, and the reaper, which ends everything when the holder is gone. Which serving process
// is the present one is decided in holder.ts.

import { ignored } from '../../kernel/contain.ts';
import { errnoOf } from '../../kernel/errno.ts';
import type { ProcessTable } from '../../supervise/process/watch/process-table.ts';
import { InstanceReaper } from './instance-reaper.ts';
import { KeptChildren, type StartedChild } from './kept-children.ts';
import { KeptListeners } from './kept-listeners.ts';
import type { Asked, Told } from './messages.ts';
import type { RawHandle } from './raw-handle.ts';
import type { ServingProcess } from './serving-process.ts';

/** What is asked about them. */
export type ResourceAsk = Extract<
  Asked,
  {
    readonly op:
      | 'spawn'
      | 'take'
      | 'give'
      | 'released'
      | 'dropped'
      | 'reaper'
      | 'reaper-tell'
      | 'reaper-end'
      | 'keep'
      | 'listener';
  }
>;

export interface ResourceParts {
  /** Random: its processes are found by it. */
  readonly newInstance: () => string;
  readonly table: ProcessTable;
  readonly notice: (text: string) => void;
}

export class KeptResources {
  readonly #parts: ResourceParts;
  readonly #children = new KeptChildren();
  readonly #listeners = new KeptListeners();
  #reaper: InstanceReaper;

  constructor(parts: ResourceParts) {
    this.#parts = parts;
    this.#reaper = this.#newReaper();
  }

  get instance(): string {
    return this.#reaper.instance;
  }

  /** A process that needs it asks again, and is told why it cannot be started. */
  startReaper(): void {
    this.#reaper.start().catch(ignored);
  }

  add(serving: ServingProcess): void {
    this.#reaper.addServing(serving);
  }

  /** `isLast`: it is the serving process, and no other one of the instance works any more. */
  heard(
    from: ServingProcess,
    asked: ResourceAsk,
    handle: RawHandle | undefined,
    isLast: boolean,
  ): void {
    switch (asked.op) {
      case 'spawn':
        return void this.#spawn(from, asked).catch(ignored);
      case 'take':
        return this.#take(from, asked);
      case 'give':
        return this.#children.give(asked.id, from);
      case 'released':
        return this.#children.released(asked.id, from);
      case 'dropped':
        return this.#children.end(asked.id, from);
      case 'reaper':
        return answerWhen(from, asked.ask, this.#reaper.start());
      case 'reaper-tell':
        return this.#reaper.tell(asked.change, asked.what);
      case 'reaper-end':
        // What others still have is ended by it when the holder ends.
        return answerWhen(from, asked.ask, isLast ? this.#reaper.end() : Promise.resolve());
      case 'keep':
        if (handle === undefined) return;
        if (!this.#listeners.keep(asked.name, handle, from.ordinal)) {
          const told = 'too many listening sockets: one is not kept for the next serving process';
          this.#parts.notice(told);
        }
        return;
      case 'listener': {
        const kept = this.#listeners.take(asked.name, from.ordinal);
        if (kept !== undefined) from.tell({ op: 'handle', ask: asked.ask }, kept);
        return answer(from, asked.ask, kept !== undefined);
      }
    }
  }

  /** This one serves: what it does not listen on is closed. */
  serves({ ordinal }: ServingProcess): void {
    this.#listeners.tidy(ordinal);
  }

  /** Another one serves. What this one still had is of no use to anybody. */
  ended(one: ServingProcess): void {
    this.#children.endOf(one);
  }

  /** Nobody has the servers any more: they end, and what is started now belongs to another instance. */
  lose(): void {
    this.#children.releaseAll();
    const lost = this.#reaper;
    this.#reaper = this.#newReaper();
    lost.letGo().catch(ignored);
  }

  async close(): Promise<void> {
    this.#children.releaseAll();
    this.#listeners.closeAll();
    await this.#reaper.letGo();
  }

  #newReaper(): InstanceReaper {
    const { newInstance, table, notice } = this.#parts;
    return new InstanceReaper(newInstance(), table, notice);
  }

  async #spawn(from: ServingProcess, asked: ResourceAsk & { readonly op: 'spawn' }): Promise<void> {
    const { ask } = asked;
    try {
      give(from, ask, await this.#children.spawn(asked, from));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const code = errnoOf(error) ?? (error as { code?: unknown }).code;
      refuse(from, ask, String(code ?? 'unknown error'), text);
    }
  }

  #take(from: ServingProcess, { ask, id }: { readonly ask: number; readonly id: number }): void {
    const child = this.#children.take(id, from);
    if (child === undefined) return refuse(from, ask, 'ESRCH', `there is no child ${id}`);
    give(from, ask, child);
    const exit = this.#children.exitOf(id);
    if (exit !== null) from.exited(id, exit);
  }
}

function give(to: ServingProcess, ask: number, { id, pid, pipes, report }: StartedChild): void {
  for (const pipe of pipes) to.tell({ op: 'handle', ask }, pipe);
  if (report !== undefined) to.tell({ op: 'handle', ask }, report, () => report.close());
  answer(to, ask, { id, pid });
}

export function answer(to: ServingProcess, ask: number, value: unknown): void {
  to.tell({ op: 'answer', ask, value } satisfies Told);
}

export function refuse(to: ServingProcess, ask: number, code: string, text: string): void {
  to.tell({ op: 'refusal', ask, code, text } satisfies Told);
}

function answerWhen(to: ServingProcess, ask: number, done: Promise<void>): void {
  done
    .then(() => answer(to, ask, null))
    .catch((error: unknown) => {
      const text = error instanceof Error ? error.message : String(error);
      const cause = error instanceof Error ? error.cause : undefined;
      refuse(to, ask, errnoOf(cause) ?? 'unknown error', text);
    });
}
