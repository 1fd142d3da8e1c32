// What makes the checker's word worth something: evidence that is missing or damaged never passes, all
// violations are counted, and nothing is shared with what it judges. The rules have their tables beside
// them; runs that nobody planted are in honest-run.test.ts.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testRows } from './planted/rows.ts';
import { FACTS, PlantedRun, violated } from './planted/run.ts';

testRows('evidence', [
  {
    title: 'a torn line is reported, wherever it is',
    wrong: (run) => run.line('history-a.jsonl', '{"t":5,"event":"ca'),
    right: (run) => run.line('history-a.jsonl', ''),
  },
  {
    title: 'a torn ledger is reported',
    wrong: (run) => run.line('ledger-pipe.jsonl', '{"nonce":"x","ph'),
    right: (run) => run.line('ledger-pipe.jsonl', ''),
  },
  {
    title: 'a separator inside a string ends no line',
    wrong: (run) => run.call('x').fault('x', 'timeout', 'no').line('history-a.jsonl', 'two\nlines'),
    right: (run) => run.call('x').fault('x', 'timeout', 'no', { detail: 'two\u2028lines' }),
  },
  {
    title: 'a receipt without a nonce belongs to nobody',
    wrong: (run) => run.line('ledger-pipe.jsonl', { tool: 'add', nonce: null, phase: 'received' }),
    right: (run) => run.fine('x'),
  },
  {
    title: 'an effect without its announcement means a damaged ledger',
    wrong: (run) => run.call('x').ledger('x', 'received done').result('x'),
    right: (run) => run.call('x').ledger('x', 'received begin done').result('x'),
  },
  {
    title: 'a nonce is used again only under one key',
    wrong: (run) => run.fine('x').call('x').result('x'),
    right: (run) => run.fine('x', { key: 'k' }).call('x', { key: 'k' }).result('x'),
  },
  {
    title: 'an id is used once',
    wrong: (run) => run.fine('x', { id: 50 }).fine('y', { id: 50 }),
    right: (run) => run.fine('x', { id: 50 }).fine('y', { id: 51 }),
  },
  {
    title: 'a call goes to a tool that the facts know',
    wrong: (run) => run.fine('x', { tool: 'unheard' }),
    right: (run) => run.fine('x', { tool: 'echo' }),
  },
  {
    title: 'the ledger tells the processes on a pipe apart',
    wrong: (run) => run.call('x').ledger('x', 'received begin done', { run: 2 }).result('x'),
    right: (run) =>
      run
        .call('x')
        .ledger('x', 'received begin done', { run: 2 })
        .result('x')
        .line('starts-pipe.jsonl', { pid: 2 }),
  },
  {
    title: 'a pid names a process only if it was given once',
    wrong: (run) =>
      run
        .call('x')
        .ledger('x', 'received', { run: 2 })
        .cancel('x')
        .line('starts-pipe.jsonl', { pid: 2 })
        .line('starts-pipe.jsonl', { pid: 2 }),
    right: (run) =>
      run
        .call('x')
        .ledger('x', 'received', { run: 2 })
        .cancel('x')
        .line('starts-pipe.jsonl', { pid: 2 })
        .line('starts-pipe.jsonl', { pid: 3 }),
  },
  {
    title: 'what was sent through a pipe names its generation',
    wrong: (run) => run.call('x').fault('x', 'timeout', 'maybe', { generation: undefined }),
    right: (run) => run.call('x').fault('x', 'timeout', 'no', { generation: undefined }),
  },
  {
    title: 'nothing is received while nothing listens',
    wrong: (run) => run.window('down').fine('x', { server: 'web' }).window('up'),
    right: (run) => run.window('down').window('up').fine('x', { server: 'web' }),
  },
  {
    title: 'a server comes up after it went down',
    wrong: (run) => run.window('up'),
    right: (run) => run.window('down').window('up').window('down'),
  },
  {
    title: 'an event that is not known is not passed over',
    wrong: (run) => run.history('a', { event: 'resumed' }),
    right: (run) => run.history('b', { event: 'begin', gateway: 'own' }),
  },
  {
    title: 'a kind of answer that is not known is not passed over',
    wrong: (run) => run.call('x').answer('x', 'surprise'),
    right: (run) => run.call('x').answer('x', 'fault', { fault: recordOf('overloaded') }),
  },
  {
    title: 'a phase that is not known is not passed over',
    wrong: (run) => run.fine('x').ledger('x', 'undone'),
    right: (run) => run.fine('x'),
  },
]);

function recordOf(code: string) {
  return { code, server: 'pipe', dispatched: 'no', attempts: 0, retryable: true, detail: code };
}

describe('evidence that is missing', () => {
  test('a history without an end is a gap, and its open calls are not lost', () => {
    const report = new PlantedRun().fine('x').call('open').check({ isEnded: false });
    expect(violated(report)).toEqual(['evidence']);
  });

  test.each(['ledger-pipe.jsonl', 'windows.jsonl'])('a run without %s does not pass', (name) => {
    const run = new PlantedRun().call('x').fault('x', 'overloaded', 'no');
    expect(violated(run.check())).toEqual([]);
    run.files.delete(name);
    expect(violated(run.check())).toEqual(['evidence']);
  });

  test('a run without calls does not pass', () => {
    expect(violated(new PlantedRun().check())).toEqual(['evidence']);
  });

  test.each([
    ['that cannot be read', 'not JSON'],
    ['without servers', JSON.stringify({ pipeBytes: 1 })],
    ['without the size of a pipe', JSON.stringify({ ...FACTS, pipeBytes: undefined })],
    [
      'with half a server',
      JSON.stringify({ ...FACTS, servers: [...FACTS.servers, { name: 'x' }] }),
    ],
  ])('facts %s do not pass', (_, text) => {
    const run = new PlantedRun().fine('x').line('facts.json', text);
    expect(violated(run.check())).toEqual(['evidence']);
  });

  test('without facts no rule looks as if it had been kept', () => {
    const report = new PlantedRun().fine('x').line('facts.json', 'not JSON').check();
    expect(report.figures.map(({ name }) => name)).toEqual(['gaps in the evidence']);
  });
});

test('facts may say that an HTTP server never turns anything away; then `no` has no receipt', () => {
  const run = () =>
    new PlantedRun()
      .call('x', { server: 'web' })
      .ledger('x', 'received')
      .fault('x', 'timeout', 'no', { attempts: 1 });
  expect(violated(run().check())).toEqual([]);
  const strict = run();
  strict.facts = {
    ...FACTS,
    servers: FACTS.servers.map((server) => ({ ...server, turnsAway: false })),
  };
  expect(violated(strict.check())).toEqual(['noButLeft']);
});

test('at most twenty findings are said, in turns, and all are counted', () => {
  const run = new PlantedRun().fine('first').call('y').answer('y', 'rpc-error');
  for (let index = 0; index < 30; index += 1) run.call(`x${index}`);
  const report = run.check();
  expect(report.findings).toHaveLength(21);
  expect(violated(report)).toEqual(['and more: see the figures', 'lost', 'wrongAnswer']);
  expect(report.figures.find(({ name }) => name.startsWith('lost'))?.value).toBe(30);
});

test('the checker shares nothing with the gateway or the driver', () => {
  const sources = readdirSync(import.meta.dirname).filter((name) => /^[\w-]+\.ts$/.test(name));
  const imports = sources.flatMap((name) => {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8');
    return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]);
  });
  const foreign = imports.filter((name) => !/^(node:|\.\/[\w-]+\.ts$)/.test(name ?? ''));
  expect([...new Set(foreign)]).toEqual(['../../proof/report.ts']);
});
