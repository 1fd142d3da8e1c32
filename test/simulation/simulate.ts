// One run from one seed: a virtual world, a set of servers, the shipped host with its users, and a judge over
// all of it. First a time with faults, in which the host itself may be killed and restarted; then, in most
// runs, a time without new faults, in which every server must answer again; then the end of the host, after
// which nothing may be left. Some runs end during the faults.

import { emptied } from './config-changes.ts';
import type { FaultKind } from './fault-injection.ts';
import { drawFleet } from './fleet.ts';
import type { Happening } from './happenings.ts';
import { Judge, type Violation } from './invariants.ts';
import { KeyedPlans } from './keyed-plans.ts';
import { drawPeople } from './people.ts';
import { Dice } from './random.ts';
import { type Realm, Reign } from './reign.ts';
import { run } from './virtual-clock.ts';
import { World } from './world.ts';

export interface SimulationOptions {
  readonly minutes: number;
  readonly without?: ReadonlySet<FaultKind>;
  readonly isTraceKept?: boolean;
}

export interface SimulationReport {
  readonly seed: number;
  readonly hash: string;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly calls: number;
  readonly ledgerSize: number;
  readonly faultsByKind: ReadonlyMap<FaultKind, number>;
  /** What operators, clients and the machine have done, by name. */
  readonly happenings: ReadonlyMap<Happening, number>;
  /** How processes have ended by themselves, by code or signal. */
  readonly exits: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
}

/** How long a server may take to come back when nothing goes wrong any more. */
const recoveryMs = 120_000;
/** All servers end in parallel, each within the drain of a reload, a stop ladder and a sweep. */
const closeMs = 10_500;
/** Then the store writes what it still has, on a disk that may be slow. */
const storeMs = 20_000;
/** How often it is drawn whether the host is killed. */
const killEveryMs = 30_000;
/** After the last server was taken out: the longest deadline of a call is over, its timer too. */
const emptyMs = 31_000;
/** After the end time goes on: whatever was forgotten would show. */
const aftermathMs = 30_000;

export async function runSimulation(
  seed: number,
  options: SimulationOptions,
): Promise<SimulationReport> {
  const { stackTraceLimit } = Error;
  // Thousands of faults are made here on purpose, and nobody reads where.
  Error.stackTraceLimit = 0;
  try {
    return await new Simulation(seed, options).run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

class Simulation {
  readonly #seed: number;
  readonly #minutes: number;
  readonly #judge = new Judge();
  readonly #world: World;
  readonly #realm: Realm;
  readonly #dice: Dice;
  readonly #endsInStorm: boolean;
  #reign: Reign;

  constructor(seed: number, { minutes, without, isTraceKept }: SimulationOptions) {
    const seeds = new Dice(seed, 1);
    this.#seed = seed;
    this.#minutes = minutes;
    this.#world = new World({ seed, without, isTraceKept }, this.#judge);
    const fleet = drawFleet(seeds.fork(1));
    const people = drawPeople(seeds.fork(2), fleet.names, ['read', 'write', 'set', 'secret']);
    let calls = 0;
    const nonces = () => {
      calls += 1;
      return `n${calls}`;
    };
    this.#judge.watch(this.#world, fleet, people);
    const keyed = new KeyedPlans();
    this.#realm = { world: this.#world, fleet, people, judge: this.#judge, keyed, nonces };
    this.#dice = seeds.fork(3);
    this.#endsInStorm = seeds.chance(0.4);
    this.#reign = new Reign(this.#realm, this.#dice.fork(0));
  }

  async run(): Promise<SimulationReport> {
    const rejected = (reason: unknown) =>
      this.#judge.violated('one-answer', `a rejection that nobody handles: ${String(reason)}`);
    process.on('unhandledRejection', rejected);
    try {
      await this.#live();
    } catch (error) {
      const stack = error instanceof Error ? error.stack : String(error);
      this.#judge.violated('one-answer', `the host's own timer threw: ${stack}`);
    } finally {
      process.off('unhandledRejection', rejected);
    }
    return this.#report();
  }

  async #live(): Promise<void> {
    this.#reign.begin();
    await this.#storm();
    if (!this.#endsInStorm) {
      await this.#recover();
      if (this.#realm.fleet.isChanging) await this.#empty();
    }
    await this.#close();
  }

  async #storm(): Promise<void> {
    const { clock, faults } = this.#world;
    const endsAt = this.#minutes * 60_000;
    while (clock.now() < endsAt) {
      await this.#pass(Math.min(killEveryMs, endsAt - clock.now()), () => false);
      if (clock.now() >= endsAt) return;
      if (faults.occurs('host-killed')) await this.#kill();
      else if (faults.occurs('host-ended')) await this.#end();
      else continue;
      this.#reign = new Reign(this.#realm, this.#dice.fork(clock.now()));
      this.#reign.begin();
    }
  }

  /** Anywhere, or in the middle of a write, of a commit, or of a call under a key. */
  async #kill(): Promise<void> {
    const { database, disk } = this.#world;
    const { open } = this.#judge.book;
    const isKeyed = () => [...open].some(({ plan }) => plan.key !== undefined);
    const isThen = this.#dice.pick([
      () => true,
      () => disk.isWriting,
      () => database.isCommitting,
      () => isKeyed(),
      () => isKeyed() && database.isCommitting,
      () => this.#reign.rollouts.isUnderWay,
      () => this.#reign.isLeaving,
      () => this.#reign.formers.size > 0,
    ]);
    await this.#pass(killEveryMs, isThen);
    this.#world.happenings.add('kills');
    this.#reign.kill();
  }

  /** In good order, while others go on calling. */
  async #end(): Promise<void> {
    this.#world.trace.add('the host ends');
    this.#world.happenings.add('orderly ends');
    await this.#closed();
    this.#reign.left();
  }

  /** Lets time pass until something is so, but no longer than said. */
  async #pass(ms: number, isSo: () => boolean): Promise<boolean> {
    const { clock } = this.#world;
    let isTimeUp = false;
    using _end = clock.later(ms, () => {
      isTimeUp = true;
    });
    const isOver = () => isTimeUp || isSo();
    await run(clock, isOver, () => {
      this.#judge.settled();
      this.#reign.rollouts.look();
    });
    return isSo();
  }

  // --- calm --------------------------------------------------------------------------------

  async #recover(): Promise<void> {
    const { operators, workload } = this.#reign;
    operators.end();
    const rolled = this.#reign.rollouts.end();
    let isRolled = false;
    void rolled.then(() => {
      isRolled = true;
    });
    this.#world.faults.stop();
    this.#world.trace.add('calm');
    // What operators had begun is theirs to end, so that what is ejected stays so.
    await this.#pass(recoveryMs, () => isRolled && operators.pending.size === 0);
    const { fleet, judge } = this.#realm;
    if (fleet.isChanging) {
      void operators.apply(
        fleet.configOf({ ...fleet.first.draft, order: judge.configs.last.draft.order }),
      );
      await this.#pass(recoveryMs, () => operators.pending.size === 0);
    }
    const { names } = this.#realm.fleet;
    workload.beginPolite();
    const isBack = (name: string) => workload.answered.has(name) || this.#isEjected(name);
    const patienceMs = recoveryMs + this.#announcedDelayMs();
    await this.#pass(patienceMs, () => names.every(isBack));
    this.#demand(names, isBack, `within ${patienceMs} ms of calm`);
    const ejected = names.filter((name) => this.#isEjected(name));
    for (const name of ejected) {
      workload.answered.delete(name);
      void operators.reload(name);
    }
    const hasAnswered = (name: string) => workload.answered.has(name);
    await this.#pass(recoveryMs, () => ejected.every(hasAnswered));
    this.#demand(ejected, hasAnswered, `within ${recoveryMs} ms of a reload`);
  }

  #demand(names: readonly string[], isBack: (name: string) => boolean, when: string): void {
    for (const name of names.filter((candidate) => !isBack(candidate))) {
      const server = this.#reign.host.status().servers.find((row) => row.name === name);
      const state = `${server?.state} ${server?.circuit}, ${server?.cause}`;
      this.#judge.violated('liveness', `${name} did not answer ${when}: ${state}`);
    }
  }

  #isEjected(name: string): boolean {
    return this.#judge.isEjected(name);
  }

  /** A remote server without a budget may have been told to wait longer: that was announced. */
  #announcedDelayMs(): number {
    const { clock } = this.#world;
    const waits = this.#reign.host.status().servers.map(({ nextAttemptAt }) => nextAttemptAt ?? 0);
    return Math.max(0, Math.max(...waits) - clock.wallNow());
  }

  /** Every server is taken out: of none anything stays, and no timer of the host is left. */
  async #empty(): Promise<void> {
    const { fleet, judge } = this.#realm;
    const { operators } = this.#reign;
    void operators.apply(fleet.configOf(emptied(judge.configs.last.draft)));
    await this.#pass(recoveryMs, () => operators.pending.size === 0);
    await this.#pass(emptyMs, () => false);
    this.#world.happenings.add('configs emptied');
    judge.emptied(this.#reign.serving.changesTriedAgain);
  }

  // --- the end -----------------------------------------------------------------------------

  async #close(): Promise<void> {
    await this.#closed();
    // Callers and operators go on, and are turned away.
    await this.#pass(aftermathMs, () => false);
    this.#judge.nothingLeft();
  }

  async #closed(): Promise<void> {
    let isQuiet = false;
    const quiet = this.#reign.quiet().then(() => {
      isQuiet = true;
    });
    await this.#pass(recoveryMs, () => isQuiet);
    if (!isQuiet) this.#judge.violated('rollout', `a rollout took over ${recoveryMs} ms`);
    await quiet;
    let isClosed = false;
    const closing = this.#reign.close().then(() => {
      isClosed = true;
    });
    await this.#pass(closeMs, () => isClosed);
    if (!isClosed) this.#judge.noServerLeft();
    await this.#pass(storeMs, () => isClosed);
    if (!isClosed) {
      return this.#judge.violated('stop-ladder', `close took over ${closeMs + storeMs} ms`);
    }
    await closing;
    this.#judge.closed([...this.#reign.operators.pending]);
    this.#world.trace.add('closed');
  }

  #report(): SimulationReport {
    const { clock, ledger, trace, faults, happenings } = this.#world;
    const { step, violations, book } = this.#judge;
    return {
      seed: this.#seed,
      hash: trace.digest(),
      steps: step,
      simulatedMs: clock.now(),
      calls: book.count,
      ledgerSize: ledger.size,
      faultsByKind: faults.counts,
      happenings: happenings.counts,
      exits: faults.exits,
      violations,
      trace: trace.lines,
    };
  }
}
