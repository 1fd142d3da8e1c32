// How a server stands: its breaker, its restart budget and its last fault. One that runs in the folders of
// its clients has this for each folder: what fails in one says nothing of the others.

import type { Clock } from '../../kernel/clock.ts';
import type { BreakerPolicy, BreakerState } from '../../supervise/breaker-machine.ts';
import { type HandedStanding, ServerStanding } from '../../supervise/standing.ts';

/** Folders whose past is known; beyond that the oldest is forgotten. */
const maxFolders = 256;

/** Of a folder; null: the server has none. */
export type WrittenStanding = HandedStanding & { readonly folder: string | null };

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

  /** Of each folder, and of the server where it has none, for the process after this one. */
  get written(): readonly WrittenStanding[] {
    const folders = [...this.#folders].map(([folder, one]) => ({ folder, ...one.written }));
    const { startsAgain, ...common } = this.#common.written;
    return [{ folder: null, ...common, startsAgain: startsAgain + this.#startsAgain }, ...folders];
  }

  /** As it was in the process before this one; of another spec only what never goes back. */
  restore(written: readonly WrittenStanding[], isSame: boolean): void {
    for (const { folder, ...one } of written) {
      const standing = this.of(folder ?? undefined);
      if (isSame) standing.restore(one);
      else {
        standing.generation = Math.max(standing.generation, one.generation);
        standing.startsAgain = one.startsAgain;
      }
    }
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
