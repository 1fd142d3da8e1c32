import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { ErrorAnswer, text, tool } from '../../test/support/scripted-server.ts';
import type { Caller } from '../host/caller.ts';
import { localUser } from '../policy/principal.ts';

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
  const { tools, prompts } = world.gateway.view;
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
      operationKey: 'tools/call:a/only',
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

  it('may be bare for somebody who sees only one that has it, and for nobody else', async () => {
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

  it('stands as it is in transparent mode; the later of two is refused', async () => {
    const { to, tools } = await newTable({ naming: 'transparent' });
    expect([to('only'), to('both'), to('a__only')]).toEqual(['a/only', 'a/both', undefined]);
    expect(tools.exposed({ server: 'b', name: 'both' })).toBeUndefined();
  });

  it('of a prompt is another thing than that of a tool', async () => {
    const { prompts, to } = await newTable();
    expect(prompts.route('a__p', localUser)).toMatchObject({ kind: 'prompt', name: 'p' });
    expect([prompts.route('a__only', localUser), to('a__p')]).toEqual([undefined, undefined]);
  });

  it('that nobody knows yet is looked for at the servers that were never asked', async () => {
    const { gateway, servers, legacy } = newGateway({
      a: { tools: [tool('t')], on: { 'tools/call': () => text('hi') } },
      b: {},
    });
    expect(gateway.view.tools.route('a__t', localUser)).toBeUndefined();
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
