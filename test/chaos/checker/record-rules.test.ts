// Fault records against the contract and the ledger: planted runs.

import { testRows } from './planted/rows.ts';
import type { PlantedRun } from './planted/run.ts';

testRows('noButLeft', [
  {
    title: '`no` has no effect in the ledger',
    wrong: (run) =>
      run
        .call('x', { server: 'web' })
        .ledger('x', 'received begin')
        .fault('x', 'timeout', 'no', { attempts: 1 }),
    right: (run) =>
      run
        .call('x', { server: 'web' })
        .ledger('x', 'received')
        .fault('x', 'timeout', 'no', { attempts: 1 }),
  },
  {
    title: '`no` has no receipt either, on a pipe',
    wrong: (run) =>
      run.call('x').ledger('x', 'received').fault('x', 'timeout', 'no', { attempts: 1 }),
    right: (run) => run.call('x').fault('x', 'timeout', 'no', { attempts: 1 }),
  },
  {
    title: '`no` is refuted by a call with the same key only if none says more',
    wrong: (run) =>
      run
        .call('x', { key: 'k' })
        .fault('x', 'unavailable', 'no')
        .call('x', { key: 'k' })
        .ledger('x', 'received begin done')
        .fault('x', 'unavailable', 'no'),
    right: (run) =>
      run.call('x', { key: 'k' }).fault('x', 'unavailable', 'no').fine('x', { key: 'k' }),
  },
]);

testRows('yesUnread', [
  {
    title: '`yes` has a receipt',
    wrong: (run) => run.call('x').fault('x', 'timeout', 'yes'),
    right: (run) => run.call('x').ledger('x', 'received').fault('x', 'timeout', 'yes'),
  },
]);

testRows('attempts', [
  {
    title: 'there are no more receipts than attempts',
    wrong: (run) =>
      run
        .call('x', { tool: 'echo' })
        .ledger('x', 'received received')
        .fault('x', 'timeout', 'maybe'),
    right: (run) =>
      run
        .call('x', { tool: 'echo' })
        .ledger('x', 'received received')
        .fault('x', 'timeout', 'maybe', { attempts: 2 }),
  },
]);

testRows('generation', [
  {
    title: 'a generation is one process',
    wrong: (run) =>
      run
        .call('x')
        .ledger('x', 'received', { run: 'one' })
        .fault('x', 'timeout', 'maybe')
        .call('y')
        .ledger('y', 'received', { run: 'two' })
        .fault('y', 'timeout', 'maybe'),
    right: (run) =>
      run
        .call('x')
        .ledger('x', 'received', { run: 'one' })
        .fault('x', 'timeout', 'maybe')
        .call('y')
        .ledger('y', 'received', { run: 'two' })
        .fault('y', 'timeout', 'maybe', { generation: 2 }),
  },
  {
    title: 'a process has one generation',
    wrong: (run) =>
      run
        .call('x')
        .ledger('x', 'received')
        .fault('x', 'timeout', 'maybe')
        .call('y')
        .ledger('y', 'received')
        .fault('y', 'timeout', 'maybe', { generation: 2 }),
    right: (run) =>
      run
        .call('x')
        .ledger('x', 'received')
        .fault('x', 'timeout', 'maybe')
        .call('y')
        .ledger('y', 'received')
        .fault('y', 'timeout', 'maybe'),
  },
]);

testRows('record', [
  ...[
    'overloaded',
    'circuit_open',
    'ejected',
    'draining',
    'start_timeout',
    'unavailable',
    'auth_required',
    'budget_exceeded',
    'denied',
    'conflict',
    'not_found',
    'invalid_request',
    'quarantined',
  ].map((code) => ({
    title: `${code} was not sent`,
    wrong: (run: PlantedRun) => run.call('x').fault('x', code, 'maybe'),
    right: (run: PlantedRun) => run.call('x').fault('x', code, 'no'),
  })),
  {
    title: 'only a safe call may be refused after it was sent once',
    wrong: (run) => run.call('x').ledger('x', 'received begin').fault('x', 'circuit_open', 'maybe'),
    right: (run) =>
      run
        .call('x', { tool: 'echo' })
        .ledger('x', 'received begin')
        .fault('x', 'circuit_open', 'maybe'),
  },
  {
    title: 'what is refused at the door does not arrive, not even over HTTP',
    wrong: (run) =>
      run
        .call('x', { server: 'web' })
        .ledger('x', 'received')
        .fault('x', 'denied', 'no', { attempts: 1 }),
    right: (run) =>
      run
        .call('x', { server: 'web' })
        .ledger('x', 'received')
        .fault('x', 'auth_required', 'no', { attempts: 1 }),
  },
  ...['rpc_error', 'frame_too_large'].map((code) => ({
    title: `${code} is the word of the server`,
    wrong: (run: PlantedRun) =>
      run.call('x').ledger('x', 'received begin').fault('x', code, 'maybe'),
    right: (run: PlantedRun) => run.call('x').ledger('x', 'received begin').fault('x', code, 'yes'),
  })),
  {
    title: 'outcome_unknown was sent',
    wrong: (run) => run.call('x').fault('x', 'outcome_unknown', 'no'),
    right: (run) => run.call('x').fault('x', 'outcome_unknown', 'maybe'),
  },
  {
    title: 'outcome_unknown is for tools that are not safe',
    wrong: (run) => run.call('x', { tool: 'echo' }).fault('x', 'outcome_unknown', 'maybe'),
    right: (run) => run.call('x', { tool: 'echo' }).fault('x', 'unavailable', 'maybe'),
  },
  {
    title: 'outcome_unknown is not to be retried',
    wrong: (run) => run.call('x').fault('x', 'outcome_unknown', 'maybe', { retryable: true }),
    right: (run) => run.call('x').fault('x', 'unavailable', 'no', { retryable: true }),
  },
  {
    title: 'what was sent was attempted',
    wrong: (run) => run.call('x').fault('x', 'timeout', 'maybe', { attempts: 0 }),
    right: (run) => run.call('x').fault('x', 'timeout', 'no', { attempts: 0 }),
  },
  ...[
    { code: 'oops' },
    { dispatched: 'perhaps' },
    { attempts: '1' },
    { retryable: 'no' },
    { generation: 'one', dispatched: 'no' },
    { server: 'solo' },
    { code: 'internal' },
  ].map((members) => ({
    title: `a record does not say ${JSON.stringify(members)}`,
    wrong: (run: PlantedRun) => run.call('x').fault('x', 'timeout', 'maybe', members),
    right: (run: PlantedRun) => run.call('x').fault('x', 'timeout', 'maybe'),
  })),
]);
