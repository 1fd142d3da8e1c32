// Everything outside the host, from one seed: time, chance, processes, the network and storage. The
// five edges that the host is given are made here and nowhere else. What the servers do is told to
// whoever watches, as it happens.

import type { Random } from '../../src/kernel/clock.ts';
import { Fault } from '../../src/kernel/fault.ts';
import type { ChildListener, ChildSpec, Spawn } from '../../src/supervise/child.ts';
import { Ledger, type LedgerLine } from './ledger.ts';
import { Dice } from './random.ts';
import { SimChild } from './sim-child.ts';
import { SimEventSource } from './sim-event-source.ts';
import { type RemoteServer, SimHttp } from './sim-http.ts';
import { SimProgram } from './sim-program.ts';
import { SimRemote } from './sim-remote.ts';
import type { SimEra } from './sim-server.ts';
import { SimStore } from './sim-store.ts';
import { Trace } from './trace.ts';
import { VirtualClock } from './virtual-clock.ts';
import { type FaultKind, Weather } from './weather.ts';

/** Told what happens outside the host. */
export interface Watcher {
  noted(line: LedgerLine): void;
  /** `before`: what is left of earlier processes of the same name. */
  spawned(child: SimChild, before: readonly SimChild[]): void;
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
  readonly dice: Dice;
  readonly weather: Weather;
  readonly trace: Trace;
  readonly ledger: Ledger;
  readonly store: SimStore;
  readonly http: SimHttp;
  readonly random: Random;
  readonly spawn: Spawn;
  /** Processes that are alive or have left something behind. */
  readonly left = new Set<SimChild>();
  readonly #watcher: Watcher;
  readonly #remotes = new Map<string, RemoteServer>();
  /** Which definition of its tools the next process of a name has. */
  readonly #definitions = new Map<string, number>();
  #lastPid = 1_000;

  constructor({ seed, without, isTraceKept = false }: WorldOptions, watcher: Watcher) {
    const seeds = new Dice(seed);
    const jitter = seeds.fork(1);
    this.random = () => jitter.next();
    this.weather = new Weather(seeds.fork(2), without);
    this.dice = seeds.fork(3);
    this.trace = new Trace(this.clock, isTraceKept);
    this.#watcher = watcher;
    this.ledger = new Ledger((line) => {
      const { phase, call } = line;
      this.trace.add(`${call.server} ${call.pid} ${phase} ${call.tool} ${call.nonce}`);
      watcher.noted(line);
    });
    this.store = new SimStore(this);
    this.http = new SimHttp(this, (url) => this.#remoteAt(url));
    this.spawn = (spec, listener) => this.#spawn(spec, listener);
    this.#changeWeather();
    this.#changeWallClock();
  }

  // --- processes ---------------------------------------------------------------------------

  async #spawn(spec: ChildSpec, listener: ChildListener): Promise<SimChild> {
    const { clock, dice, weather } = this;
    const ms = weather.strikes('spawn-slow') ? dice.between(100, 3_000) : dice.between(0, 20);
    await new Promise<void>((resolve) => void clock.later(ms, resolve));
    if (weather.strikes('spawn-eagain')) throw cannotSpawn(spec, 'EAGAIN');
    if (weather.strikes('spawn-emfile')) throw cannotSpawn(spec, 'EMFILE');
    const before = [...this.left].filter(({ name }) => name === spec.name);
    const child = this.#process(spec, listener);
    this.left.add(child);
    this.trace.add(`${spec.name} ${child.pid} spawned`);
    this.#watcher.spawned(child, before);
    return child;
  }

  #process({ name, args }: ChildSpec, listener: ChildListener): SimChild {
    let definition = this.#definitions.get(name) ?? 1;
    if (this.weather.strikes('changed-definition')) definition += 1;
    this.#definitions.set(name, definition);
    const era = args[0] as SimEra;
    const program = new SimProgram(this, { name, era }, definition, frameBytes);
    this.#lastPid += 1;
    return new SimChild(this, name, this.#lastPid, program, listener);
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

  #changeWeather(): void {
    this.clock.later(this.weather.change(), () => this.#changeWeather());
  }

  #changeWallClock(): void {
    this.clock.later(this.dice.between(10_000, 60_000), () => {
      if (this.weather.strikes('wall-jump')) this.clock.jumpWall(this.dice.pick([-1, 1]) * hourMs);
      this.#changeWallClock();
    });
  }
}

const hourMs = 3_600_000;

function cannotSpawn({ name }: ChildSpec, code: string): Fault {
  return new Fault('unavailable', `${name} cannot be started: ${code}`, { server: name });
}
