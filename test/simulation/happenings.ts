// What must have happened often enough in many runs for their rules to mean anything: a rule about
// configs that no run has changed, or about keys that no client has repeated, holds without being
// looked at. Faults are counted by kind, elsewhere.

export const happenings = [
  'kills',
  'orderly ends',
  'config changes',
  'servers added',
  'servers removed',
  'servers restarted',
  'servers reconfigured',
  'states compared with a fresh host',
  'configs emptied',
  'rollouts',
  'rollouts in a row, before a former process has ended',
  'rollouts with a start, a stop or a backoff under way',
  'rollouts with a circuit that is not closed',
  'rollouts with an ejected server',
  'rollouts with a change of the config under way',
  'rollouts with another config',
  'rollouts with a key in use',
  'kills in a rollout',
  'processes of servers kept over a rollout',
  'sessions of servers kept over a rollout',
  'calls ended by a former process',
  'keys repeated to the next process',
  'keyed answers given again',
  'keyed outcomes unknown',
] as const;

export type Happening = (typeof happenings)[number];

export class Happenings {
  readonly counts = new Map<Happening, number>();

  add(what: Happening, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }
}
