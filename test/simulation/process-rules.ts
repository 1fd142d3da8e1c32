// What is known of one process of the host, by its events and by what it says of itself: the life of each server, its
// circuit, its leases. In a rollout the rules of the next process go on where those of the process before are at the
// moment at which its state is written down: nothing of a server begins anew, and nothing goes back. The process
// before is judged on for what it has begun.

import type { Config } from '../../src/config/schema.ts';
import type { HostCore } from '../../src/host/host-core.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import type { Violated } from './call-rules.ts';
import type { CallRecord } from './calls.ts';
import { LifeRules } from './life-rules.ts';
import { type Circuit, type Passage, ProbeRules } from './probe-rules.ts';
import { type Standing, standingOf } from './rollout-rules.ts';
import { ServerRules } from './server-rules.ts';
import type { SimChild } from './sim-child.ts';
import type { Tether } from './tether.ts';
import type { World } from './world.ts';

export interface Inheritance {
  readonly from: ProcessRules;
  /** Is it run, or reached, as before? */
  readonly isSame: (server: string) => boolean;
  /** Servers whose connection was given. */
  readonly given: ReadonlySet<string>;
}

export class ProcessRules {
  /** By which it is told from others in a trace. */
  readonly name: string;
  readonly tether: Tether;
  readonly probes: ProbeRules;
  readonly servers: ServerRules;
  readonly passages = new Map<CallRecord, Passage>();
  readonly #lives = new Map<string, LifeRules>();
  readonly #config: Config;
  readonly #world: World;
  readonly #violated: Violated;
  /** At the moment at which its state was written down. */
  #written: ReadonlyMap<string, LifeRules> = new Map();
  #circuits: ReadonlyMap<string, Circuit> = new Map();
  /** Of its servers, at that moment. */
  standings: ReadonlyMap<string, Standing> = new Map();
  #isFormer = false;
  host: HostCore | undefined;
  /** The process after it was killed, and it with its servers is on its own. */
  isCutOff = false;

  constructor(name: string, tether: Tether, world: World, config: Config, violated: Violated) {
    this.name = name;
    this.tether = tether;
    this.#world = world;
    this.#config = config;
    this.#violated = violated;
    this.probes = new ProbeRules(config, violated);
    this.servers = new ServerRules(world, violated);
  }

  meet(host: HostCore): void {
    this.host = host;
    this.servers.meet(host);
  }

  heard(event: HostEvent, step: number): void {
    const { server, kind } = event;
    if (kind === 'registered') this.#registered(server);
    if (kind === 'circuit') this.probes.changed(server, event.circuit, step);
    this.servers.heard(event, step);
    this.#lives.get(server)?.heard(event, this.#world.clock.now());
  }

  #registered(name: string): void {
    const config = this.#config.mcpServers[name];
    if (!config) return;
    this.#lives.set(name, new LifeRules(name, config, this.#violated));
    this.probes.registered(name);
  }

  spawned(child: SimChild, before: readonly SimChild[]): void {
    // A process that was replaced may have one of its own, for what it has begun.
    const isOurs = ({ tether }: SimChild) =>
      tether === this.tether || (tether === undefined && !this.#isFormer);
    const ours = before.filter(isOurs);
    this.#lives.get(child.name)?.spawned(child, ours);
  }

  forgiven(name: string, step: number): void {
    this.probes.forgiven(name, step);
    this.#lives.get(name)?.forgiven();
  }

  // --- a rollout ---------------------------------------------------------------------------

  /** What happens to its servers afterwards is counted by the next process, as far as they were given to it. */
  hasWritten(): void {
    const present = [...this.#lives].filter(([name]) => this.host?.get(name) !== undefined);
    this.#written = new Map(present.map(([name, life]) => [name, life.copy()]));
    this.#circuits = this.probes.written;
    const servers = this.host?.servers() ?? [];
    this.standings = new Map(servers.map((server) => [server.name, standingOf(server)]));
  }

  /** The next process has what was given. */
  hasGiven(given: ReadonlySet<string>): void {
    this.#isFormer = true;
    for (const name of given) this.#lives.get(name)?.given();
  }

  inherit({ from, isSame, given }: Inheritance): void {
    for (const [name, life] of this.#lives) {
      const before = from.#written.get(name);
      if (before) life.inherit(before, isSame(name), given.has(name));
    }
    this.probes.inherit(from.#circuits, isSame);
    this.servers.inherit(from.servers, isSame);
  }
}
