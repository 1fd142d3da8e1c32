import { describe, expect, it } from 'vitest';
import { newGateway, type RecordedReply, settled } from '../../../test/support/fake-gateway.ts';
import { type Script, tool } from '../../../test/support/scripted-server.ts';
import { localUser } from '../../policy/principal.ts';

const hanging: Script = {
  on: { 'tools/list': () => undefined, 'resources/list': () => undefined },
};
const with2 = { a: { tools: [tool('x'), tool('y')] }, b: { tools: [tool('x')] } } as const;

function names({ result }: RecordedReply, list = 'tools', key = 'name'): readonly unknown[] {
  return (result[list] as Record<string, unknown>[]).map((one) => one[key]);
}

describe('the list of all tools', () => {
  it('holds those of all servers, in the order of the config, as their bytes', async () => {
    const raw = '{"name":"x","inputSchema":{"type":"object","n":1.0},"strange":[9007199254740993]}';
    const { legacy } = newGateway({
      b: { on: { 'tools/list': () => `{"tools":[${raw}]}` } },
      a: { tools: [tool('y')] },
    });
    const list = legacy().request('tools/list');
    await settled();
    expect(names(list)).toEqual(['b__x', 'a__y']);
    expect(list.answers[0]).toContain(raw.replace('"x"', '"b__x"'));
  });

  it('waits at most ten seconds for a server that hangs, and is not emptied by it', async () => {
    const { legacy, clock } = newGateway({ a: with2.a, h: hanging, b: with2.b });
    const list = legacy().request('tools/list');
    await clock.advanceAsync(9_999);
    expect(list.answers).toEqual([]);
    await clock.advanceAsync(1);
    expect(names(list)).toEqual(['a__x', 'a__y', 'b__x']);
  });

  it('is waited for by all who ask while it is first read', async () => {
    const { legacy, modern } = newGateway(with2);
    const lists = [
      legacy().request('tools/list'),
      modern().request('tools/list'),
      legacy().request('tools/list'),
    ];
    await settled();
    for (const list of lists) expect(names(list)).toEqual(['a__x', 'a__y', 'b__x']);
  });

  it('is waited for by one who comes while it is read, and by all no longer than by the first', async () => {
    const { legacy, clock, servers } = newGateway({ a: with2.a, h: hanging, slow: hanging });
    const peer = legacy();
    const first = peer.request('tools/list');
    await clock.advanceAsync(3_000);
    const second = peer.request('tools/list');
    await settled();
    expect(second.answers).toEqual([]);
    const { child } = servers.slow;
    child.answer(child.last('tools/list'), { tools: [tool('z')] });
    await clock.advanceAsync(7_000);
    for (const list of [first, second]) expect(names(list)).toEqual(['a__x', 'a__y', 'slow__z']);
  });

  it('waits for a server that hangs once and not again', async () => {
    const { legacy, clock } = newGateway({ a: with2.a, h: hanging });
    const peer = legacy();
    peer.request('tools/list');
    await clock.advanceAsync(10_000);
    const again = peer.request('tools/list');
    await settled();
    expect(names(again)).toEqual(['a__x', 'a__y']);
  });

  it.each([
    ['initialize', ['initialize']],
    ['every list', ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']],
  ])(
    'waits once for all lists of a server that hangs at %s #first-list',
    async (_name, methods) => {
      const silent: Script = {
        on: Object.fromEntries(methods.map((method) => [method, () => undefined])),
      };
      const { legacy, clock, store } = newGateway({ a: with2.a, h: silent });
      const peer = legacy();
      const lists = ['tools', 'prompts', 'resources', 'resources/templates'];
      for (const kind of lists) {
        const list = peer.request(`${kind}/list`);
        if (kind === 'tools') await clock.advanceAsync(10_000);
        else await settled();
        expect(list.answers).toHaveLength(1);
      }
      const later = newGateway({ a: with2.a, h: silent }, { store }).legacy();
      for (const kind of lists.toReversed()) {
        const list = later.request(`${kind}/list`);
        await settled();
        expect(list.answers).toHaveLength(1);
      }
    },
  );

  it('waits for another list of a server that has come meanwhile', async () => {
    const { legacy, clock, servers } = newGateway({ h: { on: { initialize: () => undefined } } });
    const peer = legacy();
    peer.request('tools/list');
    await clock.advanceAsync(10_000);
    servers.h.script = { tools: [tool('x')], on: { 'prompts/list': () => undefined } };
    const { child } = servers.h;
    child.answer(child.last('initialize'), servers.h.answerTo(child.last('initialize'), child));
    await settled();
    const prompts = peer.request('prompts/list');
    await settled();
    expect(prompts.answers).toEqual([]);
    child.answer(child.last('prompts/list'), { prompts: [{ name: 'p' }] });
    await settled();
    expect(prompts.result['prompts']).toHaveLength(1);
  });

  it('does not wait for a server that cannot be started', async () => {
    const { legacy, servers, clock } = newGateway({ a: with2.a, dead: {} });
    servers.dead.script = { on: { initialize: (_heard, child) => void child.exit() } };
    const list = legacy().request('tools/list');
    await settled();
    await clock.advanceAsync(0);
    expect(names(list)).toEqual(['a__x', 'a__y']);
  });

  it('is not kept from servers behind eight that hang', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`h${index}`, hanging]),
    );
    const scripts: Record<string, Script> = { ...many, a: with2.a };
    const { legacy, clock, servers } = newGateway(scripts);
    const list = legacy().request('tools/list');
    await clock.advanceAsync(9_999);
    expect(servers['a']?.heard('tools/list').length).toBe(1);
    await clock.advanceAsync(1);
    expect(names(list)).toEqual(['a__x', 'a__y']);
  });

  it('waits as long as listWaitMs says', async () => {
    const { legacy, clock } = newGateway(
      { a: with2.a, h: hanging },
      { settings: { listWaitMs: 300 } },
    );
    const list = legacy().request('tools/list');
    await clock.advanceAsync(299);
    expect(list.answers).toEqual([]);
    await clock.advanceAsync(1);
    expect(names(list)).toEqual(['a__x', 'a__y']);
  });

  it('does not wait in a later run for a server that did not list in time, until it has #first-list', async () => {
    const before = newGateway({ a: with2.a, h: hanging });
    before.legacy().request('tools/list');
    await before.clock.advanceAsync(10_000);

    const later = newGateway({ a: with2.a, h: hanging }, { store: before.store });
    const peer = later.legacy();
    const list = peer.request('tools/list');
    await settled();
    expect(names(list)).toEqual(['a__x', 'a__y']);
    const { child } = later.servers.h;
    child.answer(child.last('tools/list'), { tools: [tool('z')] });
    await later.clock.advanceAsync(20);
    expect(peer.methods()).toEqual(['notifications/tools/list_changed']);

    const last = newGateway({ a: with2.a, h: hanging }, { store: before.store });
    const whole = last.legacy().request('tools/list');
    await settled();
    expect(names(whole)).toEqual(['a__x', 'a__y', 'h__z']);
  });

  it('waits again in a later run for a server that failed at once', async () => {
    const dead: Script = { on: { initialize: (_heard, child) => void child.exit() } };
    const before = newGateway({ a: with2.a, b: dead });
    before.legacy().request('tools/list');
    await settled();
    await before.clock.advanceAsync(0);
    const later = newGateway({ a: with2.a, b: hanging }, { store: before.store });
    const list = later.legacy().request('tools/list');
    await settled();
    expect(list.answers).toEqual([]);
    const { child } = later.servers.b;
    child.answer(child.last('tools/list'), { tools: [tool('z')] });
    await settled();
    expect(names(list)).toEqual(['a__x', 'a__y', 'b__z']);
  });

  it('starts some servers at a time, however many lists are asked for #first-list', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`h${index}`, hanging]),
    );
    const { legacy, servers, clock } = newGateway(many as Record<string, Script>);
    const peer = legacy();
    for (const kind of ['tools', 'prompts', 'resources', 'resources/templates']) {
      peer.request(`${kind}/list`);
      legacy().request(`${kind}/list`);
    }
    await settled();
    const started = () => Object.values(servers).filter(({ children }) => children.length > 0);
    expect(started()).toHaveLength(4);
    // A call on behalf of somebody does not wait for the others.
    peer.request('tools/call', { name: 'h19__x' });
    await settled();
    expect(servers['h19']?.children).toHaveLength(1);
    await clock.advanceAsync(60_000);
    expect(started()).toHaveLength(20);
  });

  it('does not spend the restart budget of a server that fails #first-list', async () => {
    const { legacy, servers, clock, host } = newGateway({ a: with2.a, dead: {} });
    servers.dead.script = { on: { initialize: (_heard, child) => void child.exit() } };
    const peer = legacy();
    for (let count = 0; count < 120; count++) {
      peer.request('tools/list');
      peer.request('prompts/list');
      await clock.advanceAsync(1_000);
    }
    expect(host.find('dead').supervisor.phase.kind).not.toBe('ejected');
    expect(servers.dead.children.length).toBeLessThanOrEqual(4);
    expect(servers.dead.children.length).toBeGreaterThan(1);
  });

  it('of a server that arrives late is news, to all who were answered without it', async () => {
    const { legacy, modern, servers, clock } = newGateway({ a: with2.a, h: hanging });
    const peer = legacy();
    peer.request('tools/list');
    const listening = modern().request('subscriptions/listen', {
      notifications: { toolsListChanged: true },
    });
    await clock.advanceAsync(10_000);
    const { child } = servers.h;
    servers.h.script = { tools: [tool('late')] };
    const list = peer.request('tools/list');
    await settled();
    expect(peer.heard).toEqual([]);
    await clock.advanceAsync(20);
    expect([list.answers.length, child.heardAs('tools/list').length]).toEqual([1, 2]);
    expect(peer.methods()).toEqual(['notifications/tools/list_changed']);
    expect(listening.messages.at(-1)).toMatchObject({ method: 'notifications/tools/list_changed' });
    const after = peer.request('tools/list');
    await settled();
    expect(names(after)).toEqual(['a__x', 'a__y', 'h__late']);
  });

  it('that was read for the first time is no news to anybody', async () => {
    const { legacy, clock } = newGateway(with2);
    const peer = legacy();
    peer.request('tools/list');
    await clock.advanceAsync(100);
    expect(peer.heard).toEqual([]);
  });

  it('is read again when its server says so; a burst of such news is one', async () => {
    const { legacy, servers, clock } = newGateway(with2);
    const peer = legacy();
    peer.request('tools/list');
    await settled();
    servers.b.script = { tools: [tool('new')] };
    for (let count = 0; count < 5; count++) {
      servers.b.child.note('notifications/tools/list_changed');
    }
    await clock.advanceAsync(20);
    expect(peer.methods()).toEqual(['notifications/tools/list_changed']);
    const list = peer.request('tools/list');
    await clock.advanceAsync(20);
    expect(names(list)).toEqual(['a__x', 'a__y', 'b__new']);
    expect(peer.heard.length).toBe(1);
  });

  it('knows the new names although the old ones were used before they were read', async () => {
    const { legacy, servers } = newGateway(with2);
    const peer = legacy();
    peer.request('tools/list');
    await settled();
    servers.b.script = { tools: [tool('new')] };
    servers.b.child.note('notifications/tools/list_changed');
    peer.request('tools/call', { name: 'a__x' });
    const list = peer.request('tools/list');
    await settled();
    expect(names(list)).toEqual(['a__x', 'a__y', 'b__new']);
  });

  it('that a server announced and delivered too late is notified again, and the old one is not kept', async () => {
    let finish: () => void = () => {};
    const { legacy, servers, clock } = newGateway(with2);
    const peer = legacy();
    peer.request('tools/list');
    await settled();
    servers.b.script = {
      on: {
        'tools/list': (heard, child) => {
          finish = () => child.answer(heard, { tools: [tool('new')] });
        },
      },
    };
    servers.b.child.note('notifications/tools/list_changed');
    const old = peer.request('tools/list');
    await clock.advanceAsync(2_000);
    expect(names(old)).toEqual(['a__x', 'a__y', 'b__x']);
    finish();
    await clock.advanceAsync(20);
    expect(peer.methods()).toEqual(Array(2).fill('notifications/tools/list_changed'));
    const list = peer.request('tools/list');
    await settled();
    expect(names(list)).toEqual(['a__x', 'a__y', 'b__new']);
  });

  it('keeps what was last known of a server whose list cannot be read any more', async () => {
    const { legacy, servers, clock } = newGateway(with2);
    const peer = legacy();
    peer.request('tools/list');
    await settled();
    servers.b.script = hanging;
    servers.b.child.note('notifications/tools/list_changed');
    const list = peer.request('tools/list');
    await clock.advanceAsync(2_000);
    expect(names(list)).toEqual(['a__x', 'a__y', 'b__x']);
  });

  it('asks again after a reading that failed', async () => {
    const { legacy, servers, clock } = newGateway(with2);
    const peer = legacy();
    peer.request('tools/list');
    await settled();
    servers.b.script = hanging;
    servers.b.child.note('notifications/tools/list_changed');
    peer.request('tools/list');
    await clock.advanceAsync(10_000);
    servers.b.script = { tools: [tool('new')] };
    const list = peer.request('tools/list');
    await settled();
    expect(names(list)).toEqual(['a__x', 'a__y', 'b__new']);
  });

  it('of a server without news is not delayed by another that hangs', async () => {
    const resources = [{ uri: 'file:///a', name: 'a' }];
    const silent = { tools: {}, resources: {} };
    const { legacy, clock } = newGateway({
      a: { resources, capabilities: silent },
      h: { ...hanging, tools: [], on: { 'resources/list': () => undefined } },
    });
    const peer = legacy();
    peer.request('resources/list');
    await clock.advanceAsync(10_000);
    const again = peer.request('resources/list');
    await settled();
    expect(names(again, 'resources', 'uri')).toEqual(['file:///a']);
  });

  it('leaves one bad definition out, and nothing else', async () => {
    const { legacy } = newGateway({
      a: {
        on: {
          'tools/list': () =>
            '{"tools":[{"name":"bad","inputSchema":5},{"name":"x","name":"y","inputSchema":{"type":"object"}},{"name":"good","inputSchema":{"type":"object"}}]}',
        },
      },
    });
    const list = legacy().request('tools/list');
    await settled();
    expect(names(list)).toEqual(['a__good']);
  });

  it('says how long it holds: the shortest of all, and less a moment later', async () => {
    const timed = (ttlMs: number): Script => ({
      era: 'modern',
      on: {
        'tools/list': () => ({ resultType: 'complete', tools: [], ttlMs, cacheScope: 'public' }),
      },
    });
    const { modern, clock } = newGateway({ a: timed(60_000), b: timed(5_000) });
    const peer = modern();
    const first = peer.request('tools/list');
    await settled();
    await clock.advanceAsync(2_000);
    const second = peer.request('tools/list');
    await settled();
    expect([first.result['ttlMs'], second.result['ttlMs']]).toEqual([5_000, 3_000]);
    expect(second.result['cacheScope']).toBe('public');
  });

  it('shows a principal what it may use, privately #guard', async () => {
    const { modern, host } = newGateway(with2);
    const remote = { id: 'token:x', role: null };
    host.setGuard((principal, server, name) =>
      principal === localUser || (server === 'a' && name !== 'y')
        ? { allow: true }
        : { allow: false, reason: 'no' },
    );
    const mine = modern().request('tools/list');
    const theirs = modern({}, { principal: remote, key: 'r' }).request('tools/list');
    await settled();
    expect([names(mine), names(theirs)]).toEqual([['a__x', 'a__y', 'b__x'], ['a__x']]);
    expect(theirs.result['cacheScope']).toBe('private');
  });

  it('refuses a cursor that it has not given, or not for this list', async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => tool(`t${index}`));
    const { legacy } = newGateway({ a: { tools: many } });
    const peer = legacy();
    const first = peer.request('tools/list');
    await settled();
    const cursor = first.result['nextCursor'];
    const second = peer.request('tools/list', { cursor });
    const refused = [
      peer.request('tools/list', { cursor: 'x' }),
      peer.request('tools/list', { cursor: '' }),
      peer.request('tools/list', { cursor: 5 }),
      peer.request('prompts/list', { cursor }),
    ];
    await settled();
    expect([names(first).length, names(second)]).toEqual([1_000, ['a__t1000']]);
    for (const { answered } of refused) expect(answered.error?.code).toBe(-32602);
  });
});

describe('a kept catalogue', () => {
  it('answers every list without starting a process', async () => {
    const scripts = {
      a: {
        tools: [tool('x')],
        prompts: [{ name: 'p' }],
        resources: [{ uri: 'file:///a', name: 'a' }],
      },
    };
    const before = newGateway(scripts);
    before.legacy().request('tools/list');
    await settled();
    const { legacy, servers } = newGateway(scripts, { store: before.store });
    const peer = legacy();
    const tools = peer.request('tools/list');
    const prompts = peer.request('prompts/list');
    const resources = peer.request('resources/list');
    await settled();
    expect([names(tools), names(prompts, 'prompts'), names(resources, 'resources', 'uri')]).toEqual(
      [['a__x'], ['a__p'], ['file:///a']],
    );
    expect(servers.a.children).toEqual([]);
  });

  it("is replaced by the server's list when it is started, and clients are notified", async () => {
    const before = newGateway({ a: { tools: [tool('old')] } });
    before.legacy().request('tools/list');
    await settled();
    const { legacy, clock } = newGateway({ a: { tools: [tool('new')] } }, { store: before.store });
    const peer = legacy();
    peer.request('tools/call', { name: 'a__old' });
    await clock.advanceAsync(20);
    expect(peer.methods()).toContain('notifications/tools/list_changed');
    const list = peer.request('tools/list');
    await settled();
    expect(names(list)).toEqual(['a__new']);
  });
});

describe('a resource', () => {
  const on = { 'resources/read': () => ({ contents: [] }) };

  it('is read from the server that lists it, and from the one whose template fits', async () => {
    const { legacy, servers } = newGateway({
      a: { resources: [{ uri: 'file:///a', name: 'a' }], on },
      b: { resourceTemplates: [{ uriTemplate: 'db://{table}', name: 't' }], on },
    });
    const peer = legacy();
    const replies = ['file:///a', 'db://users', 'ftp://nowhere'].map((uri) =>
      peer.request('resources/read', { uri }),
    );
    await settled();
    expect(servers.a.heard('resources/read').map(({ params }) => params['uri'])).toEqual([
      'file:///a',
    ]);
    expect(servers.b.heard('resources/read').map(({ params }) => params['uri'])).toEqual([
      'db://users',
    ]);
    expect(replies[2]?.answered.error).toMatchObject({
      code: -32602,
      data: { uri: 'ftp://nowhere' },
    });
  });

  it('of a template is found although the templates come after the resources', async () => {
    let finish: () => void = () => {};
    const { legacy } = newGateway({
      a: { resources: [] },
      b: {
        on: {
          ...on,
          'resources/templates/list': (heard, child) => {
            const resourceTemplates = [{ uriTemplate: 'db://{table}', name: 't' }];
            finish = () => child.answer(heard, { resourceTemplates });
          },
        },
      },
    });
    const read = legacy().request('resources/read', { uri: 'db://users' });
    await settled();
    finish();
    await settled();
    expect(read.result).toEqual({ contents: [] });
  });

  it('stays with its server when an earlier one lists the same, also after a restart #name-owner', async () => {
    const resources = [{ uri: 'file:///x', name: 'x' }];
    const scripts: Record<'a' | 'b', Script> = { a: { on }, b: { resources, on } };
    const first = newGateway(scripts);
    const peer = first.legacy();
    peer.request('resources/list');
    await settled();
    first.servers.a.script = { resources, on };
    first.servers.a.child.note('notifications/resources/list_changed');
    const list = peer.request('resources/list');
    await settled();
    peer.request('resources/read', { uri: 'file:///x' });
    await settled();
    expect(names(list, 'resources', 'uri')).toEqual(['holdfast:a:file:///x', 'file:///x']);
    const second = newGateway({ ...scripts, a: { resources, on } }, { store: first.store });
    second.legacy().request('resources/read', { uri: 'file:///x' });
    await settled();
    for (const { servers } of [first, second]) {
      expect(servers.a.heard('resources/read')).toEqual([]);
      expect(servers.b.heard('resources/read')).toHaveLength(1);
    }
  });
});

describe('the list of all skills #skills', () => {
  const skillsOf = (...names: string[]): Script => ({
    capabilities: { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } },
    on: {
      'skills/list': () =>
        `{"skills":[${names.map((name) => `{"uri":"skill://${name}/SKILL.md","frontmatter":{"name":"${name}","description":"d","n":1.0},"resources":[{"uri":"skill://${name}/SKILL.md","digest":"sha256:00","size":1e0}]}`).join(',')}]}`,
      'skills/get': ({ params }) => ({ skill: { uri: params['uri'] } }),
    },
  });

  it('keeps every byte of an entry but addresses that two servers claim', async () => {
    const { legacy, servers } = newGateway({ a: skillsOf('x'), b: skillsOf('x', 'y'), c: {} });
    const peer = legacy();
    const list = peer.request('skills/list');
    await settled();
    expect(names(list, 'skills', 'uri')).toEqual([
      'skill://x/SKILL.md',
      'skill://holdfast+b/x/SKILL.md',
      'skill://y/SKILL.md',
    ]);
    expect(list.answers[0]).toContain('{"name":"x","description":"d","n":1.0}');
    expect(list.answers[0]).toContain(
      '"resources":[{"uri":"skill://holdfast+b/x/SKILL.md","digest":"sha256:00","size":1e0}]',
    );
    const got = peer.request('skills/get', { uri: 'skill://holdfast+b/x/SKILL.md' });
    await settled();
    expect(servers.b.heard('skills/get')[0]?.params['uri']).toBe('skill://x/SKILL.md');
    expect(got.result).toEqual({ skill: { uri: 'skill://holdfast+b/x/SKILL.md' } });
    const unknown = peer.request('skills/get', { uri: 'skill://z/SKILL.md' });
    await settled();
    expect(unknown.answered.error?.code).toBe(-32602);
    expect(servers.c.heard('skills/list')).toEqual([]);
  });

  it('says how long it holds to a modern client, also where a legacy server does not', async () => {
    const { modern } = newGateway({ a: skillsOf('x') });
    const peer = modern();
    const replies = [
      peer.request('skills/list'),
      peer.request('skills/get', { uri: 'skill://x/SKILL.md' }),
    ];
    await settled();
    for (const { result } of replies) {
      expect(result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    }
  });

  it('does not start a server that has said that it has none', async () => {
    const scripts = { a: skillsOf('x'), b: { tools: [tool('t')] } };
    const before = newGateway(scripts);
    before.legacy().request('skills/list');
    await settled();
    const { legacy, servers } = newGateway(scripts, { store: before.store });
    const list = legacy().request('skills/list');
    await settled();
    expect(names(list, 'skills', 'uri')).toEqual(['skill://x/SKILL.md']);
    expect([servers.a.children, servers.b.children]).toEqual([[], []]);
  });
});
