// What a rollout may cost, and what a kill of the serving process may: planted runs.

import { type Row, testRows } from './planted/rows.ts';
import { type PlantedRun, ROLLED_FACTS } from './planted/run.ts';

const CALM = { server: 'calm' };
const DONE = 'received begin done';

/** A gateway that was rolled over while a call was under way. */
function begun(run: PlantedRun): PlantedRun {
  run.facts = ROLLED_FACTS;
  run.files.set('ends-shared.jsonl', []);
  const from = run.call('over', CALM).ledger('over', 'received begin').now;
  return run.rolled(from).ledger('over', 'done').result('over');
}

function rolledOver(rows: readonly Row[]): readonly Row[] {
  return rows.map(({ title, wrong, right }) => ({
    title,
    wrong: (run) => wrong(begun(run)),
    right: (run) => right(begun(run)),
  }));
}

/** A rollout while x is under way. */
function over(run: PlantedRun, nonce = 'x', more: Record<string, unknown> = CALM): PlantedRun {
  return run.call(nonce, more).rolled(run.now);
}

/** A kill while x is under way. */
function killed(run: PlantedRun, nonce = 'x', more: Record<string, unknown> = CALM): PlantedRun {
  return run.call(nonce, more).killed('ending').killed('ended');
}

testRows(
  'rollout',
  rolledOver([
    {
      title: 'a call to a server to which nothing is done fails with a kill, not with a rollout',
      wrong: (run) => over(run).fault('x', 'unavailable', 'no'),
      right: (run) => killed(run).fault('x', 'unavailable', 'no'),
    },
    {
      title: 'an end long before, or after its answer, excuses no call over a rollout',
      wrong: (run) =>
        over(killed(run, 'y').result('y').ledger('y', DONE)).fault('x', 'timeout', 'no'),
      right: (run) =>
        over(killed(run, 'y').result('y').ledger('y', DONE)).ledger('x', DONE).result('x'),
    },
    {
      title: 'no call of any server is told that its gateway is going away',
      wrong: (run) => over(run, 'x', {}).fault('x', 'draining', 'no'),
      right: (run) => over(run, 'x', {}).fault('x', 'unavailable', 'no'),
    },
    {
      title: 'another request is broken off by a kill, not by a rollout',
      wrong: (run) => run.rolled().history('a', { event: 'failed', since: run.now - 1 }),
      right: (run) =>
        run
          .killed('ending')
          .history('a', { event: 'failed', since: run.now - 1 })
          .killed('ended'),
    },
  ]),
);

testRows(
  'lost',
  rolledOver([
    {
      title: 'the connection of a call is cut by a kill, not by a rollout',
      wrong: (run) => over(run).leave('cut', 'x'),
      right: (run) => run.call('x', CALM).killed('ending').leave('cut', 'x').killed('ended'),
    },
    {
      title: 'nor by a kill that was over when the call was sent',
      wrong: (run) => killed(run, 'y').ledger('y', DONE).result('y').call('x').leave('cut', 'x'),
      right: (run) => run.killed('ending').call('x').leave('cut', 'x').killed('ended'),
    },
  ]),
);

testRows(
  'duplicated',
  rolledOver([
    {
      title: 'an effect happens once, before a rollout or after it',
      wrong: (run) => over(run).ledger('x', `${DONE} ${DONE}`).result('x'),
      right: (run) => over(run).ledger('x', DONE).result('x'),
    },
  ]),
);

testRows(
  'keptAnswer',
  rolledOver([
    {
      title: 'a key whose result is there is answered as before after a rollout',
      wrong: (run) =>
        run
          .call('x', { ...CALM, key: 'k' })
          .ledger('x', DONE)
          .answer('x', 'result', { digest: 'a' })
          .rolled()
          .call('x', { ...CALM, key: 'k' })
          .answer('x', 'result', { digest: 'b' }),
      right: (run) =>
        run
          .call('x', { ...CALM, key: 'k' })
          .ledger('x', DONE)
          .answer('x', 'result', { digest: 'a' })
          .rolled()
          .call('x', { ...CALM, key: 'k' })
          .answer('x', 'result', { digest: 'a' }),
    },
  ]),
);

/** The numbers of two processes that are lost, one after the other, with something in between. */
function lostTwice(run: PlantedRun, between: (one: PlantedRun) => PlantedRun): PlantedRun {
  const lost = (one: PlantedRun, nonce: string, process: string) =>
    one
      .call(nonce)
      .ledger(nonce, 'received begin', { run: process })
      .fault(nonce, 'outcome_unknown', 'maybe');
  return lost(between(lost(run, 'x', 'pipe-7')), 'y', 'pipe-8');
}

testRows(
  'generation',
  rolledOver([
    {
      title: 'generations are counted on over a rollout, and anew after a kill',
      wrong: (run) => lostTwice(run, (one) => one.rolled()),
      right: (run) => lostTwice(run, (one) => one.killed('ending').killed('ended')),
    },
  ]),
);

testRows('evidence', [
  {
    title: 'a run without a rollout, or without a call over one, shows nothing',
    wrong: (run: PlantedRun) => {
      run.facts = ROLLED_FACTS;
      run.files.set('ends-shared.jsonl', []);
      return run.rolled().fine('late', CALM);
    },
    right: begun,
  },
  {
    title: 'gateways that were rolled over have a list of their rollouts',
    wrong: (run: PlantedRun) => {
      begun(run).files.delete('rollouts.jsonl');
      return run;
    },
    right: begun,
  },
]);

const ANN = { client: 'ann', server: 'calm' };

/** Ann, who may make three calls, makes so many, and is then refused so often. */
function spends(run: PlantedRun, made: number, refused: number): PlantedRun {
  run.roles('writing', { r: ['calm/add'] }).roles('in use', { r: ['calm/add'] });
  run.token('added', 'ann', 'r').history('ann', {
    ...{ event: 'who', token: 'ann', path: null, mark: 'for~ann~' },
  });
  for (let number = 1; number <= made; number += 1) {
    run.fine(`made-${number}`, ANN);
    if (number === 2) run.rolled();
  }
  for (let number = 1; number <= refused; number += 1) {
    run.call(`refused-${number}`, ANN).fault(`refused-${number}`, 'budget_exceeded', 'no');
  }
  return run;
}

testRows(
  'overspent',
  rolledOver([
    {
      title: 'a rollout gives nothing of a budget again',
      wrong: (run) => spends(run, 4, 1),
      right: (run) => spends(run, 3, 2),
    },
  ]),
);

testRows(
  'underspent',
  rolledOver([
    {
      title: 'a rollout loses nothing of a budget, and a kill at most a block',
      wrong: (run) => spends(run, 2, 1),
      right: (run) => spends(run.killed('ending').killed('ended'), 2, 1),
    },
  ]),
);
