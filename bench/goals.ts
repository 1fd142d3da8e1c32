// The project's goals, judged by the median of the ratios and printed as they are judged.

import { type Ratio, shownRatio } from './ratios.ts';

/** Requests a second of letters that are told, and of letters that are kept, of what the bare subject does. */
export const brokerGoals = { told: 0.7, kept: 0.6 } as const;

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

  #judge(title: string, ratio: Ratio, isMet: boolean): void {
    if (!isMet) this.#missed += 1;
    console.log(`  ${isMet ? 'met   ' : 'MISSED'} ${title}: ${shownRatio(ratio)}`);
  }
}
