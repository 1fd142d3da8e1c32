// The phases of a rollout, as they can be seen from outside, and what a kill in each may cost. A phase begins with a line
// of the log; which one a kill has met is read from the last line that was said before it.

import type { Said, Step } from './instance.ts';

export const phases = ['starting', 'handing over', 'taking over', 'claimed', 'serving'] as const;
export type Phase = (typeof phases)[number];

export const victims = ['successor', 'incumbent', 'both'] as const;
export type Victim = (typeof victims)[number];

/** The line that each phase begins with. */
export const firstStep: Readonly<Record<Phase, Step>> = {
  // The successor's process appears and loads.
  starting: 'started',
  // It is ready, and the fence is drawn at the same moment.
  'handing over': 'ready',
  // It has been told everything.
  'taking over': 'told',
  // It is the serving process, and does not serve yet.
  claimed: 'claimed',
  // It serves, and the process before still has calls.
  serving: 'serves',
};

const no = false;
const yes = true;

/** May calls that are under way fail? Everything else must be right in any case. */
export const mayFail: Readonly<Record<Phase, Readonly<Record<Victim, boolean>>>> = {
  starting: { successor: no, incumbent: yes, both: yes },
  'handing over': { successor: yes, incumbent: yes, both: yes },
  'taking over': { successor: yes, incumbent: yes, both: yes },
  claimed: { successor: yes, incumbent: yes, both: yes },
  serving: { successor: yes, incumbent: yes, both: yes },
};

export interface Killed {
  readonly incumbent: boolean;
  /** Its pid, if it was killed. */
  readonly successor: number | undefined;
}

/** What was said until the kill, and by the killed until their end. */
export function phaseMet(
  all: readonly Said[],
  saidAtKill: number,
  { incumbent, successor }: Killed,
): Phase | undefined {
  const isOfKilled = ({ step, pid }: Said) => (step === 'claimed' ? pid === successor : incumbent);
  const said = all.filter((one, at) => at < saidAtKill || isOfKilled(one));
  return phases.findLast((phase) => said.some(({ step }) => step === firstStep[phase]));
}

/** How long each phase has taken, in ms, in a rollout to which nothing happened. */
export function lengthsIn(all: readonly Said[]): ReadonlyMap<Phase, number> {
  const begins = phases.map((phase) => all.find(({ step }) => step === firstStep[phase])?.at ?? 0);
  return new Map(
    phases.map((phase, at) => [phase, (begins[at + 1] ?? Number.NaN) - (begins[at] ?? 0)]),
  );
}
