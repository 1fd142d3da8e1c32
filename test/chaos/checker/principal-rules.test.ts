// What a role and a token are worth: planted runs with three principals. Ann and cat may use docs, bob may use
// files; all may be changed by an edit of the roles, or lose their token.

import { type Row, testRows } from './planted/rows.ts';
import { GUARDED_FACTS, type PlantedRun } from './planted/run.ts';

const DOCS = { client: 'ann', server: 'docs' };
const FILES = { client: 'ann', server: 'files' };
const CAT = { client: 'cat', server: 'docs' };
const ROLES = { reader: ['docs/add', 'docs/echo'], writer: ['files/add'] };
const SWAPPED = { reader: ['files/add'], writer: ['docs/add'] };

function who(client: string, path: object | null = null) {
  return { event: 'who', token: client, path, mark: `for~${client}~` };
}

function guarded(rows: readonly Row[]): readonly Row[] {
  const begun = (run: PlantedRun) => {
    run.facts = GUARDED_FACTS;
    run.roles('writing', ROLES).roles('in use', ROLES);
    run.token('added', 'ann', 'reader').token('added', 'bob', 'writer');
    run.token('added', 'cat', 'reader').history('cat', who('cat'));
    return run.history('ann', who('ann')).history('bob', who('bob'));
  };
  return rows.map(({ title, wrong, right }) => ({
    title,
    wrong: (run) => wrong(begun(run)),
    right: (run) => right(begun(run)),
  }));
}

function told(run: PlantedRun, client: string, mark: string): PlantedRun {
  return run.history(client, { event: 'marks', since: run.now + 1, marks: [mark] });
}

/** The roles are changed; between the two lines either may be in use. */
function swapped(run: PlantedRun, between = (one: PlantedRun) => one): PlantedRun {
  return between(run.roles('writing', SWAPPED)).roles('in use', SWAPPED);
}

function revoked(run: PlantedRun, token = 'ann'): PlantedRun {
  return run.token('revoking', token).token('revoked', token);
}

/** A call is refused in time when its token is revoked, and received by its server later. */
function receivedLate(
  run: PlantedRun,
  between: (one: PlantedRun) => PlantedRun,
  by: object = {},
): PlantedRun {
  revoked(run.fine('z', CAT).call('x', DOCS)).answer('x', 'rpc-error');
  return between(later(run, 2000)).ledger('x', 'received', { ...by });
}

function later(run: PlantedRun, ms: number): PlantedRun {
  run.now += ms;
  return run;
}

/** The call x has run. */
function done(run: PlantedRun): PlantedRun {
  return run.call('x', DOCS).ledger('x', 'received begin done');
}

/** A stream is closed so long after its token is known to be over. */
function closedLate(run: PlantedRun, ms: number): PlantedRun {
  const over = later(revoked(run.history('ann', stream('open'))), 1500).token('over', 'ann');
  return later(over, ms).history('ann', stream('closed'));
}

const stream = (state: string) => ({ event: 'stream', number: 1, state });

testRows(
  'foreignBytes',
  guarded([
    {
      title: 'what was made for one principal is told to no other',
      wrong: (run) => told(run, 'bob', 'for~ann~'),
      right: (run) => told(run, 'ann', 'for~ann~'),
    },
    {
      title: 'nor on another path of the same principal',
      wrong: (run) => told(run, 'ann', 'for~ann/s/docs~'),
      right: (run) => told(run, 'ann', 'for~ann~'),
    },
    {
      title: 'what a tool says is told to nobody who may not use it',
      wrong: (run) => told(run, 'ann', 'by~files/add~'),
      right: (run) => told(run, 'ann', 'by~docs/add~'),
    },
    {
      title: 'also on a path to another server',
      wrong: (run) =>
        told(run.history('c', { ...who('ann', server('files')), mark: 'x' }), 'c', 'by~docs/add~'),
      right: (run) =>
        told(run.history('c', { ...who('ann', server('docs')), mark: 'x' }), 'c', 'by~docs/add~'),
    },
    {
      title: 'and on the path of a role that may not',
      wrong: (run) =>
        told(run.history('c', { ...who('ann', role('writer')), mark: 'x' }), 'c', 'by~docs/add~'),
      right: (run) =>
        told(run.history('c', { ...who('ann', role('reader')), mark: 'x' }), 'c', 'by~docs/add~'),
    },
    {
      title: 'a role that was taken away says nothing more when the edit is in use',
      wrong: (run) => told(swapped(run), 'ann', 'by~docs/add~'),
      right: (run) => swapped(run, (one) => told(one, 'ann', 'by~docs/add~')),
    },
  ]),
);

testRows(
  'deniedRan',
  guarded([
    {
      title: 'a call that was not allowed reaches no server',
      wrong: (run) => run.fine('x', FILES),
      right: (run) => run.fine('x', DOCS),
    },
    {
      title: 'not even if its client is told that there is no such tool',
      wrong: (run) => run.call('x', FILES).ledger('x', 'received').answer('x', 'rpc-error'),
      right: (run) => run.call('x', FILES).answer('x', 'rpc-error'),
    },
    {
      title: 'one that was allowed at some moment of its life may run',
      wrong: (run) => swapped(run).fine('x', DOCS),
      right: (run) => swapped(run.call('x', DOCS)).ledger('x', 'received begin done').result('x'),
    },
    {
      title: 'one that was given up is judged up to its receipt',
      wrong: (run) => swapped(run.call('x', FILES).cancel('x').ledger('x', 'received')),
      right: (run) => swapped(run.call('x', FILES).cancel('x')).ledger('x', 'received'),
    },
    {
      title: 'a key that is said again when it is not allowed any more has run before',
      wrong: (run) => swapped(run).fine('x', { ...DOCS, key: 'x' }),
      right: (run) =>
        swapped(run.fine('x', { ...DOCS, key: 'x' }))
          .call('x', { ...DOCS, key: 'x' })
          .answer('x', 'rpc-error'),
    },
  ]),
);

testRows(
  'afterRevocation',
  guarded([
    {
      title: 'a second after its token was revoked no call is received',
      wrong: (run) =>
        later(revoked(run), 1001).call('x', DOCS).ledger('x', 'received').answer('x', 'rpc-error'),
      right: (run) =>
        later(revoked(run), 900).call('x', DOCS).ledger('x', 'received').answer('x', 'rpc-error'),
    },
    {
      title: 'it is over later if the gateway had not answered anybody by then',
      wrong: (run) => later(revoked(run).token('over', 'ann'), 1500).fine('x', DOCS),
      right: (run) => later(revoked(run), 1500).fine('x', DOCS).token('over', 'ann'),
    },
    {
      title: 'what was ended then may be heard of a moment later',
      wrong: (run) => closedLate(run, 102),
      right: (run) => closedLate(run, 90),
    },
    {
      title: 'none is answered with anything but a refusal',
      wrong: (run) => later(revoked(run), 1001).call('x', DOCS).fault('x', 'overloaded', 'no'),
      right: (run) => later(revoked(run), 1001).call('x', DOCS).answer('x', 'rpc-error'),
    },
    {
      title:
        'a process that did not read may receive what lay there, but not when it has answered others since',
      wrong: (run) => receivedLate(run, (one) => later(one.fine('y', CAT), 1)),
      right: (run) =>
        receivedLate(run, (one) => one.call('y', CAT))
          .ledger('y', 'received begin done')
          .result('y'),
    },
    {
      title: 'nor if it began later',
      wrong: (run) => receivedLate(run, (one) => one, { run: 'docs-2' }),
      right: (run) => receivedLate(run, (one) => one, { run: 'docs-1' }),
    },
    {
      title: 'what was said under a key before may lie there, whoever says it again',
      wrong: (run) =>
        later(revoked(run.fine('z', CAT)), 1001)
          .call('x', { ...DOCS, key: 'x' })
          .answer('x', 'rpc-error')
          .ledger('x', 'received'),
      right: (run) =>
        later(revoked(run.fine('z', CAT).call('x', { ...DOCS, key: 'x' })), 900)
          .answer('x', 'rpc-error')
          .call('x', { ...DOCS, key: 'x' })
          .answer('x', 'rpc-error')
          .ledger('x', 'received'),
    },
    {
      title: 'and none is open any more',
      wrong: (run) =>
        later(revoked(run.call('x', DOCS).ledger('x', 'received begin done')), 1001).result('x'),
      right: (run) =>
        later(revoked(run.call('x', DOCS).ledger('x', 'received begin done')), 900).result('x'),
    },
    {
      title: 'but one that its client had left unread may be read later',
      wrong: (run) =>
        later(revoked(done(run)), 1001)
          .unread('x')
          .result('x'),
      right: (run) => later(revoked(done(run).unread('x')), 2000).result('x'),
    },
    {
      title: 'one that its client gives up later was open if a server had received it',
      wrong: (run) => later(revoked(run.call('x', DOCS).ledger('x', 'received')), 1001).cancel('x'),
      right: (run) => later(revoked(run.call('x', DOCS)), 1001).cancel('x'),
    },
    {
      title: 'no stream is open any more',
      wrong: (run) =>
        later(revoked(run.history('ann', stream('open'))), 1001).history('ann', stream('closed')),
      right: (run) =>
        later(revoked(run.history('ann', stream('open'))).history('ann', stream('closed')), 1001),
    },
    {
      title: 'one that nobody closes was open to the end; that of another stays',
      wrong: (run) => later(revoked(run.history('ann', stream('open'))), 1001),
      right: (run) => later(revoked(run.history('ann', stream('open')), 'bob'), 1001),
    },
  ]),
);

testRows(
  'wronglyDenied',
  guarded([
    {
      title: 'nobody is refused what it was allowed all the time',
      wrong: (run) => run.call('x', DOCS).answer('x', 'rpc-error'),
      right: (run) => swapped(run.call('x', DOCS)).answer('x', 'rpc-error'),
    },
    {
      title: 'but whose token is being revoked may be',
      wrong: (run) => run.call('x', DOCS).answer('x', 'rpc-error').token('revoking', 'ann'),
      right: (run) => run.token('revoking', 'ann').call('x', DOCS).answer('x', 'rpc-error'),
    },
  ]),
);

testRows(
  'lost',
  guarded([
    {
      title: 'the calls of a token that is revoked may be cut, and of no other',
      wrong: (run) => cut(revoked(run.call('x', DOCS), 'bob')),
      right: (run) => cut(revoked(run.call('x', DOCS))),
    },
  ]),
);

testRows(
  'keptAnswer',
  guarded([
    {
      title: 'a key is answered as before as long as it is allowed',
      wrong: (run) =>
        run
          .fine('x', { ...DOCS, key: 'x' })
          .call('x', { ...DOCS, key: 'x' })
          .answer('x', 'rpc-error'),
      right: (run) =>
        swapped(run.fine('x', { ...DOCS, key: 'x' }))
          .call('x', { ...DOCS, key: 'x' })
          .answer('x', 'rpc-error'),
    },
  ]),
);

testRows(
  'evidence',
  guarded([
    {
      title: 'a client has a token that somebody gave it',
      wrong: (run) => run.history('eve', who('eve')),
      right: (run) => run.token('added', 'eve', 'reader').history('eve', who('eve')),
    },
  ]),
);

function cut(run: PlantedRun): PlantedRun {
  return run.history('ann', { event: 'cut', ids: [run.idOf('x')] });
}

function server(name: string) {
  return { kind: 'server', name };
}

function role(name: string) {
  return { kind: 'role', name };
}
