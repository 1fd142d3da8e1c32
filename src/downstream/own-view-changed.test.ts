// Who is told that a list has changed: a principal with less than everything only if what it sees of that list is
// another, whatever changes in what is hidden from it.

import { describe, expect, it } from 'vitest';
import { newGateway, settled as turns } from '../../test/support/fake-gateway.ts';
import { type Script, tool } from '../../test/support/scripted-server.ts';
import { cutBy, localUser, type Principal } from '../policy/principal.ts';

const reader: Principal = { id: 'token:reader', role: 'reader' };
const roles = {
  reader: { allow: ['s/open_*', 'prompt:s/open_*', 'resource:s/open:*', 'later/*'] },
  other: { allow: ['other/*'] },
};

const lists = {
  tools: (name: string) => ({ tools: [tool('open_a'), tool(name)] }),
  prompts: (name: string) => ({ prompts: [{ name: 'open_a' }, { name }] }),
  resources: (name: string) => ({
    resources: [
      { uri: 'open:a', name: 'a' },
      { uri: name.replace('_', ':'), name },
    ],
  }),
} as const;
type List = keyof typeof lists;
const eachList = Object.keys(lists) as List[];

const first: Script = {
  ...lists.tools('secret_b'),
  ...lists.prompts('secret_b'),
  ...lists.resources('secret_b'),
};

async function settled(): Promise<void> {
  for (let more = 0; more < 4; more += 1) await turns();
}

/** `era` is that of the clients. */
async function world(principal: Principal = reader, era: 'legacy' | 'modern' = 'legacy') {
  const scripts = { s: first, other: { tools: [tool('x')] } };
  const gateway = newGateway(scripts, { settings: { roles } });
  const { clock, servers } = gateway;
  const pass = async () => {
    await settled();
    await clock.advanceAsync(1_000);
    await settled();
  };
  const whole = gateway.legacy();
  const legacy = gateway.legacy({}, principal);
  const modern = gateway.modern({}, { principal, key: principal.id });
  const peer = era === 'legacy' ? legacy : modern;
  for (const list of eachList) {
    whole.request(`${list}/list`);
    peer.request(`${list}/list`);
  }
  await pass();
  const notifications = {
    ...{ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
  };
  const stream =
    era === 'legacy' ? legacy : modern.request('subscriptions/listen', { notifications });
  await pass();
  const count = (messages: readonly Record<string, unknown>[], list: List) =>
    messages.filter(({ method }) => method === `notifications/${list}/list_changed`).length;
  /** How often each is told because of what is done. */
  const told = async (list: List, act: () => unknown) => {
    const before = [count(whole.messages, list), count(stream.messages, list)] as const;
    await act();
    await pass();
    return {
      whole: count(whole.messages, list) - before[0],
      peer: count(stream.messages, list) - before[1],
    };
  };
  const change = (list: List, name: string) => () => {
    servers.s.script = { ...servers.s.script, ...lists[list](name) };
    for (const child of servers.s.children) child.note(`notifications/${list}/list_changed`);
  };
  return { ...gateway, told, change };
}

describe.each(['legacy', 'modern'] as const)('a %s client with a role', (era) => {
  it.each(eachList)('is not told of %s that it does not see #own-view', async (list) => {
    const { told, change } = await world(reader, era);
    expect(await told(list, change(list, 'secret_c'))).toEqual({ whole: 1, peer: 0 });
    expect(await told(list, change(list, 'secret_d'))).toEqual({ whole: 1, peer: 0 });
  });

  it.each(eachList)('is told of %s that it sees #own-view', async (list) => {
    const { told, change } = await world(reader, era);
    expect(await told(list, change(list, 'open_b'))).toEqual({ whole: 1, peer: 1 });
    expect(await told(list, change(list, 'open_c'))).toEqual({ whole: 1, peer: 1 });
    expect(await told(list, change(list, 'secret_c'))).toEqual({ whole: 1, peer: 1 });
    expect(await told(list, change(list, 'secret_d'))).toEqual({ whole: 1, peer: 0 });
  });

  it('is told of another definition under the same name #own-view', async () => {
    const { told, servers } = await world(reader, era);
    const tools = [tool('open_a', { description: 'new' }), tool('secret_b')];
    const described = () => {
      servers.s.script = { ...servers.s.script, tools };
      for (const child of servers.s.children) child.note('notifications/tools/list_changed');
    };
    expect(await told('tools', described)).toEqual({ whole: 1, peer: 1 });
  });

  it('is not told when a server announces a change and lists what it did #own-view', async () => {
    const { told, change } = await world(reader, era);
    expect((await told('tools', change('tools', 'secret_b'))).peer).toBe(0);
  });

  it('is told once, if the list can be read only later #own-view', async () => {
    const { told, change, servers } = await world(reader, era);
    const { script } = servers.s;
    const hang = () => {
      servers.s.script = { ...script, on: { 'tools/list': () => undefined } };
      for (const child of servers.s.children) child.note('notifications/tools/list_changed');
    };
    expect((await told('tools', hang)).peer).toBe(0);
    servers.s.script = script;
    const [child] = servers.s.children;
    const late = () => {
      if (!child) throw new Error('the server was not started');
      child.answer(child.last('tools/list'), lists.tools('open_b'));
    };
    expect((await told('tools', late)).peer).toBe(1);
    expect((await told('tools', change('tools', 'open_b'))).peer).toBe(0);
  });
});

describe('a legacy client with a role', () => {
  const changes = (messages: readonly Record<string, unknown>[]) =>
    messages.filter(({ method }) => String(method).endsWith('list_changed'));

  it('that has listed nothing yet hears nothing of what it does not see #own-view', async () => {
    const { legacy, told, change } = await world();
    const late = legacy({}, reader);
    await told('tools', change('tools', 'secret_c'));
    expect(changes(late.messages)).toEqual([]);
    await told('tools', change('tools', 'open_b'));
    expect(changes(late.messages)).toHaveLength(1);
  });

  it('is not told that a list has changed which it was just given for the first time #own-view', async () => {
    const { legacy, clock } = newGateway({ s: first }, { settings: { roles } });
    const peer = legacy({}, reader);
    const listed = peer.request('tools/list');
    await settled();
    await clock.advanceAsync(1_000);
    await settled();
    expect(JSON.stringify(listed.result)).toContain('open_a');
    expect(changes(peer.messages)).toEqual([]);
  });
});

describe('a changed config', () => {
  const configured = async (principal?: Principal) => {
    const at = await world(principal);
    const { host, config } = at;
    const { mcpServers } = config;
    const apply = (next: object) => () =>
      host.apply({ mcpServers, roles, hostTools: false, ...next } as never);
    return { ...at, apply, mcpServers };
  };

  it('that hides or renames a tool is told to those who saw it #own-view', async () => {
    const { told, apply, mcpServers } = await configured();
    const hide = (name: string, how: object) =>
      apply({ mcpServers: { ...mcpServers, s: { ...mcpServers['s'], tools: { [name]: how } } } });
    expect(await told('tools', hide('secret_b', { hidden: true }))).toEqual({ whole: 1, peer: 0 });
    expect(await told('tools', hide('open_a', { as: 'opened' }))).toEqual({ whole: 1, peer: 1 });
    expect(await told('tools', hide('open_a', { hidden: true }))).toEqual({ whole: 1, peer: 1 });
  });

  it('that adds, orders or removes servers is told to those who see one of them #own-view', async () => {
    const { told, apply, mcpServers } = await configured();
    const { s, other } = mcpServers;
    const payroll = { command: '/bin/other' };
    expect(await told('tools', apply({ mcpServers: { s, other, payroll } }))).toEqual({
      ...{ whole: 1, peer: 0 },
    });
    expect(await told('tools', apply({ mcpServers: { payroll, other, s } }))).toEqual({
      ...{ whole: 1, peer: 0 },
    });
    expect(await told('tools', apply({ mcpServers: { other, s, payroll } }))).toEqual({
      ...{ whole: 1, peer: 0 },
    });
    const added = await told('tools', apply({ mcpServers: { s, other, later: payroll } }));
    expect(added.peer).toBe(1);
  });

  it('of the roles is told to those who see something else now #own-view', async () => {
    const { told, apply } = await configured();
    const others = { ...roles, other: { allow: ['s/*'] } };
    expect(await told('tools', apply({ roles: others }))).toEqual({ whole: 0, peer: 0 });
    const less = { ...roles, reader: { allow: ['prompt:s/open_*'] } };
    expect(await told('tools', apply({ roles: less }))).toEqual({ whole: 0, peer: 1 });
    expect(await told('prompts', apply({ roles }))).toEqual({ whole: 0, peer: 0 });
  });

  it('that gives the local user a role is told to it #own-view', async () => {
    const { told, apply } = await configured();
    const limited = await told('tools', apply({ local: { role: 'other' } }));
    expect(limited).toEqual({ whole: 1, peer: 0 });
    expect(await told('tools', apply({ local: { role: null } }))).toEqual({ whole: 1, peer: 0 });
  });
});

describe('a path of one server', () => {
  it('hears nothing of the others #own-view', async () => {
    const { told, change, servers } = await world(
      cutBy(localUser, { kind: 'server', name: 'other' }),
    );
    expect(await told('tools', change('tools', 'open_c'))).toEqual({ whole: 1, peer: 0 });
    const own = () => {
      servers.other.script = { tools: [tool('y')] };
      for (const child of servers.other.children) child.note('notifications/tools/list_changed');
    };
    expect(await told('tools', own)).toEqual({ whole: 1, peer: 1 });
  });
});
