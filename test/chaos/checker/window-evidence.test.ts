// `maybe` for calls that nobody could take, over HTTP: planted runs.

import { testRows } from './planted/rows.ts';
import type { PlantedRun } from './planted/run.ts';

/** A window of web, with a call elsewhere that shows the gateway's loop has gone round. */
function quiet(run: PlantedRun): PlantedRun {
  return run.window('down').fine('elsewhere');
}

testRows('maybeNeverLeft', [
  {
    title: 'a call was handed to nobody while nothing listened',
    wrong: (run) =>
      quiet(run).call('x', { server: 'web' }).fault('x', 'outcome_unknown', 'maybe').window('up'),
    right: (run) =>
      quiet(run).call('x', { server: 'web' }).fault('x', 'unavailable', 'no').window('up'),
  },
  {
    title: 'a call that outlived the silence may have met the next server',
    wrong: (run) =>
      quiet(run).call('x', { server: 'web' }).fault('x', 'timeout', 'maybe').window('up'),
    right: (run) =>
      quiet(run).call('x', { server: 'web' }).window('up').fault('x', 'timeout', 'maybe'),
  },
  {
    title: 'until the gateway has answered somebody it may hold a connection to the dead server',
    wrong: (run) => quiet(run).call('x', { server: 'web' }).fault('x', 'timeout', 'maybe'),
    right: (run) => run.window('down').call('x', { server: 'web' }).fault('x', 'timeout', 'maybe'),
  },
  {
    title: 'an answer from memory may speak of a time before the silence',
    wrong: (run) =>
      quiet(run)
        .call('x', { server: 'web', key: 'k' })
        .fault('x', 'timeout', 'maybe')
        .call('x', { server: 'web', key: 'k' })
        .fault('x', 'timeout', 'maybe'),
    right: (run) =>
      quiet(run.call('x', { server: 'web', key: 'k' }).fault('x', 'timeout', 'maybe'))
        .call('x', { server: 'web', key: 'k' })
        .fault('x', 'timeout', 'maybe'),
  },
]);

testRows('evidence', [
  {
    title: 'nobody receives anything while nothing listens, but what is said again may be later',
    wrong: (run) =>
      quiet(run)
        .call('x', { server: 'web' })
        .fault('x', 'unavailable', 'no', { attempts: 1 })
        .window('up')
        .ledger('x', 'received', { server: 'web' }),
    right: (run) =>
      quiet(run)
        .call('x', { server: 'web', key: 'k' })
        .fault('x', 'unavailable', 'no')
        .window('up')
        .fine('x', { server: 'web', key: 'k' }),
  },
]);
