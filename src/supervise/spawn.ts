// Starts children and answers for them: the one door between Holdfast and the processes of the
// operating system. Before the first child it ends the orphans of dead hosts, finds out what can
// hold a tree together here, and starts the reaper; when it is disposed everything it started is
// gone. The parts are told in their own files; this one puts them together.
//
// POSIX only. Windows has neither sessions nor /proc, but job objects: it would be another
// implementation of `Spawner`, and everything above this file stays as it is.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { containingCgroup, joining, limitingCgroup, type TreeCgroup } from './cgroup.ts';
import type { Child, ChildListener, ChildSpec, Containment, Spawn } from './child.ts';
import { resolveCommand } from './command.ts';
import { type ContainmentPlan, contained, strongestContainment } from './containment.ts';
import { childEnvironment, childToken, type Environment } from './environment.ts';
import { InstanceRecord } from './instance-record.ts';
import { type Launched, launch, reportedPid } from './launch.ts';
import { hasLimits } from './limits.ts';
import { sweepOrphans } from './orphan-sweep.ts';
import { type OwnCgroups, ownCgroups } from './own-cgroups.ts';
import { PosixChild } from './posix-child.ts';
import { type ProcessIdentity, type ProcessTable, processTable } from './process-table.ts';
import { ProcessTree } from './process-tree.ts';
import { Reaper } from './reaper.ts';
import { Rounds } from './rounds.ts';

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
  /** Another place for /proc. */
  readonly procDir?: string;
  /** What the operator should know although nothing has failed; one line each. */
  readonly notice?: (message: string) => void;
}

export interface Spawner extends AsyncDisposable {
  readonly spawn: Spawn;
  /** What holds the tree of the next child together when we die. */
  containment(): Promise<Containment>;
}

export function createSpawner(options: SpawnerOptions): Spawner {
  if (!/^[\w-]{4,64}$/.test(options.instance)) {
    throw new Fault('internal', `'${options.instance}' cannot be the id of an instance`);
  }
  return new PosixSpawner(options);
}

/** What must be known and done before the first child. */
interface Ready {
  readonly plan: ContainmentPlan;
  readonly own: OwnCgroups;
  readonly record: InstanceRecord;
}

/** The groups of a child: those that contain it and those that limit it may be the same. */
interface Groups {
  readonly dirs: readonly string[];
  readonly limiting: TreeCgroup | null;
}

class PosixSpawner implements Spawner {
  readonly #options: SpawnerOptions;
  readonly #procDir: string;
  readonly #table: ProcessTable;
  readonly #rounds: Rounds;
  readonly #reaper: Reaper;
  readonly #living = new Set<{ readonly tree: ProcessTree; readonly told: Promise<void> }>();
  readonly #births = new Set<Promise<unknown>>();
  #ready: Promise<Ready> | undefined;
  #ending: Promise<void> | undefined;
  #count = 0;

  constructor(options: SpawnerOptions) {
    this.#options = options;
    this.#procDir = options.procDir ?? '/proc';
    this.#table = processTable(this.#procDir);
    this.#rounds = new Rounds(options.clock);
    this.#reaper = new Reaper({
      instance: options.instance,
      procDir: this.#procDir,
      sourceEnv: options.sourceEnv,
      notice: (message) => this.#notice(message),
    });
  }

  readonly spawn: Spawn = (spec, listener) => {
    const birth = this.#spawn(spec, listener);
    this.#births.add(birth);
    const born = (): boolean => this.#births.delete(birth);
    birth.then(born, born);
    return birth;
  };

  async containment(): Promise<Containment> {
    return (await this.#prepare()).plan.kind;
  }

  /** Ends every child at once; a caller with patience has stopped them before. Idempotent. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Once; but a failure is not remembered. */
  #prepare(): Promise<Ready> {
    this.#ready ??= this.#makeReady().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #makeReady(): Promise<Ready> {
    const { clock, instance, stateDir, sourceEnv, containments } = this.#options;
    const [table, procDir] = [this.#table, this.#procDir];
    const host = await table.find(process.pid);
    if (host === null) throw new Fault('unavailable', 'neither /proc nor ps shows this process');
    if (stateDir !== null) {
      const ended = await sweepOrphans({ stateDir, procDir, table, clock });
      if (ended > 0) this.#notice(`${ended} processes of a host that died were still running: ended`);
    }
    const identity = { pid: host.pid, start: host.start };
    const notice = (message: string): void => this.#notice(message);
    const record = new InstanceRecord({ stateDir, instance, procDir, host: identity, notice });
    const [own, plan] = await Promise.all([
      ownCgroups(procDir),
      strongestContainment({
        clock,
        instance,
        table,
        procDir,
        path: sourceEnv['PATH'],
        allowed: containments ?? ['pidns', 'cgroup', 'marker', 'group'],
      }),
      this.#reaper.start(),
      record.open(),
    ]);
    return { plan, own, record };
  }

  async #spawn(spec: ChildSpec, listener: ChildListener): Promise<Child> {
    this.#assertOpen(spec);
    const { instance, sourceEnv } = this.#options;
    const number = ++this.#count;
    const token = childToken(instance, number);
    const env = childEnvironment(sourceEnv, { env: spec.env, inheritEnv: spec.inheritEnv, token });
    const { name: server, command, cwd } = spec;
    const [ready, file] = await Promise.all([
      this.#prepare(),
      resolveCommand({ server, command, cwd, path: env['PATH'] }),
    ]);
    const groups = await makeGroups(ready, spec, `holdfast-${instance}-${number}`);
    const line = contained(ready.plan, joining(groups.dirs, [file, ...spec.args]));
    const reportsPid = ready.plan.kind === 'pidns';
    const launched = await launch({ server, command, line, env, cwd, reportsPid });
    return this.#raise(spec, listener, ready, groups, launched, token);
  }

  /** From a process to a child: from here on it is in the books, whatever happens. */
  async #raise(
    spec: ChildSpec,
    listener: ChildListener,
    { plan, record }: Ready,
    { dirs: cgroups, limiting }: Groups,
    launched: Launched,
    token: string,
  ): Promise<Child> {
    const { clock } = this.#options;
    const [table, reaper, containment] = [this.#table, this.#reaper, plan.kind];
    const leader = identityOf(await table.find(launched.pid), launched.pid);
    const tree = new ProcessTree({
      ...{ containment, table, clock, reaper, record, leader, token, cgroups },
    });
    const child = new PosixChild({
      ...{ launched, tree, table, clock, containment, limits: spec, limiting },
    });
    return child;
  }
}
