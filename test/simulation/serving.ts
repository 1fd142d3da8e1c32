// One process of an instance that serves, or has served: the host in it, on edges of its own, what it knows of the
// process before and of the one after, and how many of those who use the host are with it. In a rollout the shipped
// code hands over the host, its servers' lines and its store (host/handover, cli/gateway/rollout/server-lines,
// store/remote); the parts of a gateway that have clients are played by the users of the simulation.

import { GivenServers, TakenServers } from '../../src/cli/gateway/rollout/server-lines.ts';
import type { LoadedConfig } from '../../src/config/loaded.ts';
import type { HandedServerConnection } from '../../src/host/handover/handed-host.ts';
import { HostCore } from '../../src/host/host-core.ts';
import type { KeyedRecords } from '../../src/policy/keyed-records.ts';
import { NeighbourBus } from '../../src/replicas/neighbour-bus.ts';
import { RolloutHolders } from '../../src/replicas/rollout-holders.ts';
import type { HandOverLink } from '../../src/rollout/hand-over-link.ts';
import type { SnapshotPart } from '../../src/rollout/snapshot.ts';
import { FormerStore } from '../../src/store/remote/former-store.ts';
import { StoreOverRollout } from '../../src/store/remote/store-over-rollout.ts';
import { partsFor } from './fleet.ts';
import type { ProcessRules } from './process-rules.ts';
import type { Realm } from './reign.ts';
import { type SimLinkEnd, simLink } from './sim-link.ts';
import type { Tether } from './tether.ts';
import type { HostEdges } from './world.ts';

/** Everything that goes over the link as one snapshot. */
export interface HandedAll {
  readonly state: string;
  readonly payload: Buffer;
  readonly servers: SnapshotPart;
  /** Which processes of servers were given, by pid; none for what is at an address. */
  readonly given: readonly HandedServerConnection[];
}

export class Serving {
  readonly edges: HostEdges;
  readonly rules: ProcessRules;
  readonly loaded: LoadedConfig;
  readonly host: HostCore;
  /** To the process before. */
  readonly link: SimLinkEnd | undefined;
  /** To the last that was started to replace it. */
  #linkToNext: SimLinkEnd | undefined;
  /** What the process before has sent to it is told to nobody before. */
  readonly #mayBegin: Promise<void>;
  #begin: () => void = () => {};
  readonly #realm: Realm;
  readonly #bus: NeighbourBus;
  readonly #holders: RolloutHolders;
  readonly #over: StoreOverRollout;
  readonly #keyed: KeyedRecords;
  #users = 0;
  readonly #leaving: (() => void)[] = [];
  #go: () => void = () => {};
  /** Resolves if it is killed while its users live on. */
  readonly gone: Promise<'gone'>;
  isClosing = false;

  constructor(realm: Realm, loaded: LoadedConfig, former?: Serving) {
    const { world, fleet, people, judge } = realm;
    this.#realm = realm;
    this.loaded = loaded;
    this.edges = world.edges();
    const { clock, tether, id } = this.edges;
    this.rules = judge.processBegins(this.edges, former === undefined);
    const caught = (error: unknown) => judge.violated('rollout', `an error: ${String(error)}`);
    this.#bus = new NeighbourBus({ clock, caught });
    this.#holders = new RolloutHolders({ bus: this.#bus, subjects: 'hfk', id, secret });
    this.#mayBegin = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.gone = new Promise((resolve) => {
      this.#go = () => resolve('gone');
    });
    if (former === undefined) {
      this.#over = new StoreOverRollout();
    } else {
      const failed = (error: unknown) => caught(error);
      const ends = simLink(world, former.tether, tether, failed);
      this.link = ends.next;
      former.#linkToNext = ends.former;
      this.#bus.join(this.link, 'former');
      this.#over = new StoreOverRollout(new FormerStore({ link: this.link, caught }));
    }
    const neighbours = { holders: this.#holders, over: this.#over, serving: this.#mayBegin };
    const audience = judge.audience(this.rules);
    const parts = partsFor(this.edges, fleet, loaded, audience, neighbours);
    this.#keyed = parts.keyed;
    this.host = new HostCore(parts);
    this.host.setGuard(people.guard);
    this.rules.meet(this.host);
    if (former === undefined) this.#begin();
  }

  get tether(): Tether {
    return this.edges.tether;
  }

  /** Changes of keys that the disk has refused, and that are tried again. */
  get changesTriedAgain(): number {
    return this.#keyed.size.later;
  }

  // --- who uses it -------------------------------------------------------------------------

  /** Somebody uses it until this is disposed of. */
  use(): Disposable {
    this.#users += 1;
    return {
      [Symbol.dispose]: () => {
        this.#users -= 1;
        if (this.#users > 0) return;
        for (const left of this.#leaving.splice(0)) left();
      },
    };
  }

  get isUsed(): boolean {
    return this.#users > 0;
  }

  async unused(): Promise<void> {
    while (this.#users > 0) await new Promise<void>((resolve) => this.#leaving.push(resolve));
  }

  // --- the process before ------------------------------------------------------------------

  /** The fence. What is said on the link from now on is kept for whoever takes over. */
  async handOver(link: HandOverLink): Promise<HandedAll> {
    this.#bus.join(link, 'successor');
    const servers = new GivenServers(link);
    const given: HandedServerConnection[] = [];
    const handed = await this.host.handOver({
      connection: (one) => {
        given.push(one);
        return servers.give(one);
      },
      link,
    });
    const state = JSON.stringify(handed.state);
    this.rules.hasWritten();
    await this.#over.handOver(link);
    const part = servers.part();
    const data = JSON.parse(JSON.stringify(part.data)) as never;
    const bytes = Buffer.from(part.bytes ?? []);
    return {
      state,
      payload: Buffer.from(handed.payload),
      servers: { ...part, data, bytes },
      given,
    };
  }

  /** It is replaced, and has ended what it had begun. */
  async leave(link: HandOverLink): Promise<void> {
    link.send('counts', JSON.parse(JSON.stringify(this.host.takeCounts())));
    await this.close();
    link[Symbol.dispose]();
  }

  // --- the next process --------------------------------------------------------------------

  /** Goes on where the process before was; nothing is used of it before `begin`. Resolves when its servers are in use. */
  restore({ state, payload, servers }: HandedAll): Promise<void> {
    const { link } = this;
    if (link === undefined) throw new Error('there is no process before');
    const taken = new TakenServers(
      { link, mayBegin: this.#mayBegin },
      servers.data,
      Buffer.from(servers.bytes ?? []),
    );
    const restoring = this.host.restore({
      state: JSON.parse(state),
      payload: Buffer.from(payload),
      connections: taken.all,
      link,
    });
    restoring.ended.catch((error: unknown) =>
      this.#realm.judge.violated('rollout', `what was not taken over: ${String(error)}`),
    );
    link.on('counts', (head) => this.host.addCounts(head as never));
    return restoring.adopted;
  }

  /** It is the serving process. */
  begin(): void {
    this.#begin();
  }

  /** Its process is gone, and nothing else. */
  lost(): void {
    this.#realm.world.killOne(this.edges);
    this.link?.lost();
    this.#linkToNext?.lost();
    this.#go();
    this.#dispose();
  }

  /** With all others of its instance. */
  killed(): void {
    this.#dispose();
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await this.host.close();
    this.#bus[Symbol.dispose]();
    this.#holders[Symbol.dispose]();
    this.link?.[Symbol.dispose]();
  }

  /** What it has put on the promises of this process dies with a real one. */
  #dispose(): void {
    this.host.parts.budgets[Symbol.dispose]();
  }
}

const secret = Buffer.alloc(32, 9);
