// Comparing within rounds. What else the machine does changes from round to round and hits all
// subjects of a round alike; so what counts is the ratio of two figures of the same round, and of
// those ratios the median, with the lowest and the highest.

export interface Ratio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function ratioOf(own: readonly number[], base: readonly number[]): Ratio {
  const ratios = own.map((figure, round) => figure / (base[round] ?? Number.NaN));
  return { median: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) };
}

export function shownRatio({ median: middle, low, high }: Ratio): string {
  return `${middle.toFixed(2)}x (${low.toFixed(2)}-${high.toFixed(2)})`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Runs every subject once a round, in an order that turns, so that nobody is always first. */
export async function inTurns<Subject, Sample>(
  subjects: readonly Subject[],
  rounds: number,
  run: (subject: Subject) => Promise<Sample>,
): Promise<Map<Subject, Sample[]>> {
  const samples = new Map(subjects.map((subject) => [subject, [] as Sample[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (let place = 0; place < subjects.length; place += 1) {
      const subject = subjects[(round + place) % subjects.length] as Subject;
      samples.get(subject)?.push(await run(subject));
    }
  }
  return samples;
}
