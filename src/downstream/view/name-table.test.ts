import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import {
  ErrorAnswer,
  type ScriptedChild,
  text,
  tool,
} from '../../../test/support/scripted-server.ts';
import type { Caller } from '../../host/connections/caller.ts';
import type { FaultRecord } from '../../kernel/fault.ts';
import { localUser } from '../../policy/principal.ts';

const anyone = {
  principal: localUser,
  client: { key: 'anyone', isAskedInCalls: false },
  capabilities: '{}',
  logLevel: undefined,
} as Caller;

const scripts = {
  a: { tools: [tool('only'), tool('both')], prompts: [{ name: 'p' }] },
  b: { tools: [tool('both'), tool('a__x')], prompts: [{ name: 'q' }] },
};

async function newTable(settings: object = {}, config: Record<string, object> = {}) {
  const world = newGateway(scripts, { settings: { ...settings }, config });
  world.legacy().request('tools/list');
  world.legacy().request('prompts/list');
  await settled();
  const { tools, prompts } = world.gateway.view.of(localUser);
  const to = (name: string) => {
    const route = tools.route(name, localUser);
    return route && `${route.server}/${route.name}`;
  };
  return { ...world, tools, prompts, to };
}

describe('a name that a client says', () => {
  it('leads to the server and its own name, and is rewritten only if it differs', async () => {
    const { tools, to } = await newTable();
    expect([to('a__only'), to('b__both'), to('nothing')]).toEqual(['a/only', 'b/both', undefined]);
    expect(tools.route('a__only', localUser)).toEqual({
      server: 'a',
      kind: 'tool',
      name: 'only',
      changes: { name: '"only"' },
    });
    expect(tools.route('only', localUser)).not.toHaveProperty('changes');
  });

  it('may be bare where only one server has it', async () => {
    const { to } = await newTable();
    expect([to('only'), to('both')]).toEqual(['a/only', undefined]);
  });

  it('that belongs to one server by its prefix never leads to another', async () => {
    const { to } = await newTable();
    expect(to('a__x')).toBeUndefined();
    expect(to('b__a__x')).toBe('b/a__x');
  });

  it('may be without prefix only for a client that sees one server that has it', async () => {
    const { host, tools, to } = await newTable();
    const remote = { id: 'token:x', role: null };
    host.setGuard((principal, server) =>
      principal === localUser || server === 'b' ? { allow: true } : { allow: false, reason: 'no' },
    );
    expect(tools.route('both', remote)).toMatchObject({ server: 'b', name: 'both' });
    expect(to('both')).toBeUndefined();
    expect(tools.route('a__only', remote)).toBeUndefined();
    expect(to('a__only')).toBe('a/only');
    expect(tools.route('a__only', remote)).toBeUndefined();
  });

  it('is the operator’s own where one was given', async () => {
    const { to, tools } = await newTable({}, { a: { tools: { only: { as: 'mine' } } } });
    expect([to('mine'), tools.exposed({ server: 'a', name: 'only' })]).toEqual(['a/only', 'mine']);
  });

  it('is unchanged in transparent mode; the later of two is refused', async () => {
    const { to, tools } = await newTable({ naming: 'transparent' });
    expect([to('only'), to('both'), to('a__only')]).toEqual(['a/only', 'a/both', undefined]);
    expect(tools.exposed({ server: 'b', name: 'both' })).toBeUndefined();
  });

  it('of a prompt is another thing than that of a tool', async () => {
    const { prompts, to } = await newTable();
    expect(prompts.route('a__p', localUser)).toMatchObject({ kind: 'prompt', name: 'p' });
    expect([prompts.route('a__only', localUser), to('a__p')]).toEqual([undefined, undefined]);
  });

  it('that is unknown is searched for at the servers that were never asked', async () => {
    const { gateway, servers, legacy } = newGateway({
      a: { tools: [tool('t')], on: { 'tools/call': () => text('hi') } },
      b: {},
    });
    expect(gateway.view.of(localUser).tools.route('a__t', localUser)).toBeUndefined();
    const call = legacy().request('tools/call', { name: 'a__t' });
    await settled();
    expect(call.result).toEqual(text('hi'));
    const unknown = legacy().request('tools/call', { name: 'a__other' });
    await settled();
    expect(unknown.answered.error).toEqual({ code: -32602, message: 'Unknown tool: a__other' });
    expect(servers.a.heard('tools/list').length).toBe(1);
  });

  it('that is new is found at the server that said its list changed', async () => {
    const { servers, tools } = await newTable();
    servers.a.script = { tools: [tool('fresh')] };
    servers.a.child.note('notifications/tools/list_changed');
    expect(await tools.find('a__fresh', anyone)).toMatchObject({ server: 'a', name: 'fresh' });
    expect(await tools.find('a__only', anyone)).toBeUndefined();
  });
});

describe('the names of a principal that may not see everything', () => {
  it('take a few decisions for each tool, prompt and resource, however many and of however many servers', async () => {
    const decisionsFor = async (servers: number, count: number): Promise<number> => {
      const all = Array.from({ length: count }, (_, at) => `n${at}`);
      const server = {
        tools: all.map((name) => tool(name)),
        prompts: all.map((name) => ({ name })),
        resources: all.map((name) => ({ uri: `x://${name}`, name })),
      };
      const others = Array.from({ length: servers - 1 }, (_, at) => [`b${at}`, server]);
      const world = newGateway({ a: server, ...Object.fromEntries(others) });
      for (const kind of ['tools', 'prompts', 'resources']) world.legacy().request(`${kind}/list`);
      await settled();
      let decisions = 0;
      world.host.setGuard((principal, of, name) => {
        if (principal !== localUser) decisions += 1;
        // What is last in its list makes its server seen: all of it is looked at.
        const isSeen = principal === localUser || of === 'a' || name === `x://n${count - 1}`;
        return isSeen ? { allow: true } : { allow: false, reason: 'no' };
      });
      const scope = world.gateway.view.of({ id: 'token:x', role: null });
      expect(scope.tools.exposed({ server: 'a', name: 'n1' })).toBe('a__n1');
      expect(scope.prompts.exposed({ server: 'b0', name: 'n1' })).toBeUndefined();
      expect(scope.resources.exposed('a', 'x://n1')).toBe('x://n1');
      return decisions;
    };
    const few = await decisionsFor(3, 20);
    expect(await decisionsFor(3, 80)).toBeLessThan(4.5 * few);
    expect(await decisionsFor(12, 20)).toBeLessThan(5.5 * few);
  });
});

describe('a name whose server could not be asked what it has', () => {
  const broken = { on: { 'tools/list': () => new ErrorAnswer({ code: -32603, message: 'no' }) } };

  it('is not called unknown: the answer names the server and the cause #typed-faults', async () => {
    const { modern, legacy } = newGateway({ a: broken, b: { tools: [tool('x')] } });
    const replies = [modern(), legacy()].map((client) =>
      client.request('tools/call', call('a__y')),
    );
    await settled();
    for (const { answered } of replies) {
      expect(answered.result).toMatchObject({
        isError: true,
        _meta: { 'holdfast/fault': { code: 'unavailable', server: 'a', dispatched: 'no' } },
      });
    }
    const other = modern().request('tools/call', call('b__y'));
    await settled();
    expect(other.answered.error).toMatchObject({ code: -32602, message: 'Unknown tool: b__y' });
  });

  it('says that the server is ejected, and what to do about it, when it is #restart-budget', async () => {
    const dying = { on: { initialize: (_heard: unknown, child: ScriptedChild) => child.exit() } };
    const restart = { max: 0 };
    const { modern, legacy, clock } = newGateway({ a: dying }, { config: { a: { restart } } });
    const early = modern().request('tools/call', call('a__y'));
    await clock.advanceAsync(60_000);
    const late = [modern(), legacy()].map((client) => client.request('tools/call', call('a__y')));
    await clock.advanceAsync(60_000);
    for (const reply of [early, ...late]) {
      const { _meta } = reply.result as { _meta: { 'holdfast/fault': FaultRecord } };
      const fault = _meta['holdfast/fault'];
      expect(fault).toMatchObject({ code: 'ejected', server: 'a', retryable: false });
      expect(fault.detail).toContain('restart budget');
      expect(fault.detail).not.toContain('try again');
    }
  });

  it('stays unknown to who may not use the server', async () => {
    const { modern, host } = newGateway({ a: broken });
    host.setGuard(() => ({ allow: false, reason: 'no' }));
    const reply = modern().request('tools/call', call('a__y'));
    await settled();
    expect(reply.answered.error).toMatchObject({ code: -32602, message: 'Unknown tool: a__y' });
  });

  it('is a fault for a prompt, too', async () => {
    const prompts = {
      on: { 'prompts/list': () => new ErrorAnswer({ code: -32603, message: 'no' }) },
    };
    const { modern } = newGateway({ a: prompts });
    const reply = modern().request('prompts/get', { name: 'a__p' });
    await settled();
    expect(reply.answered.error).toMatchObject({ code: -32603, data: { code: 'unavailable' } });
  });
});

const call = (name: string) => ({ name, arguments: {} });

describe('a name that was given #name-owner', () => {
  const transparent = { settings: { naming: 'transparent', hostTools: true } };
  const on = { 'tools/call': () => text('done') };
  const before = { a: { tools: [tool('x')], on }, b: { tools: [tool('send')], on } };
  const after = { tools: [tool('x'), tool('send')], on };

  async function newcomer(world: ReturnType<typeof newGateway<'a' | 'b'>>) {
    world.servers.a.script = after;
    const peer = world.legacy();
    peer.request('tools/list');
    await settled();
    return peer;
  }

  it('keeps its calls when an earlier server adds the same, and status reports that', async () => {
    const world = newGateway(before, transparent);
    const peer = await (async () => {
      world.legacy().request('tools/list');
      await settled();
      world.servers.a.child.note('notifications/tools/list_changed');
      return await newcomer(world);
    })();
    const list = peer.request('tools/list');
    peer.request('tools/call', { name: 'send' });
    await settled();
    expect((list.result['tools'] as { name: string }[]).map(({ name }) => name)).toEqual([
      'x',
      'send',
      'holdfast__health_snapshot',
      'holdfast__telemetry_snapshot',
    ]);
    expect(world.servers.a.heard('tools/call')).toEqual([]);
    expect(world.servers.b.heard('tools/call')).toHaveLength(1);
    const [a, b] = world.host.status().servers;
    expect(a?.cause).toBe('tool "send" is not offered: the name "send" belongs to b');
    expect(b?.cause).toBeNull();
  });

  it('keeps them after a restart of the gateway, also while its owner has not listed yet', async () => {
    const first = newGateway(before, transparent);
    first.legacy().request('tools/list');
    await settled();
    const config = { a: { args: ['2'] }, b: { args: ['2'] } };
    const scripts = { a: after, b: { on: { ...on, 'tools/list': () => undefined } } };
    const second = newGateway(scripts, { ...transparent, config, store: first.store });
    const peer = second.legacy();
    const list = peer.request('tools/list');
    await second.clock.advanceAsync(10_000);
    expect(list.result['tools']).toMatchObject([{ name: 'x' }, {}, {}]);
    second.servers.b.script = before.b;
    peer.request('tools/call', { name: 'send' });
    await settled();
    expect(second.servers.a.heard('tools/call')).toEqual([]);
    expect(second.servers.b.heard('tools/call')).toHaveLength(1);
  });

  it('is free again when its owner does not list it any more, and clients are notified', async () => {
    const world = newGateway(before, transparent);
    world.legacy().request('tools/list');
    await settled();
    world.servers.a.child.note('notifications/tools/list_changed');
    const peer = await newcomer(world);
    world.servers.b.script = { tools: [], on };
    world.servers.b.child.note('notifications/tools/list_changed');
    await world.clock.advanceAsync(20);
    expect(peer.methods()).toContain('notifications/tools/list_changed');
    peer.request('tools/list');
    await settled();
    peer.request('tools/call', { name: 'send' });
    await settled();
    expect(world.servers.a.heard('tools/call')).toHaveLength(1);
    expect(world.host.status().servers.map(({ cause }) => cause)).toEqual([null, null]);
  });

  it('of a prompt stays in the same way', async () => {
    const get = { 'prompts/get': () => ({ messages: [] }) };
    const prompts = [{ name: 'p' }];
    const world = newGateway({ a: { on: get }, b: { prompts, on: get } }, transparent);
    const peer = world.legacy();
    peer.request('prompts/list');
    await settled();
    world.servers.a.script = { prompts, on: get };
    world.servers.a.child.note('notifications/prompts/list_changed');
    peer.request('prompts/list');
    await settled();
    peer.request('prompts/get', { name: 'p' });
    await settled();
    expect(
      [world.servers.a, world.servers.b].map((one) => one.heard('prompts/get').length),
    ).toEqual([0, 1]);
    expect(world.host.status().servers[0]?.cause).toMatch(/^prompt "p" is not offered/);
  });
});
