// The short form of `npm run interop`: the reference servers and the official clients that the
// project's own dependencies hold, over every transport they have, and what the proof compares with.

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScenarioResult } from '../conformance/run-suite.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { runClients } from './client-proof.ts';
import { realClients } from './client-table.ts';
import { compare } from './comparison.ts';
import { lostChecks } from './conformance.ts';
import { statusOf } from './gateway-status.ts';
import { officialServer } from './official-servers.ts';
import { HttpPeer } from './peers/http-peer.ts';
import { elementsOf, membersOf, withMember, withoutMember } from './raw-json.ts';
import { greet, type List, type ListKind, type Reading, read } from './reading.ts';
import { type Comparison, clientKinds, kindNames, readBare, readThrough } from './server-proof.ts';

describe('the official clients of either generation #gateway-eras #interop', () => {
  const clients = realClients.filter(({ script }) => script === 'sdk-1' || script === 'sdk-2');

  it('connect, list, call, meet errors and call again, over HTTP, stdio and the transport of 2024', async () => {
    const results = await runClients(clients, 60_000, () => {});
    const failures = results.map(({ client, transport, failure }) => [
      `${client.name}, ${transport}`,
      failure,
    ]);
    expect(failures).toEqual([
      ['sdk-1, http', undefined],
      ['sdk-1, stdio', undefined],
      ['sdk-1, sse', undefined],
      ['sdk-2, http', undefined],
      ['sdk-2, stdio', undefined],
      ['sdk-2-auto, http', undefined],
      ['sdk-2-auto, stdio', undefined],
    ]);
  }, 120_000);
});

describe('the reference servers, bare and through the gateway #interop', () => {
  const limits = { freshMs: 60_000, bareMs: 60_000, atOnce: 3 };
  let folder: string;
  let comparisons: readonly Comparison[] = [];
  let started: readonly string[] = [];

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-interop-')));
    const candidates = [
      { name: 'everything', launch: officialServer('everything', folder) },
      { name: 'files', launch: officialServer('filesystem', folder) },
      { name: 'memory', launch: officialServer('memory', folder) },
    ];
    const results = await readBare(candidates, folder, limits, () => {});
    expect(results.map(({ failure }) => failure)).toEqual([undefined, undefined, undefined]);
    ({ comparisons, started } = await readThrough(candidates, results, limits, () => {}));
  }, 240_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  describe.each(kindNames)('a client that is %s', (kind) => {
    it.each(['fresh', 'kept'] as const)('reads the same when the lists are %s', (when) => {
      const found = comparisons.find((one) => one.kind === kind && one.when === when);
      expect([...(found?.differences ?? [['', 'not read']])]).toEqual([]);
    });
  });

  it('are not started for lists that are kept', () => {
    expect(started).toEqual([]);
  });

  it('are not started by the client with roots that was the only one before #first-list', async () => {
    const mcpServers = { files: officialServer('filesystem', folder) };
    await using home = await GatewayHome.create({ mcpServers });
    const kind = clientKinds['legacy, with roots, sampling and elicitation'];
    const listedBy = async (url: string) => {
      await using peer = new HttpPeer(url, kind, pathToFileURL(folder).href);
      return (await read(peer, await greet(peer, kind))).lists.tools;
    };
    await using gateway = await home.serve();
    const first = await listedBy(gateway.url);
    await gateway[Symbol.asyncDispose]();
    await using again = await home.serve();
    expect(await listedBy(again.url)).toEqual(first);
    expect(await statusOf(again.url)).toMatchObject([{ name: 'files', state: 'idle' }]);
  });
});

describe('raw JSON', () => {
  it('gives members and elements as they were written', () => {
    const text =
      ' { "a" : 1.0, "b\\u0021":"x,\\"}" , "list": [ {"k": [1, 2]} ,\n -0, "\\u0041" ] } ';
    const members = membersOf(text);
    expect([...members]).toEqual([
      ['a', '1.0'],
      ['b!', '"x,\\"}"'],
      ['list', '[ {"k": [1, 2]} ,\n -0, "\\u0041" ]'],
    ]);
    expect(elementsOf(members.get('list') ?? '')).toEqual(['{"k": [1, 2]}', '-0', '"\\u0041"']);
    expect(elementsOf('[]')).toEqual([]);
    expect([...membersOf('{}')]).toEqual([]);
  });

  it('replaces one member and nothing else', () => {
    const text = '{"deep":{"name":"a"}, "name" : "a","n":1.0}';
    expect(withMember(text, 'name', '"b"')).toBe('{"deep":{"name":"a"}, "name" : "b","n":1.0}');
    expect(withMember(text, 'other', '1')).toBe(text);
  });

  it('takes one member out with one comma', () => {
    expect(withoutMember('{"a":1,"b":[2, 3] ,"c":3}', 'a')).toBe('{"b":[2, 3] ,"c":3}');
    expect(withoutMember('{"a":1,"b":[2, 3] ,"c":3}', 'b')).toBe('{"a":1,"c":3}');
    expect(withoutMember('{"a":1,"b":[2, 3]}', 'b')).toBe('{"a":1}');
    expect(withoutMember('{"a":1}', 'a')).toBe('{}');
    expect(withoutMember('{"a":1}', 'b')).toBe('{"a":1}');
  });
});

describe('the comparison', () => {
  const bare = new Map([
    [
      'one',
      reading({ tools: ['{"name":"x","n":1.0}', '{"name":"y"}'], resources: ['{"uri":"a:b"}'] }),
    ],
    ['two', reading({ tools: ['{"name":"x"}'], resources: ['{"uri":"a:b"}'] }, ' Be kind. ')],
  ]);
  const through = {
    tools: [
      '{"name":"holdfast__health_snapshot"}',
      '{"name":"one__x","n":1.0}',
      '{"name":"one__y"}',
      '{"name":"two__x"}',
    ],
    resources: ['{"uri":"a:b"}', '{"uri":"holdfast:two:a:b"}'],
  };
  const instructions = '## two\n\nBe kind.';
  const found = (change: Partial<typeof through>, said: string | undefined = instructions) => [
    ...compare(bare, reading({ ...through, ...change }, said), 'legacy'),
  ];

  it('finds nothing where only names are prefixed, and an address that two claim is changed', () => {
    expect(found({})).toEqual([]);
  });

  it('finds nothing where a tool says about tasks what its client can use', () => {
    const needsTask = '{"name":"x","execution":{"taskSupport":"required"},"n":1}';
    const servers = new Map([['one', reading({ tools: [needsTask] })]]);
    const followed = '{"name":"one__x","execution":{"taskSupport":"optional"},"n":1}';
    expect([...compare(servers, reading({ tools: [followed] }), 'legacy')]).toEqual([]);
    const modern = '{"name":"one__x","n":1}';
    expect([...compare(servers, reading({ tools: [modern] }), 'modern')]).toEqual([]);
    expect([...compare(servers, reading({ tools: [modern] }), 'legacy')]).toHaveLength(1);
  });

  it('finds a character that has changed', () => {
    const tools = through.tools.map((tool) => tool.replace('1.0', '1'));
    expect(found({ tools })).toEqual([
      ['one', [expect.stringMatching(/^tools: one__x differs at \d+: .*1\.0/)]],
    ]);
  });

  it('finds what is missing, what was added and what has moved', () => {
    const [own = '', x = '', y = '', other = ''] = through.tools;
    expect(found({ tools: [own, x, y] })).toEqual([['two', ['tools: two__x is missing']]]);
    expect(found({ tools: [own, y, x, other] })).toEqual([
      ['one', ['tools: y is not where it was']],
    ]);
    expect(found({ tools: [...through.tools, '{"name":"two__z"}'] })).toEqual([
      ['two', ['tools: two__z is listed, and bare it is not']],
    ]);
  });

  it('finds instructions that are missing or not the same', () => {
    expect(found({}, '')).toEqual([['two', ['instructions: missing']]]);
    expect(found({}, '## two\n\nBe quick.')).toEqual([['two', ['instructions: differ']]]);
  });
});

describe('the comparison of conformance', () => {
  it('counts a check that is lost in a scenario that passes bare, and nothing else', () => {
    const bare = [scenario('a', 'SUCCESS'), scenario('b', 'FAILURE')];
    expect(lostChecks(bare, [scenario('a', 'SUCCESS'), scenario('b', 'WARNING')])).toEqual([]);
    expect(lostChecks(bare, [scenario('a', 'WARNING'), scenario('b', 'SUCCESS')])).toEqual([
      'a: WARNING check-of-a: no',
    ]);
    expect(lostChecks(bare, [])).toEqual(['a: check-of-a is not made']);
  });
});

function reading(
  lists: Partial<Record<ListKind, readonly string[]>>,
  instructions?: string,
): Reading {
  const list = (kind: ListKind): List => ({ items: lists[kind] ?? [] });
  return {
    greeting: '{}',
    instructions,
    lists: {
      tools: list('tools'),
      prompts: list('prompts'),
      resources: list('resources'),
      resourceTemplates: list('resourceTemplates'),
    },
  };
}

function scenario(name: string, status: 'SUCCESS' | 'FAILURE' | 'WARNING'): ScenarioResult {
  const checks = [{ id: `check-of-${name}`, status, errorMessage: 'no' }];
  const passed = status === 'SUCCESS';
  return { name, isRequired: true, passed, succeeded: 0, failed: 0, warnings: 0, checks };
}
