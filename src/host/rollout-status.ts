// Whether another version of the program is about to take this one's place, as the host tells it. The host does not
// roll: what does is given to it (src/rollout), and without it, as in the library, the state is always stable.

/**
 * Whether another version is taking over. `pending`: the installed files are others than those that run, or somebody
 * has asked for it and it has to wait. `running`: a successor is starting. `failed`: the last attempt failed, and
 * this version serves on.
 */
export type RolloutPhase = 'stable' | 'pending' | 'running' | 'failed';

/** More about it. */
export interface RolloutStatus {
  /** Why it waits or has failed, in one line; null: there is nothing to say, or it is not for this principal. */
  readonly cause: string | null;
  /** When it began to wait or to run, or has failed, in milliseconds since 1970; null: it is stable, or that is not known. */
  readonly at: number | null;
  /** How often a version has taken over since the instance was started. */
  readonly count: number;
  /** The number of this process among those of the instance: 1 is the first. */
  readonly generation: number;
  /** Whether the path that the program was started by still leads to the same file. */
  readonly launchPathStable: boolean;
}

export interface RolloutReading extends RolloutStatus {
  readonly phase: RolloutPhase;
}

/** What knows about rollouts. Asked each time, and answers at once. */
export interface RolloutState {
  read(): RolloutReading;
}

export const noRollouts: RolloutState = {
  read: () => ({
    phase: 'stable',
    cause: null,
    at: null,
    count: 0,
    generation: 1,
    launchPathStable: true,
  }),
};
