// Runs that nobody planted: random chaos around honest servers passes, and the same run with one lie in
// it does not. The first keeps the checker from false alarms, the second from growing blind in a crowd.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { honestRun } from './planted/honest-run.ts';
import { type PlantedRun, violated } from './planted/run.ts';

const chaos = fc.record({ seed: fc.nat(), steps: fc.integer({ min: 1, max: 600 }) });
const NEXT = 'pipe-next';

test('a run in which every answer is true passes, whatever happened', () => {
  fc.assert(
    fc.property(chaos, ({ seed, steps }) => {
      expect(honestRun(seed, steps).fine('last', {}, NEXT).check().findings).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

const LIES: Readonly<Record<string, (run: PlantedRun) => PlantedRun>> = {
  lost: (run) => run.call('lie'),
  beyondFirst: (run) => run.result('last'),
  wrongAnswer: (run) => run.call('lie').result('lie'),
  duplicated: (run) => run.ledger('last', 'received begin', { run: NEXT }),
  noButLeft: (run) =>
    run
      .call('lie')
      .ledger('lie', 'received', { run: NEXT })
      .fault('lie', 'timeout', 'no', { attempts: 1 }),
  yesUnread: (run) => run.call('lie').fault('lie', 'timeout', 'yes'),
  maybeNeverLeft: (run) =>
    run.call('lie').fault('lie', 'timeout', 'maybe', { generation: 1000 }).fine('after', {}, NEXT),
};

describe('one false answer in a correct run is found', () => {
  test.each(Object.entries(LIES))('by the rule %s', (rule, tell) => {
    fc.assert(
      fc.property(chaos, ({ seed, steps }) => {
        const run = tell(honestRun(seed, steps).fine('last', {}, NEXT));
        expect(violated(run.check())).toEqual([rule]);
      }),
      { numRuns: 20 },
    );
  });
});
