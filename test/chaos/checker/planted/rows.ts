// A rule as a row of a table: a run that breaks it and one that is just right. The wrong one must be
// found by that rule and by no other, so that a rule which says too much shows as well; the right one
// must pass as a whole.

import { expect, test } from 'vitest';
import { hasPassed } from '../../../proof/report.ts';
import { PlantedRun, violated } from './run.ts';

export interface Row {
  readonly title: string;
  readonly wrong: (run: PlantedRun) => PlantedRun;
  readonly right: (run: PlantedRun) => PlantedRun;
}

export function testRows(rule: string, rows: readonly Row[]): void {
  for (const { title, wrong, right } of rows) {
    test(title, () => {
      const found = wrong(aRun()).check();
      expect(violated(found)).toEqual([rule]);
      expect(hasPassed(found)).toBe(false);
      const passed = right(aRun()).check();
      expect(passed.findings).toEqual([]);
      expect(hasPassed(passed)).toBe(true);
    });
  }
}

function aRun(): PlantedRun {
  return new PlantedRun().fine('first', { server: 'web' });
}
