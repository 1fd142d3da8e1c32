// One life of the host, from its start to its orderly end or to the instant in which it is killed, with
// those who use it: callers, operators, and those who keep something in its store. All of them hang
// on one tether: when the host is killed they are gone with it, and another life begins on whatever
// the disk holds. Clients that live on ask the next one again under their keys.

import { HostCore } from '../../src/host/host-core.ts';
import { type Fleet, partsFor } from './fleet.ts';
import type { Judge } from './invariants.ts';
import { Keepers } from './keepers.ts';
import type { KeyedPlans } from './keyed-plans.ts';
import { ListReaders } from './list-readers.ts';
import { Operators } from './operators.ts';
import type { People } from './people.ts';
import type { Dice } from './random.ts';
import type { Tether } from './tether.ts';
import { Workload } from './workload.ts';
import type { HostEdges, World } from './world.ts';

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
  readonly world: World;
  readonly fleet: Fleet;
  readonly people: People;
  readonly judge: Judge;
  readonly tether: Tether;
  readonly host: HostCore;
  readonly workload: Workload;
  readonly operators: Operators;
  readonly #keepers: Keepers;
  readonly #edges: HostEdges;
  readonly #dice: Dice;
  isClosing = false;

  constructor({ world, fleet, people, judge, keyed, nonces }: Realm, dice: Dice) {
    this.world = world;
    this.fleet = fleet;
    this.people = people;
    this.judge = judge;
    this.#dice = dice;
    this.#edges = world.edges();
    this.tether = this.#edges.tether;
    judge.lifeBegins(this.tether);
    const { loaded } = judge.configs.last;
    this.host = new HostCore(partsFor(this.#edges, fleet, loaded, judge.audience()));
    this.host.setGuard(people.guard);
    judge.meet(this.host);
    this.workload = new Workload(this, dice.fork(1), keyed, nonces);
    this.operators = new Operators(this, dice.fork(2));
    this.#keepers = new Keepers(this, dice.fork(3));
  }

  begin(): void {
    this.host.startPinned();
    this.workload.begin();
    this.operators.begin();
    this.#keepers.begin();
    // A gateway reads what an earlier life has kept before it shows its first list.
    if (this.fleet.hasClients) new ListReaders(this, this.#dice.fork(4)).begin();
  }

  close(): Promise<void> {
    this.isClosing = true;
    this.judge.configs.lifeEnds();
    return this.host.close();
  }

  /** After its end: whoever used it is gone, or has turned to the next one. */
  left(): void {
    this.tether.isCut = true;
    this.judge.store.lifeEnded();
  }

  kill(): void {
    this.world.trace.add('the host is killed');
    this.world.kill(this.#edges);
    this.judge.lifeEndedByForce();
    // What it has put on the promises of this process dies with a real one.
    this.host.parts.budgets[Symbol.dispose]();
  }
}
