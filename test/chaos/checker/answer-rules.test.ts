// Exactly one answer, its own and a true one: planted runs.

import { testRows } from './planted/rows.ts';

testRows('lost', [
  {
    title: 'a call that its client waited for to the end is lost; a cancelled one is not',
    wrong: (run) => run.call('x').ledger('x', 'received begin done'),
    right: (run) => run.call('x').ledger('x', 'received begin done').cancel('x'),
  },
  {
    title: 'a call is lost when the gateway cuts the connection, not when the client leaves',
    wrong: (run) => run.call('x').leave('cut', 'x'),
    right: (run) => run.call('x').leave('gone', 'x'),
  },
  {
    title: 'a connection may be cut after the answer',
    wrong: (run) => run.call('x').fine('y').leave('cut', 'x', 'y'),
    right: (run) => run.fine('x').fine('y').leave('cut', 'x', 'y'),
  },
]);

testRows('beyondFirst', [
  {
    title: 'a call has one answer',
    wrong: (run) => run.fine('x').result('x'),
    right: (run) => run.fine('x').fine('y'),
  },
  {
    title: 'two answers are two even if the call was cancelled; one that was under way may come',
    wrong: (run) =>
      run.call('x').ledger('x', 'received begin done').cancel('x').result('x').result('x'),
    right: (run) => run.call('x').ledger('x', 'received begin done').cancel('x').result('x'),
  },
  {
    title: 'an answer belongs to an id that was asked',
    wrong: (run) => run.history('a', { event: 'answer', id: 99, nonce: null, kind: 'result' }),
    right: (run) => run.fine('x', { id: 99 }),
  },
]);

testRows('wrongAnswer', [
  {
    title: 'an id comes back in its own JSON type',
    wrong: (run) =>
      run
        .fine('x', { id: 7 })
        .history('a', { event: 'answer', id: '7', nonce: null, kind: 'result' }),
    right: (run) => run.fine('x', { id: 7 }).fine('y', { id: '7' }),
  },
  {
    title: 'an answer carries the nonce of its own call',
    wrong: (run) =>
      run.call('x').ledger('x', 'received begin done').answer('x', 'result', { echo: 'first' }),
    right: (run) => run.call('x').ledger('x', 'received begin done').answer('x', 'result'),
  },
  {
    title: 'a success has its effect in the ledger',
    wrong: (run) => run.call('x').ledger('x', 'received begin').result('x'),
    right: (run) => run.call('x').ledger('x', 'received begin done').answer('x', 'tool-error'),
  },
  {
    title: 'an error of a server comes from a server that received the call',
    wrong: (run) => run.call('x').answer('x', 'rpc-error'),
    right: (run) => run.call('x').ledger('x', 'received begin').answer('x', 'rpc-error'),
  },
  {
    title: 'a fault has its record',
    wrong: (run) => run.call('x').answer('x', 'fault'),
    right: (run) => run.call('x').fault('x', 'overloaded', 'no'),
  },
]);
