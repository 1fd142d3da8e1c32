// Whose roots an answer names: planted runs with a server that tells the roots that it knows.

import { expect, test } from 'vitest';
import { type Row, testRows } from './planted/rows.ts';
import { PlantedRun, ROOTED_FACTS, violated } from './planted/run.ts';

const MINE = 'file:///mine';
const YOURS = 'file:///yours';

/** A call of client b to the tool that tells roots, with this answer. */
function told(run: PlantedRun, nonce: string, ...roots: string[]): PlantedRun {
  return asked(run, nonce).ledger(nonce, 'received begin done').answer(nonce, 'result', { roots });
}

function asked(run: PlantedRun, nonce: string): PlantedRun {
  return run.call(nonce, { client: 'b', server: 'rooted', tool: 'roots' });
}

/** Client b has roots; its first answer names them, and its second is the same one, kept. */
function covered(run: PlantedRun): PlantedRun {
  run.facts = ROOTED_FACTS;
  told(run.history('b', { event: 'roots', uris: [MINE] }), 'own', MINE);
  return asked(run, 'kept').answer('kept', 'result', { roots: [MINE] });
}

function ofRooted(rows: readonly Row[]): readonly Row[] {
  return rows.map(({ title, wrong, right }) => ({
    title,
    wrong: (run) => wrong(covered(run)),
    right: (run) => right(covered(run)),
  }));
}

testRows(
  'foreignRoots',
  ofRooted([
    {
      title: 'an answer names the roots of its own client',
      wrong: (run) => told(run, 'x', YOURS),
      right: (run) => told(run, 'x', MINE),
    },
    {
      title: 'not one of another among its own',
      wrong: (run) => told(run, 'x', MINE, YOURS),
      right: (run) => told(run, 'x', MINE, MINE),
    },
    {
      title: 'not by a result that was kept',
      wrong: (run) => asked(run, 'x').answer('x', 'result', { roots: [YOURS] }),
      right: (run) => asked(run, 'x').answer('x', 'result', { roots: [MINE] }),
    },
    {
      title: 'a client without roots is told of none',
      wrong: (run) =>
        run
          .call('x', { client: 'c', server: 'rooted', tool: 'roots' })
          .answer('x', 'result', { roots: [MINE] }),
      right: (run) =>
        run
          .call('x', { client: 'c', server: 'rooted', tool: 'roots' })
          .answer('x', 'result', { roots: [] }),
    },
  ]),
);

testRows(
  'untoldRoots',
  ofRooted([
    {
      title: 'a client that has told its roots is not called without them',
      wrong: (run) => told(run.history('b', { event: 'told' }), 'x'),
      right: (run) => told(run, 'x').history('b', { event: 'told' }),
    },
    {
      title: 'unless the gateway has waited as long as it does for a slow client',
      wrong: (run) => told(run.history('b', { event: 'told' }), 'x'),
      right: (run) => {
        const late = asked(run.history('b', { event: 'told' }), 'x').ledger(
          'x',
          'received begin done',
        );
        late.now += 2_000;
        return late.answer('x', 'result', { roots: [] });
      },
    },
    {
      title: 'but a result that was kept may be of the time before',
      wrong: (run) => told(run.history('b', { event: 'told' }), 'x'),
      right: (run) =>
        asked(run.history('b', { event: 'told' }), 'x').answer('x', 'result', { roots: [] }),
    },
  ]),
);

testRows(
  'wrongAnswer',
  ofRooted([
    {
      title: 'only what may be kept is true without an effect',
      wrong: (run) => run.call('x', { server: 'rooted', tool: 'echo' }).answer('x', 'result'),
      right: (run) => asked(run, 'x').answer('x', 'result', { roots: [] }),
    },
  ]),
);

testRows(
  'evidence',
  ofRooted([
    {
      title: 'an answer of that tool says something of roots',
      wrong: (run) => asked(run, 'x').answer('x', 'result'),
      right: (run) => asked(run, 'x').answer('x', 'result', { roots: [] }),
    },
  ]),
);

test.each([
  ['in which no answer named any roots', [], 2],
  ['without a kept result', [MINE], 1],
])('a run %s does not pass', (_, roots, gaps) => {
  const run = new PlantedRun().fine('first').history('b', { event: 'roots', uris: [MINE] });
  run.facts = ROOTED_FACTS;
  const report = told(run, 'x', ...roots).check();
  expect(violated(report)).toEqual(['evidence']);
  expect(report.findings).toHaveLength(gaps);
});
