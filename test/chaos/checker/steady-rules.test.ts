// Servers that nobody changes while the config around them is edited: planted runs.

import { type Row, testRows } from './planted/rows.ts';
import { EDITED_FACTS, type PlantedRun } from './planted/run.ts';

const STILL = { server: 'still' };

function edited(rows: readonly Row[]): readonly Row[] {
  const begun = (run: PlantedRun) => {
    run.facts = EDITED_FACTS;
    return run.fine('one', STILL);
  };
  return rows.map(({ title, wrong, right }) => ({
    title,
    wrong: (run) => wrong(begun(run)),
    right: (run) => right(begun(run)),
  }));
}

/** Two calls, the second sent while the first runs; by these processes. */
function beside(run: PlantedRun, first: string, second: string): PlantedRun {
  return run
    .call('x', STILL)
    .ledger('x', 'received begin', { run: first })
    .fine('y', STILL, second)
    .ledger('x', 'done', { run: first })
    .result('x');
}

testRows(
  'steady',
  edited([
    {
      title: 'no call of them ends in a fault, of whatever kind',
      wrong: (run) => run.call('x', STILL).fault('x', 'draining', 'no'),
      right: (run) => run.call('x').fault('x', 'draining', 'no'),
    },
    {
      title: 'a process that is in use stays; between two calls it may end',
      wrong: (run) => beside(run, 'still-1', 'still-2'),
      right: (run) => beside(run.fine('z', STILL, 'still-2'), 'still-3', 'still-3'),
    },
    {
      title: 'a tool that was hidden may be unknown, but not after it was received',
      wrong: (run) =>
        run
          .call('x', { ...STILL, tool: 'echo' })
          .ledger('x', 'received')
          .answer('x', 'rpc-error'),
      right: (run) => run.call('x', { ...STILL, tool: 'echo' }).answer('x', 'rpc-error'),
    },
  ]),
);

testRows(
  'wrongAnswer',
  edited([
    {
      title: 'a tool of a server that goes may be unknown, that of one that stays may not',
      wrong: (run) => run.call('x').answer('x', 'rpc-error'),
      right: (run) => run.call('x', { server: 'guest' }).answer('x', 'rpc-error'),
    },
  ]),
);
