// `maybe` for frames that never left our queue, on a pipe: planted runs.

import { testRows } from './planted/rows.ts';
import type { PlantedRun } from './planted/run.ts';

const big = { argumentBytes: 60_000 };

/** `count` calls that claim to be in the pipe of generation 1, each unread. */
function unreadClaims(run: PlantedRun, count: number, code: string, more = {}): PlantedRun {
  const nonces = Array.from({ length: count }, (_, index) => `unread-${index}`);
  for (const nonce of nonces) run.call(nonce, more);
  for (const nonce of nonces) run.fault(nonce, code, 'maybe');
  return run;
}

/** A process is lost with `count` calls of a tool that is not safe, the first received, and a safe one. */
function lostWithReplay(run: PlantedRun, count: number): PlantedRun {
  run.call('safe', { tool: 'echo' }).call('received');
  run.ledger('safe', 'received').ledger('received', 'received');
  unreadClaims(run, count - 1, 'outcome_unknown').fault('received', 'outcome_unknown', 'maybe');
  return run.ledger('safe', 'received begin done', { run: 'pipe-2' }).result('safe');
}

testRows('maybeNeverLeft', [
  {
    title: 'a frame that a later one overtook never left: the process was there before and after',
    wrong: (run) => run.fine('before').call('x').fault('x', 'timeout', 'maybe').fine('after'),
    right: (run) => run.fine('before').call('x').fault('x', 'timeout', 'no').fine('after'),
  },
  {
    title: 'a frame is not overtaken by one that was sent before its answer',
    wrong: (run) =>
      run
        .fine('before')
        .call('x')
        .fault('x', 'timeout', 'maybe')
        .call('y')
        .ledger('y', 'received begin done')
        .result('y'),
    right: (run) =>
      run
        .fine('before')
        .call('x')
        .call('y')
        .fault('x', 'timeout', 'maybe')
        .ledger('y', 'received begin done')
        .result('y'),
  },
  {
    title: 'a later frame of another process overtakes nothing',
    wrong: (run) =>
      run
        .fine('before', {}, 'one')
        .call('x')
        .fault('x', 'timeout', 'maybe')
        .fine('after', {}, 'one'),
    right: (run) =>
      run
        .fine('before', {}, 'one')
        .call('x')
        .fault('x', 'timeout', 'maybe')
        .fine('after', {}, 'two'),
  },
  {
    title: 'nor does one of another gateway',
    wrong: (run) => run.fine('before').call('x').fault('x', 'timeout', 'maybe').fine('after'),
    right: (run) =>
      run
        .history('b', { event: 'begin', gateway: 'own' })
        .fine('before')
        .call('x', { client: 'b' })
        .fault('x', 'timeout', 'maybe')
        .fine('after'),
  },
  {
    title: 'a process is not older than the answer that says it was not used yet',
    wrong: (run) =>
      run
        .fine('k', { key: 'k' }, 'new')
        .call('x')
        .fault('x', 'timeout', 'maybe')
        .fine('after', {}, 'new'),
    right: (run) =>
      run
        .call('k', { key: 'k' })
        .fault('k', 'unavailable', 'no')
        .call('x')
        .fault('x', 'timeout', 'maybe')
        .fine('k', { key: 'k' }, 'new')
        .fine('after', {}, 'new'),
  },
  {
    title: 'an answer from memory says nothing about when its call was sent',
    wrong: (run) =>
      run
        .fine('k', { key: 'k' })
        .call('x')
        .fault('x', 'timeout', 'maybe')
        .call('k', { key: 'k' })
        .result('k')
        .fine('after'),
    right: (run) =>
      run
        .fine('k', { key: 'k' })
        .call('x')
        .fault('x', 'timeout', 'maybe')
        .call('k', { key: 'k' })
        .result('k'),
  },
  {
    title: 'a frame that a later one overtook never left: the generation names the process',
    wrong: (run) =>
      run
        .call('x')
        .call('named')
        .fault('x', 'timeout', 'maybe')
        .ledger('named', 'received')
        .fault('named', 'timeout', 'maybe')
        .fine('after'),
    right: (run) =>
      run
        .call('x')
        .call('named')
        .fault('x', 'timeout', 'maybe', { generation: 2 })
        .ledger('named', 'received')
        .fault('named', 'timeout', 'maybe')
        .fine('after'),
  },
  {
    title: 'a safe call that was sent twice may mean the first process by `maybe`',
    wrong: (run) =>
      run
        .call('x', { tool: 'echo' })
        .call('named')
        .fault('x', 'timeout', 'maybe')
        .ledger('named', 'received')
        .fault('named', 'timeout', 'maybe')
        .fine('after'),
    right: (run) =>
      run
        .call('x', { tool: 'echo' })
        .call('named')
        .fault('x', 'timeout', 'maybe', { attempts: 2 })
        .ledger('named', 'received')
        .fault('named', 'timeout', 'maybe')
        .fine('after'),
  },
  {
    title: 'a server with one place loses one call with a process',
    wrong: (run) => unreadClaims(run, 2, 'outcome_unknown', { server: 'solo' }),
    right: (run) => unreadClaims(run, 1, 'outcome_unknown', { server: 'solo' }),
  },
  {
    title: 'a call that was received held its place too',
    wrong: (run) =>
      unreadClaims(run, 1, 'outcome_unknown', { server: 'solo' })
        .call('x', { server: 'solo' })
        .ledger('x', 'received')
        .fault('x', 'outcome_unknown', 'maybe'),
    right: (run) =>
      unreadClaims(run, 1, 'outcome_unknown', { server: 'solo' })
        .call('x', { server: 'solo' })
        .ledger('x', 'received')
        .fault('x', 'outcome_unknown', 'maybe', { generation: 2 }),
  },
  {
    title: 'so did a safe one that was sent again to the next process',
    wrong: (run) => lostWithReplay(run, 64),
    right: (run) => lostWithReplay(run, 63),
  },
  {
    title: 'calls that timed out gave their place back',
    wrong: (run) => unreadClaims(run, 2, 'outcome_unknown', { server: 'solo' }),
    right: (run) => unreadClaims(run, 2, 'timeout', { server: 'solo' }),
  },
  {
    title: 'a pipe does not hold more than it has room for',
    wrong: (run) => unreadClaims(run, 9, 'timeout', big),
    right: (run) => unreadClaims(run, 8, 'timeout', big),
  },
]);
