// The rollouts of one serving process, as its gateway uses them: the conductor, the watch over the installed files, and
// the state that is shown. Without a holder there are none; then it says what is installed, and refuses to roll.

import type { Clock } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import type { HandOver, HolderForRollout } from './attempt.ts';
import { Conductor, type ConductorParts, type RolloutResult } from './conductor.ts';
import { FilesWatch } from './files-watch.ts';
import type { InstalledAtStart, InstalledFiles } from './installed-files.ts';
import { initialRollout } from './rollout-machine.ts';
import { type ShownRollout, shownRollout } from './rollout-reading.ts';
import { type RolloutPolicy, rolloutLimits } from './rollout-state.ts';
import type { SnapshotOrigin } from './snapshot.ts';

/** What goes from process to process: a part of the snapshot. */
export interface RolloutHistory {
  /** Of this process: 1 is the first of the instance. */
  readonly generation: number;
  /** How often a version has taken over. */
  readonly rollouts: number;
  readonly runs: number;
  readonly failures: number;
}

export const firstHistory: RolloutHistory = { generation: 1, rollouts: 0, runs: 0, failures: 0 };

export interface ServingRolloutsParts {
  readonly clock: Clock;
  /** What this process was started from. */
  readonly installed: InstalledAtStart;
  readonly isAuto: () => boolean;
  readonly origin: SnapshotOrigin;
  /** Absent: this process has no holder. */
  readonly hands?: { readonly holder: HolderForRollout; readonly handOver: HandOver } | undefined;
  readonly history?: RolloutHistory | undefined;
  readonly report: ConductorParts['report'];
  readonly lost: ConductorParts['lost'];
  readonly caught: Caught;
  readonly progress?: ConductorParts['progress'];
}

export type AskedRollout = RolloutResult | { readonly kind: 'refused'; readonly why: 'no_holder' };

export interface ShownRollouts extends Omit<ShownRollout, 'at'> {
  /** Wall time. */
  readonly at: number | null;
  readonly count: number;
  readonly generation: number;
  readonly launchPathStable: boolean;
}

export class ServingRollouts implements Disposable {
  readonly #parts: ServingRolloutsParts;
  readonly #files: InstalledFiles;
  readonly #watch: FilesWatch;
  readonly #conductor: Conductor | undefined;
  readonly #history: RolloutHistory;

  constructor(parts: ServingRolloutsParts) {
    const { clock, installed, origin, hands, history = firstHistory } = parts;
    const { report, lost, caught, progress } = parts;
    this.#parts = parts;
    this.#history = history;
    this.#files = installed.files;
    let atStart: InstalledAtStart['look'] | undefined = installed.look;
    const look = (isBrief: boolean) => {
      const known = atStart;
      atStart = undefined;
      return known ?? this.#files.look(isBrief);
    };
    const common = { clock, origin, report, lost, caught, progress, counted: history };
    const policy = () => this.#policy;
    this.#conductor = hands && new Conductor({ ...common, ...hands, policy });
    this.#watch = new FilesWatch({
      clock,
      look,
      changed: (state) => this.#conductor?.files(state),
      caught,
    });
    this.policyChanged();
  }

  get #policy(): RolloutPolicy {
    return { ...rolloutLimits, isAuto: this.#parts.isAuto() };
  }

  /** What a successor of this process must know, if this rollout succeeds. */
  get nextHistory(): RolloutHistory {
    const { runs, failures } = this.#conductor?.state ?? this.#history;
    const { generation, rollouts } = this.#history;
    return { generation: generation + 1, rollouts: rollouts + 1, runs, failures };
  }

  /** The config may say something else now. */
  policyChanged(): void {
    this.#watch.follow(this.#conductor !== undefined && this.#parts.isAuto());
    this.#conductor?.changed();
  }

  /** Somebody wants it and waits for the outcome. Never rejects. */
  async ask(): Promise<AskedRollout> {
    if (this.#conductor === undefined) return { kind: 'refused', why: 'no_holder' };
    // What is being installed at this moment is waited for.
    await this.#watch.now();
    return await this.#conductor.ask();
  }

  /** Somebody wants it and does not wait: a signal, or a test hook. */
  request(): void {
    const { caught } = this.#parts;
    this.#watch
      .now()
      .then(() => this.#conductor?.request())
      .catch(caught);
  }

  /** Clients are served from now on. */
  serving(): void {
    this.#conductor?.serving();
  }

  formers(count: number): void {
    this.#conductor?.formers(count);
  }

  shutdown(): void {
    this.#conductor?.shutdown();
  }

  read(): ShownRollouts {
    const { clock } = this.#parts;
    const state = this.#conductor?.state ?? initialRollout();
    const { at, ...shown } = shownRollout(state, this.#policy, this.#files.hasChanged);
    return {
      ...shown,
      at: at === null ? null : Math.round(clock.wallNow() - (clock.now() - at)),
      count: this.#history.rollouts,
      generation: this.#history.generation,
      launchPathStable: this.#files.isLaunchPathStable,
    };
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
    this.#conductor?.[Symbol.dispose]();
  }
}
