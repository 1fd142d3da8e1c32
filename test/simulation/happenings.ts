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
