// One run from one seed: a world, a fleet, the shipped host, callers and operators, and a judge over
// all of it. First the storm; then, in most runs, calm weather, in which every server must come back
// to life; then the end of the host, after which nothing may be left. Some runs end in the storm.

import type { Host } from '../../src/host/host.ts';
import { drawFleet, type Fleet, hostOn } from './fleet.ts';
import { Judge, type Violation } from './invariants.ts';
import { Operators } from './operators.ts';
import { Dice } from './random.ts';
import { run } from './virtual-clock.ts';
import type { FaultKind } from './weather.ts';
import { Workload } from './workload.ts';
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
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
}

/** How long a server may take to come back when nothing goes wrong any more. */
const recoveryMs = 120_000;
/** All servers end in parallel, each within the drain of a reload, a stop ladder and a sweep. */
const closeMs = 10_500;
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
  readonly #fleet: Fleet;
  readonly #host: Host;
  readonly #workload: Workload;
  readonly #operators: Operators;
  readonly #endsInStorm: boolean;

  constructor(seed: number, { minutes, without, isTraceKept }: SimulationOptions) {
    const seeds = new Dice(seed, 1);
    this.#seed = seed;
    this.#minutes = minutes;
    this.#world = new World({ seed, without, isTraceKept }, this.#judge);
    this.#fleet = drawFleet(seeds.fork(1));
    this.#judge.watch(this.#world, this.#fleet.config);
    this.#host = hostOn(this.#world, this.#fleet, (event) => this.#judge.heard(event));
    this.#judge.meet(this.#host);
    const parts = [this.#world, this.#host, this.#fleet, this.#judge] as const;
    this.#workload = new Workload(...parts, seeds.fork(2));
    this.#operators = new Operators(...parts, seeds.fork(3));
    this.#endsInStorm = seeds.chance(0.4);
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
    this.#host.startPinned();
    this.#workload.begin();
    this.#operators.begin();
    await this.#pass(this.#minutes * 60_000, () => false);
    if (!this.#endsInStorm) await this.#recover();
    await this.#close();
  }

  /** Lets time pass until something is so, but no longer than said. */
  async #pass(ms: number, isSo: () => boolean): Promise<boolean> {
    const { clock } = this.#world;
    let isTimeUp = false;
    using _end = clock.later(ms, () => {
      isTimeUp = true;
    });
    const isOver = () => isTimeUp || isSo();
    await run(clock, isOver, () => this.#judge.settled());
    return isSo();
  }

  // --- calm --------------------------------------------------------------------------------

  async #recover(): Promise<void> {
    this.#operators.end();
    this.#world.weather.calm();
    this.#world.trace.add('calm');
    // What operators had begun is theirs to end, so that what is ejected stays so.
    await this.#pass(recoveryMs, () => this.#operators.pending.size === 0);
    const { names } = this.#fleet;
    this.#workload.beginPolite();
    const isBack = (name: string) => this.#workload.answered.has(name) || this.#isEjected(name);
    const patienceMs = recoveryMs + this.#announcedDelayMs();
    await this.#pass(patienceMs, () => names.every(isBack));
    this.#demand(names, isBack, `within ${patienceMs} ms of calm`);
    const ejected = names.filter((name) => this.#isEjected(name));
    for (const name of ejected) {
      this.#workload.answered.delete(name);
      void this.#operators.reload(name);
    }
    const hasAnswered = (name: string) => this.#workload.answered.has(name);
    await this.#pass(recoveryMs, () => ejected.every(hasAnswered));
    this.#demand(ejected, hasAnswered, `within ${recoveryMs} ms of a reload`);
  }

  #demand(names: readonly string[], isBack: (name: string) => boolean, when: string): void {
    for (const name of names.filter((candidate) => !isBack(candidate))) {
      const server = this.#host.status().servers.find((row) => row.name === name);
      const state = `${server?.state} ${server?.circuit}, ${server?.cause}`;
      this.#judge.violated('liveness', `${name} did not answer ${when}: ${state}`);
    }
  }

  #isEjected(name: string): boolean {
    return this.#host.status().servers.some((row) => row.name === name && row.ejected);
  }

  /** A remote server without a budget may have been told to wait longer: that was announced. */
  #announcedDelayMs(): number {
    const { clock } = this.#world;
    const waits = this.#host.status().servers.map(({ nextAttemptAt }) => nextAttemptAt ?? 0);
    return Math.max(0, Math.max(...waits) - clock.wallNow());
  }

  // --- the end -----------------------------------------------------------------------------

  async #close(): Promise<void> {
    let isClosed = false;
    const closing = this.#host.close().then(() => {
      isClosed = true;
    });
    await this.#pass(closeMs, () => isClosed);
    if (!isClosed) return this.#judge.violated('stop-ladder', `close took over ${closeMs} ms`);
    await closing;
    this.#judge.closed([...this.#operators.pending]);
    this.#world.trace.add('closed');
    // Callers and operators go on, and are turned away.
    await this.#pass(aftermathMs, () => false);
    this.#judge.nothingLeft();
  }

  #report(): SimulationReport {
    const { clock, ledger, trace, weather } = this.#world;
    const { step, violations, book } = this.#judge;
    return {
      seed: this.#seed,
      hash: trace.digest(),
      steps: step,
      simulatedMs: clock.now(),
      calls: book.count,
      ledgerSize: ledger.size,
      faultsByKind: weather.counts,
      violations,
      trace: trace.lines,
    };
  }
}
