// Seeds that have found a defect of the host, with what they found. A seed leads to the same place
// only as long as nobody throws the dice more or less often than before; it is kept because it costs
// little, and the rule that caught it holds for every other seed as well.

export interface Regression {
  readonly seed: number;
  readonly found: string;
}

export const regressions: readonly Regression[] = [];
