// One life of the host, from its cold start to its orderly end or to the instant in which it is killed, with
// those who use it: callers, operators, and those who keep something in its store. In a rollout one process of the
// host follows another, and its users go on with the next one. All of them hang on one tether: when the host is
// killed they are gone with it, and another life begins on whatever the disk holds. Clients that live on ask the
// next one again under their keys.

import type { HostCore } from '../../src/host/host-core.ts';
import type { HandOverLink } from '../../src/rollout/hand-over-link.ts';
import type { RunConfig } from './config-changes.ts';
import type { Fleet } from './fleet.ts';
import type { Judge } from './invariants.ts';
import { Keepers } from './keepers.ts';
import type { KeyedPlans } from './keyed-plans.ts';
import { ListReaders } from './list-readers.ts';
import { Operators } from './operators.ts';
import type { People } from './people.ts';
import type { Dice } from './random.ts';
import { Rollouts } from './rollouts.ts';
import { Serving } from './serving.ts';
import { Tether } from './tether.ts';
import { Workload } from './workload.ts';
import type { World } from './world.ts';

/** What stays when a host goes. */
export interface Realm {
  readonly world: World;
  readonly fleet: Fleet;
  readonly people: People;
  readonly judge: Judge;
  /** What clients have asked under a key, of any life, and may ask again. */
  readonly keyed: KeyedPlans;
  /** Unique in a run, over all lives of the host. */
  readonly nonces: () => string;
}

export class Reign {
  readonly realm: Realm;
  readonly world: World;
  readonly fleet: Fleet;
  readonly people: People;
  readonly judge: Judge;
  /** Of the users. */
  readonly tether: Tether;
  /** The process that serves, or did until the fence. */
  serving: Serving;
  /** Those that were replaced and have not ended, the oldest first. */
  readonly formers = new Set<Serving>();
  /** Those that do not serve yet. */
  readonly successors = new Set<Serving>();
  readonly workload: Workload;
  readonly operators: Operators;
  readonly rollouts: Rollouts;
  readonly #keepers: Keepers;
  readonly #dice: Dice;
  /** Resolves when somebody serves again. */
  #serves: Promise<void> | undefined;
  isClosing = false;
  /** The config that somebody has tried to apply while nobody served. */
  newest: RunConfig | undefined;

  constructor(realm: Realm, dice: Dice) {
    const { world, fleet, people, judge, keyed, nonces } = realm;
    this.realm = realm;
    this.world = world;
    this.fleet = fleet;
    this.people = people;
    this.judge = judge;
    this.#dice = dice;
    this.tether = new Tether(world.clock);
    judge.lifeBegins();
    this.serving = new Serving(realm, judge.configs.last.loaded);
    judge.meet(this.host);
    this.workload = new Workload(this, dice.fork(1), keyed, nonces);
    this.operators = new Operators(this, dice.fork(2));
    this.#keepers = new Keepers(this, dice.fork(3));
    this.rollouts = new Rollouts(this, dice.fork(5));
  }

  get host(): HostCore {
    return this.serving.host;
  }

  begin(): void {
    this.host.startPinned();
    this.workload.begin();
    this.operators.begin();
    this.#keepers.begin();
    this.#readLists();
    this.rollouts.begin();
  }

  /** A gateway reads what an earlier life has kept before it shows its first list. */
  #readLists(): void {
    if (this.fleet.hasClients) new ListReaders(this, this.#dice.fork(4)).begin();
  }

  // --- rollouts ----------------------------------------------------------------------------

  /** Nobody serves: what comes now waits. */
  get isLeaving(): boolean {
    return this.#serves !== undefined;
  }

  async whileServing(): Promise<void> {
    while (this.#serves !== undefined) await this.#serves;
  }

  /** Until the result is called, nothing new begins. */
  fence(): () => void {
    let open = () => {};
    this.newest = this.judge.configs.last;
    this.#serves = new Promise((resolve) => {
      open = resolve;
    });
    return () => {
      this.#serves = undefined;
      open();
    };
  }

  succeeded(next: Serving, link: HandOverLink): void {
    const former = this.serving;
    this.formers.add(former);
    this.successors.delete(next);
    this.serving = next;
    next.host.startPinned();
    this.#readLists();
    void this.rollouts.former(former, link);
  }

  /** It is killed: its callers are left without an answer, and those of the processes before it. */
  loseFormer(former: Serving): void {
    this.world.trace.add('a former process is killed');
    const all = [...this.formers];
    for (const older of all.slice(0, all.indexOf(former))) older.rules.isCutOff = true;
    this.formers.delete(former);
    this.judge.processKilled(former.rules);
    former.lost();
  }

  // --- the end -----------------------------------------------------------------------------

  /** What former processes have not ended soon is ended with the instance. */
  async quiet(): Promise<void> {
    await this.rollouts.end();
    await this.tether.pause(drainMs);
    for (const former of [...this.formers].reverse()) this.loseFormer(former);
  }

  close(): Promise<void> {
    this.isClosing = true;
    this.judge.configs.lifeEnds();
    return this.serving.close();
  }

  /** After its end: whoever used it is gone, or has turned to the next one. */
  left(): void {
    this.tether.isCut = true;
    this.serving.tether.isCut = true;
    this.judge.store.lifeEnded();
  }

  kill(): void {
    this.world.trace.add('the host is killed');
    if (this.rollouts.isUnderWay) this.world.happenings.add('kills in a rollout');
    const all = [...this.formers, this.serving, ...this.successors];
    this.tether.isCut = true;
    this.world.kill(all.map(({ edges }) => edges));
    this.judge.lifeEndedByForce();
    for (const one of all) one.killed();
  }
}

const drainMs = 5_000;
