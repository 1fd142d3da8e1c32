// Starts children and owns them: the only connection between Holdfast and the processes of the
// operating system. Before the first child it ends the orphans of dead hosts, finds out which
// containment works here, and starts the reaper; when it is disposed everything it started is
// ended. `start-child.ts` starts a child, `posix-child.ts` is a running one.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { type Clock, within } from '../../../kernel/clock.ts';
import { ignored } from '../../../kernel/contain.ts';
import { Fault } from '../../../kernel/fault.ts';
import { shortageOf } from '../../../kernel/shortage.ts';
import type {
  Adopt,
  Child,
  ChildListener,
  ChildSpec,
  Containment,
  HandedChild,
  Spawn,
} from '../../child.ts';
import { type HiddenFolder, hidesAll, strongestContainment } from '../contain/containment.ts';
import { InstanceRecord } from '../contain/instance-record.ts';
import { noCgroups, ownCgroups } from '../contain/own-cgroups.ts';
import { Reaper } from '../contain/reaper.ts';
import { sweepOrphans } from '../end/orphan-sweep.ts';
import type { ProcessTable } from '../watch/process-table.ts';
import { isForeign, systemProcesses } from '../watch/system-processes.ts';
import { Rounds } from '../watch/tree-watch.ts';
import type { Environment } from './environment.ts';
import type { PosixChild } from './posix-child.ts';
import type { ProcessHolder, ReaperControl } from './process-starter.ts';
import { type ChildFactory, startChild, takeOver } from './start-child.ts';

export interface SpawnerOptions {
  readonly clock: Clock;
  /** Unique to this host; letters, digits, `-` and `_`. */
  readonly instance: string;
  /** Where this host records what it runs, for the sweep at the next start; null: nowhere. */
  readonly stateDir: string | null;
  /** Our own environment; see `processEnvironment`. */
  readonly sourceEnv: Environment;
  /** The containments that may be used; all of them if left out. `group` always may. */
  readonly containments?: readonly Containment[];
  /** Folders that the processes should not see, if that is possible: absolute, and without links. */
  readonly hidden?: readonly string[];
  /** Whether cgroups may be created, for containment and for limits. True if absent. */
  readonly useCgroups?: boolean;
  /** Another place for /proc. */
  readonly procDir?: string;
  /** The parent of the processes, where it is another process than this one. */
  readonly holder?: ProcessHolder | undefined;
  /** What the operator should know although nothing has failed; one line each. */
  readonly notice?: (message: string) => void;
}

/** Those that are there, by their real paths: nothing can be mounted over a link. */
function realFolders(folders: readonly string[]): readonly HiddenFolder[] {
  const paths = folders.filter((folder) => existsSync(folder)).map((at) => realpathSync(at));
  return [...new Set(paths)].map((path) => {
    const { dev, ino } = statSync(path);
    return { path, dev, ino };
  });
}

/** Far more than one process ever starts. */
const numbersEach = 1_000_000;
/** A process that hangs in the kernel has no exit to tell. */
const toldMs = 2000;

export interface Spawner extends AsyncDisposable {
  readonly spawn: Spawn;
  /** With a holder only. */
  readonly adopt: Adopt;
  /**
   * Everything was handed over: another process of the holder goes on with the record, the reaper
   * and what they know. Children that are still here are ended when this is disposed of.
   */
  leave(): Promise<void>;
  /** The containment of the next child. */
  containment(): Promise<Containment>;
  /** Whether the next child sees nothing of the folders that should be hidden. */
  hidesFolders(): Promise<boolean>;
}

export function createSpawner(options: SpawnerOptions): Spawner {
  if (!/^[\w-]{4,64}$/.test(options.instance)) {
    throw new Fault('internal', `'${options.instance}' cannot be the id of an instance`);
  }
  return new PosixSpawner(options);
}

/** Whatever the error, nothing was dispatched and the server is not running. */
function startFault(error: unknown, server: string): Fault {
  if (error instanceof Fault) return error.with({ server });
  const shortage = shortageOf(error);
  if (shortage !== undefined) {
    const detail = `'${server}' could not be started: ${shortage}`;
    return new Fault('overloaded', detail, { server, dispatched: 'no' }, error);
  }
  const { code = 'unknown error', syscall = 'a system call' } = error as NodeJS.ErrnoException;
  const detail = `'${server}' could not be started: ${syscall} failed (${code})`;
  return new Fault('unavailable', detail, { server, dispatched: 'no' }, error);
}

class PosixSpawner implements Spawner {
  readonly #options: SpawnerOptions;
  readonly #procDir: string;
  readonly #table: ProcessTable;
  readonly #rounds: Rounds;
  readonly #reaper: ReaperControl;
  /** Until they are swept. */
  readonly #children = new Set<PosixChild>();
  /** Starts that are under way, until they succeed or fail. */
  readonly #starts = new Set<Promise<Child>>();
  #factory: Promise<ChildFactory> | undefined;
  /**
   * From the first preparation on, also if that fails: whatever was written is removed at the end.
   */
  #record: InstanceRecord | undefined;
  #ending: Promise<void> | undefined;
  #count: number;
  #hasLeft = false;
  /** The record of a predecessor is ours from the first child on. */
  #recording: Promise<void> | undefined;

  constructor(options: SpawnerOptions) {
    this.#options = options;
    this.#procDir = options.procDir ?? '/proc';
    this.#table = systemProcesses(this.#procDir);
    this.#rounds = new Rounds(options.clock);
    const { holder, instance, sourceEnv } = options;
    const [procDir, notice] = [this.#procDir, this.#notice];
    this.#reaper = holder?.reaper ?? new Reaper({ instance, procDir, sourceEnv, notice });
    // No two children of an instance have the same number, also after a rollout.
    this.#count = ((holder?.ordinal ?? 1) - 1) * numbersEach;
  }

  readonly spawn: Spawn = (spec, listener) => {
    const start = this.#spawn(spec, listener);
    this.#starts.add(start);
    const settled = (): boolean => this.#starts.delete(start);
    start.finally(settled).catch(ignored);
    return start;
  };

  readonly adopt: Adopt = (handed, listener) => {
    const start = this.#adopt(handed, listener);
    this.#starts.add(start);
    const settled = (): boolean => this.#starts.delete(start);
    start.finally(settled).catch(ignored);
    return start;
  };

  async leave(): Promise<void> {
    this.#hasLeft = true;
    await Promise.allSettled(this.#starts);
    await this.#record?.handOver();
  }

  async containment(): Promise<Containment> {
    return (await this.#prepared()).plan.kind;
  }

  async hidesFolders(): Promise<boolean> {
    return hidesAll((await this.#prepared()).plan);
  }

  /** Ends every child at once: a caller that wants an orderly stop does that before. Idempotent. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #spawn(spec: ChildSpec, listener: ChildListener): Promise<Child> {
    this.#assertOpen(spec);
    const number = ++this.#count;
    const child = await this.#recorded()
      .then((factory) => startChild(factory, spec, number))
      .catch((error: unknown) => {
        throw startFault(error, spec.name);
      });
    return this.#begun(child, listener);
  }

  async #adopt(handed: HandedChild, listener: ChildListener): Promise<Child> {
    if (this.#ending !== undefined) throw new Fault('unavailable', 'the host is ending');
    const child = await this.#recorded()
      .then((factory) => takeOver(factory, handed))
      .catch((error: unknown) => {
        if (error instanceof Fault) throw error;
        throw new Fault('unavailable', `the process was not handed over: ${error}`, {}, error);
      });
    return this.#begun(child, listener);
  }

  #begun(child: PosixChild, listener: ChildListener): Child {
    this.#children.add(child);
    child.swept.then(() => this.#children.delete(child)).catch(ignored);
    // The caller gets the child first; its reports follow.
    setImmediate(() => child.begin(listener, this.#rounds));
    return child;
  }

  /** Prepared, and recorded as the host of what is started. */
  async #recorded(): Promise<ChildFactory> {
    const factory = await this.#prepared();
    this.#recording ??= this.#options.holder?.isSuccessor
      ? factory.record.open()
      : Promise.resolve();
    await this.#recording;
    return factory;
  }

  #assertOpen(spec: ChildSpec): void {
    if (this.#ending === undefined) return;
    const facts = { server: spec.name, dispatched: 'no' } as const;
    throw new Fault('unavailable', `'${spec.name}' is not started: the host is ending`, facts);
  }

  /** Prepares once; a failure is not remembered. */
  #prepared(): Promise<ChildFactory> {
    this.#factory ??= this.#prepare().catch((error: unknown) => {
      this.#factory = undefined;
      throw error;
    });
    return this.#factory;
  }

  async #prepare(): Promise<ChildFactory> {
    const { clock, instance, stateDir, sourceEnv, containments, hidden = [] } = this.#options;
    const [table, procDir, reaper] = [this.#table, this.#procDir, this.#reaper];
    const self = await table.find(process.pid);
    if (self === null) throw new Fault('unavailable', 'neither /proc nor ps shows our own process');
    if (isForeign(procDir)) {
      const remedy = "mount one for ours, for example with 'unshare --mount-proc'";
      throw new Fault('unavailable', `/proc belongs to another pid namespace: ${remedy}`);
    }
    const { holder } = this.#options;
    const started = holder && ((await table.find(holder.pid)) ?? undefined);
    const held = started && { pid: started.pid, start: started.start };
    if (stateDir !== null) {
      const notice = this.#notice;
      // A successor is given what the holder has; there is nothing to end.
      const follows = holder?.isSuccessor ? undefined : held;
      const ended = await sweepOrphans({ stateDir, procDir, table, clock, notice, follows });
      if (ended > 0) this.#notice(`ended ${ended} processes that a dead host had left running`);
    }
    const host = { pid: self.pid, start: self.start };
    this.#record ??= new InstanceRecord({
      ...{ stateDir, instance, procDir, host, holder: held },
      notice: this.#notice,
    });
    const record = this.#record;
    const allowed = containments ?? ['pidns', 'cgroup', 'marker', 'group'];
    const own = this.#options.useCgroups === false ? noCgroups : await ownCgroups(procDir);
    const [plan] = await Promise.all([
      strongestContainment({
        ...{ clock, instance, table, own, allowed, hidden: realFolders(hidden) },
        path: sourceEnv['PATH'],
      }),
      reaper.start(),
      // Until the first child, the record of a successor is that of its predecessor.
      holder?.isSuccessor ? undefined : record.open(),
    ]);
    if (plan.kind === 'pidns' && plan.hidden.length < realFolders(hidden).length) {
      this.#notice('servers can see the state directory: it could not be hidden from them here');
    }
    return { clock, instance, sourceEnv, table, plan, own, reaper, record, holder };
  }

  async #end(): Promise<void> {
    await Promise.allSettled(this.#starts);
    const children = [...this.#children];
    await Promise.all(children.map((child) => child.destroy()));
    // They have ended; their listeners may still have to be notified.
    await within(this.#options.clock, toldMs, Promise.all(children.map((child) => child.told)));
    this.#rounds[Symbol.dispose]();
    if (!this.#hasLeft) await this.#reaper[Symbol.asyncDispose]();
    await this.#factory?.catch(() => undefined);
    await this.#record?.[Symbol.asyncDispose]();
  }

  readonly #notice = (message: string): void => this.#options.notice?.(message);
}
