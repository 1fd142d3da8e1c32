// A gateway that can be rolled over, whoever started it: how it is asked, what it has said of its rollouts, and what is
// done when its serving process is lost.

export interface Rollable {
  readonly name: string;
  /** As histories name it at the moment. */
  readonly gateway: () => string;
  /** Its pid-holder; undefined: there is none at the moment. */
  readonly holder: () => number | undefined;
  /** Runs `holdfast rollout`; its exit code. Absent: only signals reach it. */
  readonly ask?: () => Promise<number | null>;
  /** All that its processes have said on stderr. */
  readonly said: () => string;
  /** Does something that may end it: `harm` resolves to the time since when that was an end, undefined if it was none. */
  readonly endures: (way: string, harm: () => Promise<number | undefined>) => Promise<void>;
  /** Resolves when another serving process serves after the death of one. */
  readonly servesAgain: () => Promise<unknown>;
  /** kill -9 of its pid-holder, and what has to follow. Absent: nobody would start it again. */
  readonly killHolder?: () => Promise<void>;
  /** Its config stays in its place while this runs, whatever is written there. */
  readonly calmly: <T>(work: () => Promise<T>) => Promise<T>;
  /** Nothing that keeps a process from starting happens to its config while this runs. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface Outcomes {
  readonly rolled: number;
  readonly failed: number;
  /** Of these, for want of time: on a busy machine that says nothing. */
  readonly late: number;
}

/** How many rollouts have been reported, by how they ended. */
export function outcomesIn(said: string): Outcomes {
  const count = (words: string) => said.split(words).length - 1;
  return {
    rolled: count(' has taken over from '),
    failed: count('the rollout has failed, and this version serves on'),
    late: count(' within 15 s'),
  };
}

/** Of a gateway that its clients do not end: there nothing else has to be done. */
export async function plainly<T>(work: () => Promise<T>): Promise<T> {
  return await work();
}
