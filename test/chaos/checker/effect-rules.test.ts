// What the ledger alone shows: planted runs.

import { expect, test } from 'vitest';
import { testRows } from './planted/rows.ts';
import { PlantedRun, violated } from './planted/run.ts';

testRows('duplicated', [
  {
    title: 'a tool that is not safe runs once; a safe one may run again',
    wrong: (run) => run.fine('x').ledger('x', 'received begin'),
    right: (run) => run.fine('x', { tool: 'echo' }).ledger('x', 'received begin'),
  },
  {
    title: 'a request that was turned away may be received again',
    wrong: (run) =>
      run
        .call('x', { server: 'web' })
        .ledger('x', 'received begin received begin done')
        .result('x'),
    right: (run) =>
      run.call('x', { server: 'web' }).ledger('x', 'received received begin done').result('x'),
  },
]);

testRows('key', [
  {
    title: 'one idempotency key is one execution, whatever the arguments',
    wrong: (run) => run.fine('x', { key: 'k' }).fine('y', { key: 'k' }),
    right: (run) =>
      run
        .fine('x', { key: 'k' })
        .call('y', { key: 'k' })
        .fault('y', 'conflict', 'no')
        .fine('z', { key: 'l' }),
  },
]);

testRows('misrouted', [
  {
    title: 'a call arrives at the server that was asked',
    wrong: (run) => run.call('x').ledger('x', 'received begin done', { at: 'solo' }).result('x'),
    right: (run) => run.fine('x', { server: 'solo' }),
  },
  {
    title: 'a call arrives at the tool that was asked',
    wrong: (run) => run.call('x').ledger('x', 'received begin done', { tool: 'echo' }).result('x'),
    right: (run) => run.fine('x', { tool: 'echo' }),
  },
]);

testRows('unasked', [
  {
    title: 'nothing runs that nobody asked for',
    wrong: (run) =>
      run.line('ledger-pipe.jsonl', { tool: 'add', nonce: 'ghost', phase: 'received', run: 'r' }),
    right: (run) => run.call('x').ledger('x', 'received').cancel('x'),
  },
]);

test('an effect that happened twice counts once, however many calls share its key', () => {
  const run = new PlantedRun().fine('x', { key: 'k' }).fine('x', { key: 'k' });
  const report = run.call('x', { key: 'k' }).result('x').check();
  expect(violated(report)).toEqual(['duplicated', 'key']);
  expect(report.figures.find(({ name }) => name.startsWith('duplicated'))?.value).toBe(1);
});
