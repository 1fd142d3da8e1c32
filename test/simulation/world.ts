// Everything outside the host, from one seed: time, chance, processes, the network and the disk. The
// five edges that the host is given are made here and nowhere else, anew for each life of the host,
// because a killed host takes all of its edges with it. What the servers do is told to whoever
// watches, as it happens.

import type { Clock, Random } from '../../src/kernel/clock.ts';
import { Fault } from '../../src/kernel/fault.ts';
import type { Disk } from '../../src/store/disk.ts';
import type { InstanceStore } from '../../src/store/sqlite/instance-store.ts';
import type {
  Adopt,
  Child,
  ChildListener,
  ChildSpec,
  HandedChild,
  Spawn,
} from '../../src/supervise/child.ts';
import type { HttpClient } from '../../src/upstream/http/http-client.ts';
import { FaultInjection, type FaultKind } from './fault-injection.ts';
import { Happenings } from './happenings.ts';
import { Ledger, type LedgerLine } from './ledger.ts';
import { Dice } from './random.ts';
import { SimChild } from './sim-child.ts';
import { type DatabaseOptions, SimDatabase } from './sim-database.ts';
import { SimDisk } from './sim-disk.ts';
import { SimEventSource } from './sim-event-source.ts';
import { type RemoteServer, SimHttp } from './sim-http.ts';
import { SimProgram } from './sim-program.ts';
import { SimRemote } from './sim-remote.ts';
import type { ServerModel, SimEra } from './sim-server.ts';
import { Tether } from './tether.ts';
import { Trace } from './trace.ts';
import { VirtualClock } from './virtual-clock.ts';

/** Told what happens outside the host. */
export interface Watcher {
  noted(line: LedgerLine): void;
  /** `before`: what is left of earlier processes of the same name. */
  spawned(child: SimChild, before: readonly SimChild[]): void;
  /** A server was used as no server may be. */
  misused(what: string): void;
}

/** All that one process of a host touches of the world, for as long as it lives. */
export interface HostEdges {
  readonly tether: Tether;
  readonly clock: Clock;
  readonly random: Random;
  /** The same for all processes. */
  readonly machineNow: () => number;
  /** By which the other processes of the instance know it. */
  readonly id: string;
  readonly spawn: Spawn;
  /** Takes over a process that the process before has given up. */
  readonly adopt: Adopt;
  /** Resolves when nothing is being started or taken over. */
  readonly leave: () => Promise<void>;
  readonly http: HttpClient;
  readonly disk: Disk;
  /** Of the instance; on the same disk. */
  readonly database: (options: DatabaseOptions) => InstanceStore;
}

export interface WorldOptions {
  readonly seed: number;
  readonly without?: ReadonlySet<FaultKind> | undefined;
  readonly isTraceKept?: boolean | undefined;
}

/** The longest frame that the fleet accepts; small, so that a longer one costs little. */
export const frameBytes = 4_096;

export class World {
  readonly clock = new VirtualClock();
  readonly happenings = new Happenings();
  readonly dice: Dice;
  readonly faults: FaultInjection;
  readonly trace: Trace;
  readonly ledger: Ledger;
  readonly disk: SimDisk;
  readonly database: SimDatabase;
  readonly http: SimHttp;
  /** The ids that each of the last processes has not answered, whether or not it still lives. */
  readonly unanswered: ReadonlySet<unknown>[] = [];
  /** Processes that are alive or have left something behind. */
  readonly left = new Set<SimChild>();
  /** Remote servers that have answered a probe of the modern era with something else, for once. */
  readonly deniedModern = new Set<string>();
  /**
   * Programs that were replaced by one that may speak other eras than the entry says; it stays so. By what is
   * run: servers of one command run one program, and share what is kept of it.
   */
  readonly replaced = new Map<string, Omit<ServerModel, 'name'>>();
  readonly #watcher: Watcher;
  readonly #jitter: Dice;
  readonly #remotes = new Map<string, RemoteServer>();
  /** Which definition of its tools the next process of a name has. */
  readonly #definitions = new Map<string, number>();
  /** All that there ever were, by their ids. */
  readonly #children = new Map<number, SimChild>();
  #lastPid = 1_000;
  #processes = 0;

  constructor({ seed, without, isTraceKept = false }: WorldOptions, watcher: Watcher) {
    const seeds = new Dice(seed);
    this.#jitter = seeds.fork(1);
    this.faults = new FaultInjection(seeds.fork(2), without);
    this.dice = seeds.fork(3);
    this.trace = new Trace(this.clock, isTraceKept);
    this.#watcher = watcher;
    this.ledger = new Ledger((line) => {
      const { phase, call } = line;
      this.trace.add(`${call.server} ${call.pid} ${phase} ${call.tool} ${call.nonce}`);
      watcher.noted(line);
    });
    this.disk = new SimDisk(this);
    this.database = new SimDatabase(this);
    this.http = new SimHttp(this, (url) => this.#remoteAt(url));
    this.#changeFaultRate();
    this.#changeWallClock();
  }

  // --- a life of the host --------------------------------------------------------------------

  edges(): HostEdges {
    this.#processes += 1;
    // The first one of a run has the clock of the world.
    const offsetMs = this.#processes === 1 ? 0 : this.#processes * 1_000_003;
    const tether = new Tether(this.clock, offsetMs);
    const starts = new Set<Promise<Child>>();
    const started = (start: Promise<Child>) => {
      starts.add(start);
      const settled = () => starts.delete(start);
      start.then(settled, settled);
      return start;
    };
    const life = { clock: tether, moment: () => this.disk.moment(tether) };
    return {
      tether,
      clock: tether,
      machineNow: () => this.clock.now(),
      id: this.#processes.toString(16).padStart(16, '0'),
      random: () => this.#jitter.next(),
      spawn: (spec, listener) => started(this.#spawn(tether, spec, listener)),
      adopt: (handed, listener) => started(this.#adopt(tether, handed, listener)),
      leave: async () => void (await Promise.allSettled(starts)),
      http: this.http.for(tether),
      disk: this.disk.for(tether),
      database: (options) => this.database.for(life, options),
    };
  }

  /** The instance is gone from one instant to the next; the reaper ends what it has started. */
  kill(processes: Iterable<HostEdges>): void {
    for (const edges of processes) this.#cut(edges);
    this.database.crash();
    for (const child of this.left) child.orphaned();
  }

  /** One process is gone, and nothing that the others have. */
  killOne(edges: HostEdges): void {
    if (this.database.isOpenIn(edges)) this.database.crash();
    this.#cut(edges);
    for (const child of this.left) if (child.tether === edges.tether) child.orphaned();
  }

  #cut({ tether }: HostEdges): void {
    tether.isCut = true;
    this.disk.crash(tether);
    this.http.crash(tether);
  }

  misused(what: string): void {
    this.#watcher.misused(what);
  }

  childOf(pid: number): SimChild | undefined {
    return this.#children.get(pid);
  }

  // --- processes ---------------------------------------------------------------------------

  async #spawn(tether: Tether, spec: ChildSpec, listener: ChildListener): Promise<Child> {
    const { dice, faults } = this;
    const ms = faults.occurs('spawn-slow') ? dice.between(100, 3_000) : dice.between(0, 20);
    await tether.pause(ms);
    // The machine has no more of something: not the server's fault, and the real edge says so.
    if (faults.occurs('spawn-eagain')) throw cannotSpawn(spec, 'overloaded', 'EAGAIN');
    if (faults.occurs('spawn-emfile')) throw cannotSpawn(spec, 'overloaded', 'EMFILE');
    if (faults.occurs('spawn-refused')) throw cannotSpawn(spec, 'unavailable', 'EACCES');
    const before = [...this.left].filter(({ name }) => name === spec.name);
    const child = this.#process(spec);
    const grip = child.ownedBy(listener, tether, true);
    this.left.add(child);
    this.trace.add(`${spec.name} ${child.pid} spawned`);
    this.#watcher.spawned(child, before);
    return grip;
  }

  async #adopt(tether: Tether, { state, stdout }: HandedChild, listener: ChildListener) {
    await tether.pause(this.dice.between(0, 10));
    const child = this.#children.get(state.id);
    if (child === undefined) throw new Fault('unavailable', `there is no process ${state.id}`);
    this.trace.add(`${child.name} ${child.pid} taken over`);
    return child.ownedBy(listener, tether, false, stdout);
  }

  #process({ name, args }: ChildSpec): SimChild {
    let definition = this.#definitions.get(name) ?? 1;
    if (this.faults.occurs('changed-definition')) definition += 1;
    this.#definitions.set(name, definition);
    const run = args.join(' ');
    if (this.faults.occurs('changed-era')) this.replaced.set(run, drawProgram(this.dice));
    const model = { name, era: args[0] as SimEra, ...this.replaced.get(run) };
    const program = new SimProgram(this, model, definition, frameBytes);
    this.#lastPid += 1;
    const child = new SimChild(this, { name, pid: this.#lastPid, program });
    this.#children.set(child.pid, child);
    return child;
  }

  // --- remote servers ----------------------------------------------------------------------

  /** The address is `http://NAME-VARIANT.sim/ERA`, or `…/sse` for the 2024 transport. */
  #remoteAt({ hostname, pathname }: URL): RemoteServer {
    const known = this.#remotes.get(hostname);
    if (known) return known;
    const name = hostname.split('-', 1)[0] as string;
    const remote =
      pathname === '/sse'
        ? new SimEventSource(this, { name, era: 'legacy' })
        : new SimRemote(this, { name, era: pathname.slice(1) as SimEra });
    this.#remotes.set(hostname, remote);
    return remote;
  }

  // --- what befalls everything -------------------------------------------------------------

  #changeFaultRate(): void {
    this.clock.later(this.faults.change(), () => this.#changeFaultRate());
  }

  #changeWallClock(): void {
    this.clock.later(this.dice.between(10_000, 60_000), () => {
      if (this.faults.occurs('wall-jump')) {
        this.clock.jumpWall(this.dice.pick([-1, 1]) * this.dice.pick(jumpsMs));
      }
      this.#changeWallClock();
    });
  }
}

/** A server is updated in place: nothing but its next process shows it. */
function drawProgram(dice: Dice): Omit<ServerModel, 'name'> {
  return { era: dice.pick(['modern', 'legacy', 'both']), isSilent: dice.chance(0.5) };
}

/** A correction, a time zone, a battery that was empty: the last is longer than a verdict is kept. */
const jumpsMs = [1_500, 3_600_000, 10 * 86_400_000] as const;

function cannotSpawn(
  { name: server }: ChildSpec,
  kind: 'overloaded' | 'unavailable',
  code: string,
): Fault {
  const detail = `${server} cannot be started: ${code}`;
  return new Fault(kind, detail, { server, dispatched: 'no' });
}
