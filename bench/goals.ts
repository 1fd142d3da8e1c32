// The project's goals, judged by the median of the ratios and printed as they are judged.

import { median, type Ratio, shownRatio } from './ratios.ts';

/**
 * Requests a second of letters that are told, and of letters that are kept, of what the bare subject does; and
 * megabytes a second of a large result.
 */
export const brokerGoals = { told: 0.7, kept: 0.6, largePerSecond: 50 } as const;

export class Goals {
  #missed = 0;

  get allMet(): boolean {
    return this.#missed === 0;
  }

  atMost(limit: number, title: string, ratio: Ratio): void {
    this.#judge(`${title} at most ${limit}x`, ratio, ratio.median <= limit);
  }

  atLeast(limit: number, title: string, ratio: Ratio): void {
    this.#judge(`${title} at least ${limit}x`, ratio, ratio.median >= limit);
  }

  /** Of figures that are compared with nothing. */
  atLeastFigure(limit: number, title: string, unit: string, values: readonly number[]): void {
    const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)];
    const shown = `${middle.toFixed(0)} ${unit} (${low.toFixed(0)}-${high.toFixed(0)})`;
    this.#say(`${title} at least ${limit} ${unit}: ${shown}`, middle >= limit);
  }

  #judge(title: string, ratio: Ratio, isMet: boolean): void {
    this.#say(`${title}: ${shownRatio(ratio)}`, isMet);
  }

  #say(text: string, isMet: boolean): void {
    if (!isMet) this.#missed += 1;
    console.log(`  ${isMet ? 'met   ' : 'MISSED'} ${text}`);
  }
}
