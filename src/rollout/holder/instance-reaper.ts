// The reaper of an instance, as the holder keeps it: the pipe that it reads from is the holder's alone, so it begins
// when the holder is gone, however, and also when the holder lets go of it because a serving process has died without a
// successor. It knows the serving processes too: one that is stopped or hangs would not notice the end of the holder.

import { contain } from '../../kernel/contain.ts';
import { Reaper } from '../../supervise/process/contain/reaper.ts';
import { processEnvironment } from '../../supervise/process/start/environment.ts';
import type { ProcessTable } from '../../supervise/process/watch/process-table.ts';
import type { HeldExit, ReaperFact } from './messages.ts';

export interface ReapedProcess {
  readonly pid: number | undefined;
  readonly ended: Promise<HeldExit>;
}

export class InstanceReaper {
  readonly instance: string;
  readonly #reaper: Reaper;
  readonly #table: ProcessTable;
  readonly #notice: (text: string) => void;

  constructor(instance: string, table: ProcessTable, notice: (text: string) => void) {
    this.instance = instance;
    this.#table = table;
    this.#notice = notice;
    this.#reaper = new Reaper({
      instance,
      procDir: '/proc',
      sourceEnv: processEnvironment(),
      notice,
    });
  }

  /** Again after a failure. Throws a Fault. */
  start(): Promise<void> {
    return this.#reaper.start();
  }

  /** Also ends this one: it, and nothing below it. */
  addServing({ pid, ended }: ReapedProcess): void {
    const add = async (): Promise<void> => {
      const found = pid === undefined ? null : await this.#table.find(pid);
      if (found === null) return;
      this.#reaper.addHost(found);
      await ended;
      this.#reaper.removeHost(found);
    };
    add().catch((error: unknown) =>
      this.#notice(`the reaper does not know process ${pid}: ${error}`),
    );
  }

  tell(change: 'add' | 'remove', what: ReaperFact): void {
    contain(
      () => {
        if ('cgroup' in what) {
          if (change === 'add') this.#reaper.addCgroup(what.cgroup);
          else this.#reaper.removeCgroup(what.cgroup);
        } else if (change === 'add') this.#reaper.add(what);
        else this.#reaper.remove(what);
      },
      (error) => this.#notice(`the reaper cannot be told: ${error}`),
    );
  }

  /** In good order: it ends nothing. */
  end(): Promise<void> {
    return this.#reaper[Symbol.asyncDispose]();
  }

  /** It ends everything that it knows and that carries the mark of the instance; resolves when it has. */
  letGo(): Promise<void> {
    return this.#reaper.letGo();
  }
}
