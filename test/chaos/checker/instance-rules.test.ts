// Calls that are lost with their instance, and keys that outlive it: planted runs.

import { type Row, testRows } from './planted/rows.ts';
import { INSTANCE_FACTS, type PlantedRun, REMOTE_FACTS } from './planted/run.ts';

const FAR = { server: 'far' };
const DONE = 'received begin done';
const KEYED = { server: 'far', key: 'k' };

/** The answer of a window whose instance has ended: nobody knows which server had the call. */
function lost(run: PlantedRun, nonce: string, more: object = {}): PlantedRun {
  return run.fault(nonce, 'outcome_unknown', 'maybe', {
    ...{ server: 'holdfast', attempts: 0, generation: undefined },
    ...more,
  });
}

/** The answer of a window that gets no instance. */
function refused(run: PlantedRun, nonce: string, more: object = {}): PlantedRun {
  return run.fault(nonce, 'unavailable', 'no', {
    ...{ server: 'holdfast', attempts: 0, generation: undefined },
    ...more,
  });
}

/** An instance is killed, and gone. */
function killed(run: PlantedRun): PlantedRun {
  return run.instance('ending').instance('ended');
}

function later(run: PlantedRun, ms: number): PlantedRun {
  run.now += ms;
  return run;
}

function withInstances(rows: readonly Row[]): readonly Row[] {
  const begun = (run: PlantedRun) => {
    run.facts = INSTANCE_FACTS;
    return killed(run).fine('far', FAR);
  };
  return rows.map(({ title, wrong, right }) => ({
    title,
    wrong: (run) => wrong(begun(run)),
    right: (run) => right(begun(run)),
  }));
}

testRows(
  'lostInstance',
  withInstances([
    {
      title: 'a call is lost with an instance that was ended while it was under way',
      wrong: (run) => lost(run.call('x', FAR).ledger('x', 'received begin'), 'x'),
      right: (run) => lost(killed(run.call('x', FAR).ledger('x', 'received begin')), 'x'),
    },
    {
      title:
        'a call that was sent just after the end may be lost, but not when its window knows the next one',
      wrong: (run) => lost(killed(run).fine('y', FAR).call('x', FAR), 'x'),
      right: (run) =>
        lost(killed(run).call('y', FAR).call('x', FAR), 'x').ledger('y', DONE).result('y'),
    },
    {
      title: 'nor long after it',
      wrong: (run) => lost(later(killed(run), 2001).call('x', FAR), 'x'),
      right: (run) => lost(later(killed(run), 1900).call('x', FAR), 'x'),
    },
    {
      title: 'an end long before the call, or after its answer, is none of its own',
      wrong: (run) => killed(lost(run.call('x', FAR), 'x')),
      right: (run) => lost(run.instance('ending').call('x', FAR).instance('ended'), 'x'),
    },
    {
      title: 'with a key, the first call with it counts',
      wrong: (run) => lost(later(killed(run), 3000).call('x', KEYED), 'x'),
      right: (run) =>
        lost(later(killed(run.call('x', KEYED).leave('gone', 'x')), 3000).call('x', KEYED), 'x'),
    },
  ]),
);

testRows(
  'record',
  withInstances([
    {
      title: 'a call that was lost with an instance may have run',
      wrong: (run) => lost(killed(run.call('x', FAR)), 'x', { dispatched: 'no' }),
      right: (run) => lost(killed(run.call('x', FAR)), 'x'),
    },
    {
      title: 'a safe call may be lost so, but not with its server',
      wrong: (run) =>
        run
          .call('x', { ...FAR, tool: 'echo' })
          .ledger('x', 'received')
          .fault('x', 'outcome_unknown', 'maybe'),
      right: (run) => lost(killed(run.call('x', { ...FAR, tool: 'echo' })), 'x'),
    },
    {
      title: 'a window without an instance names Holdfast, and only if nothing was sent',
      wrong: (run) => refused(run.call('x', FAR), 'x', { attempts: 1 }),
      right: (run) => refused(run.call('x', FAR), 'x'),
    },
    {
      title: 'nobody else names Holdfast',
      wrong: (run) => refused(run.call('x'), 'x'),
      right: (run) => refused(run.call('x'), 'x', { server: 'pipe' }),
    },
  ]),
);

testRows(
  'evidence',
  withInstances([
    {
      title: 'each end has its beginning',
      wrong: (run) => run.instance('ended'),
      right: (run) => run.instance('ending'),
    },
  ]),
);

/** A call with a key that has its result, of which this is the text. */
function kept(run: PlantedRun, digest: string): PlantedRun {
  const asked = run.call('x', KEYED).ledger('x', 'received begin done');
  return asked.answer('x', 'result', { digest });
}

testRows(
  'keptAnswer',
  withInstances([
    {
      title: 'all results of a key are one',
      wrong: (run) => kept(run, 'a').call('x', KEYED).answer('x', 'result', { digest: 'b' }),
      right: (run) => kept(run, 'a').call('x', KEYED).answer('x', 'result', { digest: 'a' }),
    },
    {
      title: 'a result that somebody has is not unknown afterwards, but it may be before',
      wrong: (run) =>
        killed(kept(run, 'a').call('x', KEYED)).fault('x', 'outcome_unknown', 'maybe'),
      right: (run) =>
        killed(run.call('x', KEYED))
          .fault('x', 'outcome_unknown', 'maybe')
          .call('x', KEYED)
          .ledger('x', 'received begin done')
          .answer('x', 'result', { digest: 'a' }),
    },
    {
      title: 'an instance may be lost on the way to the answer, and nothing need be sent for it',
      wrong: (run) => kept(run, 'a').call('x', KEYED).answer('x', 'rpc-error'),
      right: (run) =>
        lost(killed(kept(run, 'a').call('x', KEYED)), 'x')
          .call('x', KEYED)
          .fault('x', 'draining', 'no'),
    },
  ]),
);

const REMOTE = { server: 'remote' };

/** Each with an instance of the windows and a broker that have ended before. */
function withWorkers(rows: readonly Row[]): readonly Row[] {
  const begun = (run: PlantedRun) => {
    run.facts = REMOTE_FACTS;
    return killed(run).fine('far', FAR).remote('ending').remote('ended').fine('near', REMOTE);
  };
  return rows.map(({ title, wrong, right }) => ({
    title,
    wrong: (run) => wrong(begun(run)),
    right: (run) => right(begun(run)),
  }));
}

testRows(
  'lostInstance',
  withWorkers([
    {
      title: 'a call of a worker is lost with a broker, not with an instance of the windows',
      wrong: (run) => lost(killed(run.call('x', REMOTE)), 'x', { server: 'boss' }),
      right: (run) =>
        lost(run.call('x', REMOTE).remote('ending').remote('ended'), 'x', { server: 'boss' }),
    },
    {
      title: 'and a call of a window not with a broker',
      wrong: (run) => lost(run.call('x', FAR).remote('ending').remote('ended'), 'x'),
      right: (run) => lost(killed(run.call('x', FAR)), 'x'),
    },
  ]),
);

testRows(
  'record',
  withWorkers([
    {
      title: 'a worker names the orchestrator that it does not reach, and nobody else does',
      wrong: (run) => refused(run.call('x', FAR), 'x', { server: 'boss' }),
      right: (run) => refused(run.call('x', REMOTE), 'x', { server: 'boss' }),
    },
  ]),
);
