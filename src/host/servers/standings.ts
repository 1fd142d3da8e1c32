// How a server stands: its breaker, its restart budget and its last fault. One that runs in the folders of
// its clients has this for each folder: what fails in one says nothing of the others.

import type { Clock } from '../../kernel/clock.ts';
import type { BreakerPolicy, BreakerState } from '../../supervise/breaker-machine.ts';
import { ServerStanding } from '../../supervise/standing.ts';

/** Folders whose past is known; beyond that the oldest is forgotten. */
const maxFolders = 256;

export class Standings {
  readonly #make: () => ServerStanding;
  readonly #common: ServerStanding;
  /** By folder, at most `maxFolders`. */
  readonly #folders = new Map<string, ServerStanding>();
  #policy: BreakerPolicy;
  /** Of folders that were forgotten. */
  #startsAgain = 0;

  constructor(
    clock: Clock,
    policy: BreakerPolicy,
    announce: (circuit: BreakerState['kind']) => void,
  ) {
    this.#policy = policy;
    this.#make = () => new ServerStanding(clock, this.#policy, announce);
    this.#common = this.#make();
  }

  of(folder: string | undefined): ServerStanding {
    if (folder === undefined) return this.#common;
    const known = this.#folders.get(folder);
    if (known) return known;
    if (this.#folders.size >= maxFolders) this.#forgetOldest();
    const standing = this.#make();
    standing.isRemoved = this.#common.isRemoved;
    this.#folders.set(folder, standing);
    return standing;
  }

  set policy(policy: BreakerPolicy) {
    this.#policy = policy;
    for (const standing of this.#all()) standing.breaker.policy = policy;
  }

  removed(): void {
    for (const standing of this.#all()) standing.isRemoved = true;
  }

  get startsAgain(): number {
    return this.#all().reduce((sum, one) => sum + one.startsAgain, this.#startsAgain);
  }

  #all(): readonly ServerStanding[] {
    return [this.#common, ...this.#folders.values()];
  }

  #forgetOldest(): void {
    for (const [folder, { startsAgain }] of this.#folders) {
      this.#startsAgain += startsAgain;
      this.#folders.delete(folder);
      return;
    }
  }
}
