// What principals with a role see and reach through the gateway. Names and addresses are computed over what
// they may see: what is hidden has no influence, and answers like something that does not exist.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Heard, text, tool } from '../../test/support/scripted-server.ts';
import type { ConfigInput } from '../config/config-input.ts';
import { cutBy, localUser, type Principal } from '../policy/principal.ts';

const reader: Principal = { id: 'token:reader', role: 'reader' };

const content = (uri: string, says: string) => ({ contents: [{ uri, text: says }] });

const scripts = {
  hidden: {
    instructions: 'instructions of the hidden server',
    capabilities: {
      ...{ tools: {}, prompts: {}, resources: {}, tasks: { requests: { tools: { call: {} } } } },
      ...{ extensions: { 'x/hidden': {} }, experimental: { 'x-hidden': {} } },
    },
    tools: [tool('echo'), tool('open__echo')],
    prompts: [{ name: 'p' }],
    resources: [{ uri: 'x://both', name: 'b' }],
    resourceTemplates: [{ uriTemplate: 'x://open/{n}', name: 't' }],
    on: {
      'tools/call': () => text('of the hidden server'),
      'resources/read': () => content('x://both', 'of the hidden server'),
    },
  },
  open: {
    instructions: 'instructions of the open server',
    tools: [tool('echo'), tool('secret'), tool('hidden__own')],
    prompts: [{ name: 'p' }],
    resources: [
      { uri: 'x://both', name: 'b' },
      { uri: 'x://secret', name: 's' },
    ],
    on: {
      'tools/call': () => text('of the open server'),
      'resources/read': () => content('x://both', 'of the open server'),
    },
  },
};

const roles = {
  reader: {
    allow: ['open/*', 'prompt:open/*', 'resource:open/x://b*'],
    deny: ['open/secret'],
  },
  prompts: { allow: ['prompt:open/*'] },
  tools: { allow: ['open/*'] },
};

async function world(settings: object = {}) {
  const gateway = newGateway(scripts, { settings: { roles, ...settings } });
  const whole = gateway.legacy();
  for (const list of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
    whole.request(list);
  }
  await settled();
  const ask = async (method: string, params: object = {}, principal: Principal = reader) => {
    const reply = gateway.legacy({}, principal).request(method, params);
    await settled();
    await gateway.clock.advanceAsync(20_000);
    await settled();
    return reply;
  };
  const names = async (method: string, key: string, principal: Principal = reader) => {
    const { result } = await ask(method, {}, principal);
    const [list] = Object.values(result) as [Record<string, unknown>[]];
    return list.map((one) => one[key]);
  };
  return { ...gateway, ask, names };
}

describe('a principal with a role', () => {
  it('lists what its role allows, and nothing else #roles-deny', async () => {
    const { names } = await world({ hostTools: true });
    expect(await names('tools/list', 'name')).toEqual(['open__echo', 'open__hidden__own']);
    expect(await names('prompts/list', 'name')).toEqual(['open__p']);
    expect(await names('resources/list', 'uri')).toEqual(['x://both']);
    expect(await names('resources/templates/list', 'uriTemplate')).toEqual([]);
  });

  it.each(['hidden__echo', 'open__secret', 'nothing__x', 'hidden__nothing'])(
    'that calls %s hears the same as for a name that does not exist #roles-deny',
    async (name) => {
      const { ask, servers } = await world();
      const before = servers.hidden.heard('tools/call').length;
      const { error } = (await ask('tools/call', { name })).answered;
      expect(error).toEqual({ code: -32602, message: `Unknown tool: ${name}` });
      expect(servers.hidden.heard('tools/call')).toHaveLength(before);
      expect(servers.open.heard('tools/call')).toHaveLength(0);
    },
  );

  it('keeps a name that a hidden server has too, in transparent mode #hidden-has-no-influence', async () => {
    const { names, ask } = await world({ naming: 'transparent' });
    const all = ['echo', 'open__echo', 'secret', 'hidden__own'];
    expect(await names('tools/list', 'name', localUser)).toEqual(all);
    expect(await names('tools/list', 'name')).toEqual(['echo', 'hidden__own']);
    const { result } = await ask('tools/call', { name: 'echo' });
    expect(result).toEqual(text('of the open server'));
    const whole = await ask('tools/call', { name: 'echo' }, localUser);
    expect(whole.result).toEqual(text('of the hidden server'));
  });

  it('has what it would have without the hidden servers: bare names, and addresses that nobody lists #hidden-has-no-influence', async () => {
    const { ask } = await world();
    // For somebody who sees the server it would be a tool of that one.
    const own = await ask('tools/call', { name: 'hidden__own' });
    expect(own.result).toEqual(text('of the open server'));
    const whole = await ask('tools/call', { name: 'hidden__own' }, localUser);
    expect(whole.answered.error?.code).toBe(-32602);
    const read = await ask('resources/read', { uri: 'x://bought' });
    expect(read.result).toEqual(content('x://both', 'of the open server'));
  });

  it('keeps an address that a hidden server claims, or its template matches #hidden-has-no-influence', async () => {
    const { ask } = await world();
    const { result } = await ask('resources/read', { uri: 'x://both' });
    expect(result).toEqual(content('x://both', 'of the open server'));
    const whole = await ask('resources/read', { uri: 'x://both' }, localUser);
    expect(whole.result).toEqual(content('x://both', 'of the hidden server'));
  });

  it('cannot read what it may not, by whichever address #roles-deny', async () => {
    const { ask, servers } = await world();
    const denied = (await ask('resources/read', { uri: 'x://secret' })).answered.error;
    const unknown = (await ask('resources/read', { uri: 'x://nothing' })).answered.error;
    expect(denied?.code).toBe(unknown?.code);
    expect(denied?.code).toBeDefined();
    expect(denied?.message.replace('secret', 'nothing')).toBe(unknown?.message);
    expect(servers.open.heard('resources/read')).toHaveLength(0);
  });

  it.each(['resources/read', 'resources/subscribe', 'resources/directory/read', 'skills/get'])(
    'is answered for an address that it may not read like for one that nobody has, and no server is asked: %s #roles-deny',
    async (method) => {
      const { ask, servers } = await world();
      const denied = (await ask(method, { uri: 'x://secret' })).answered.error;
      // Written as an address of a server that is not there, so nobody has it.
      const nobodys = 'holdfast:nobody:x://secret';
      const unknown = (await ask(method, { uri: nobodys })).answered.error;
      expect(JSON.stringify(unknown)).toContain(nobodys);
      expect(JSON.stringify(denied)).toBe(
        JSON.stringify(unknown).replaceAll(nobodys, 'x://secret'),
      );
      expect(servers.open.heard(method)).toEqual([]);
    },
  );

  it('is greeted with the instructions of servers whose tools it may all use, and no others #roles-deny', async () => {
    const { ask } = await world();
    const clientInfo = { name: 'c', version: '1' };
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    for (const role of ['tools', 'reader', 'prompts']) {
      const { result } = await ask('initialize', initialize, { id: `token:${role}`, role });
      const told = JSON.stringify(result);
      expect([role, told.includes('of the open server')]).toEqual([role, role === 'tools']);
      expect(told).not.toContain('hidden');
    }
  });

  it('is greeted with the capabilities of servers that it may see, and of no others #roles-deny', async () => {
    const { ask, modern } = await world();
    const clientInfo = { name: 'c', version: '1' };
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const capabilitiesFor = async (principal: Principal) => {
      const discovered = modern({}, { principal, key: principal.id }).request('server/discover');
      const greeted = await ask('initialize', initialize, principal);
      return [discovered, greeted].map(({ result }) => JSON.stringify(result['capabilities']));
    };
    for (const told of await capabilitiesFor(localUser)) {
      expect(told).toMatch(/x\/hidden.*x-hidden/);
    }
    const told = await capabilitiesFor(reader);
    expect(told.join()).not.toMatch(/hidden|"requests"/);
  });

  it('for prompts alone has those, and starts nothing for tools #roles-deny', async () => {
    const gateway = newGateway(scripts, { settings: { roles } });
    const principal = { id: 'token:p', role: 'prompts' };
    const tools = gateway.legacy({}, principal).request('tools/list');
    await settled();
    expect(tools.result).toEqual({ tools: [] });
    const call = gateway.legacy({}, principal).request('tools/call', { name: 'open__echo' });
    await settled();
    expect(call.answered.error?.code).toBe(-32602);
    expect(gateway.servers.open.children).toHaveLength(0);
    const prompts = gateway.legacy({}, principal).request('prompts/list');
    await settled();
    await gateway.clock.advanceAsync(20_000);
    await settled();
    expect(prompts.result).toEqual({ prompts: [{ name: 'open__p' }] });
    expect(gateway.servers.hidden.children).toHaveLength(0);
  });

  it.each([null, 'nobody', 'constructor'])(
    'whose role is %s has nothing #roles-deny',
    async (role) => {
      const { names, ask } = await world();
      const principal = { id: 'token:x', role };
      expect(await names('tools/list', 'name', principal)).toEqual([]);
      expect((await ask('tools/call', { name: 'open__echo' }, principal)).answered.error).toEqual({
        code: -32602,
        message: 'Unknown tool: open__echo',
      });
    },
  );
});

describe('changed roles', () => {
  it('take effect at the next request, and open sessions hear of new lists #policy-at-once', async () => {
    const { host, legacy, names, ask, config, clock } = await world();
    const open = legacy({}, reader);
    const { mcpServers } = config;
    expect(await names('tools/list', 'name')).toContain('open__echo');
    expect((await ask('resources/read', { uri: 'x://both' })).result).toEqual(
      content('x://both', 'of the open server'),
    );
    const next = { reader: { allow: ['hidden/echo', 'resource:hidden/*'] } };
    await host.apply({ mcpServers, roles: next, hostTools: false });
    expect(await names('tools/list', 'name')).toEqual(['hidden__echo']);
    expect((await ask('tools/call', { name: 'open__echo' })).answered.error?.code).toBe(-32602);
    expect((await ask('resources/read', { uri: 'x://both' })).result).toEqual(
      content('x://both', 'of the hidden server'),
    );
    await clock.advanceAsync(100);
    expect(open.methods()).toContain('notifications/tools/list_changed');
    expect(open.methods()).toContain('notifications/resources/list_changed');
  });
});

describe('a guard beside roles', () => {
  it('shows to the same id under another role what that role allows #roles-deny #guard', async () => {
    const { host, names } = await world();
    host.setGuard(() => ({ allow: true }));
    const asPrompts: Principal = { id: reader.id, role: 'prompts' };
    for (const _time of [1, 2]) {
      expect(await names('tools/list', 'name')).toEqual(['open__echo', 'open__hidden__own']);
      expect(await names('tools/list', 'name', asPrompts)).toEqual([]);
      expect(await names('prompts/list', 'name', asPrompts)).toEqual(['open__p']);
    }
    const alone = cutBy(reader, { kind: 'server', name: 'hidden' });
    expect(await names('tools/list', 'name', alone)).toEqual([]);
    host.setGuard((_who, _server, name) =>
      name === 'echo' ? { allow: false, reason: 'no' } : { allow: true },
    );
    expect(await names('tools/list', 'name')).toEqual(['open__hidden__own']);
  });
});

describe('changed roles, while an earlier config is still being applied', () => {
  /** A server that was removed ends only when its call has ended. */
  async function held() {
    const waiting = { tools: [tool('wait')], on: { 'tools/call': () => undefined } };
    const gateway = newGateway({ ...scripts, waiting }, { settings: { roles } });
    const { host, config, legacy } = gateway;
    legacy().request('tools/call', { name: 'waiting__wait' });
    await settled();
    await settled();
    const { waiting: _, ...mcpServers } = config.mcpServers;
    let isApplied = false;
    const apply = (next: object) => {
      const applied = host.apply({ mcpServers, hostTools: false, ...next } as ConfigInput);
      applied.finally(() => (isApplied = true)).catch(() => {});
      return applied;
    };
    const removing = apply({ roles });
    await settled();
    const mayCall = (name: string) =>
      host.access.isAllowed(reader, {
        ...{ action: 'call', server: 'open', kind: 'tool', name, method: 'tools/call' },
      });
    return { ...gateway, apply, removing, mayCall, isApplied: () => isApplied };
  }

  it('take effect at once #policy-at-once', async () => {
    const { apply, mayCall, isApplied, clock, removing } = await held();
    expect(mayCall('echo')).toBe(true);
    const changing = apply({ roles: { reader: { allow: ['open/other'] } } });
    expect(mayCall('echo')).toBe(false);
    expect(mayCall('other')).toBe(true);
    expect(isApplied()).toBe(false);
    await clock.advanceAsync(20_000);
    await Promise.all([removing, changing]);
    expect(mayCall('echo')).toBe(false);
  });

  it('are never those of an earlier config again #policy-at-once', async () => {
    const { apply, mayCall, clock, host } = await held();
    const seen: boolean[] = [];
    host.news.subscribe({
      ...{ listChanged: () => {}, updated: () => {}, serversChanged: () => {}, task: () => {} },
      settingsChanged: () => seen.push(mayCall('echo')),
      policyChanged: () => seen.push(mayCall('echo')),
    });
    const changes = [
      apply({ roles: { reader: { allow: ['open/*'] } }, maxIdle: 3 }),
      apply({ roles: { reader: { allow: [] } }, maxIdle: 4 }),
    ];
    await clock.advanceAsync(20_000);
    await Promise.all(changes);
    expect(mayCall('echo')).toBe(false);
    expect(seen.slice(seen.indexOf(false))).not.toContain(true);
  });

  it('stay as they were if the change is denied #policy-at-once', async () => {
    const { host, apply, mayCall, clock } = await held();
    host.setGuard((_principal, _server, _name, { action }) =>
      action === 'spawn' ? { allow: false, reason: 'no' } : { allow: true },
    );
    const more = { open: { command: '/bin/open' }, added: { command: '/bin/open' } };
    const changing = apply({ mcpServers: more, roles: { reader: { allow: [] } } });
    const refused = changing.catch((error: unknown) => error);
    expect(mayCall('echo')).toBe(true);
    await clock.advanceAsync(20_000);
    expect(await refused).toMatchObject({ record: { code: 'denied' } });
    expect(mayCall('echo')).toBe(true);
  });
});

const extension = 'io.modelcontextprotocol/tasks';
const times = { createdAt: '', lastUpdatedAt: '', ttlMs: 60_000 };

describe('a task whose tool its owner may not use any more', () => {
  it('is not followed, and says nothing to a stream that followed it before #policy-at-once', async () => {
    const task = { taskId: 't-1', status: 'working', ...times };
    const script = {
      era: 'modern' as const,
      capabilities: { tools: {}, extensions: { [extension]: {} } },
      tools: [tool('long')],
      on: { 'tools/call': () => ({ resultType: 'task', ...task }) },
    };
    const before = { worker: { allow: ['s/*'] } };
    const { modern, servers, host, config } = newGateway(
      { s: script },
      { settings: { roles: before } },
    );
    const principal = { id: 'token:w', role: 'worker' };
    const peer = modern({ extensions: { [extension]: {} } }, { principal, key: principal.id });
    const begun = peer.call('s__long');
    await settled();
    const taskIds = [String(begun.result['taskId'])];
    const listening = peer.request('subscriptions/listen', { notifications: { taskIds } });
    await settled();
    const tell = async () => {
      const { child } = servers.s;
      const _meta = {
        'io.modelcontextprotocol/subscriptionId': child.last('subscriptions/listen').id,
      };
      child.note('notifications/tasks', { ...task, _meta });
      await settled();
      return listening.messages.filter(({ method }) => method === 'notifications/tasks').length;
    };
    expect(await tell()).toBe(1);
    const { mcpServers } = config;
    const after = { worker: { allow: ['s/other'] } };
    await host.apply({ mcpServers, roles: after, hostTools: false });
    expect(await tell()).toBe(1);
    expect(servers.s.child.heardAs('notifications/cancelled')).toHaveLength(1);
    const again = peer.request('subscriptions/listen', { notifications: { taskIds } });
    await settled();
    expect(again.messages[0]).toMatchObject({ params: { notifications: {} } });
    expect(JSON.stringify(again.messages[0])).not.toContain('taskIds');
  });
});

describe('a server that was removed', () => {
  it('is not there, and nothing is said of those that are #roles-deny', async () => {
    const task = { taskId: 't-1', status: 'working', ...times };
    const script = {
      era: 'modern' as const,
      capabilities: { tools: {}, extensions: { [extension]: {} } },
      tools: [tool('long')],
      on: { 'tools/call': () => ({ resultType: 'task', ...task }) },
    };
    const settings = { roles: { worker: { allow: ['s/*'] } } };
    const { modern, host, config } = newGateway({ s: script, payroll: {} }, { settings });
    const principal = { id: 'token:w', role: 'worker' };
    const peer = modern({ extensions: { [extension]: {} } }, { principal, key: principal.id });
    const begun = peer.call('s__long');
    await settled();
    const { payroll } = config.mcpServers;
    await host.apply({ mcpServers: { payroll }, ...settings, hostTools: false } as ConfigInput);
    const gone = peer.request('tasks/get', { taskId: String(begun.result['taskId']) });
    await settled();
    expect(gone.answered.error).toBeDefined();
    expect(gone.answers.join()).not.toMatch(/payroll|holdfast.json/);
  });
});

describe('a path that narrows', () => {
  it('of one server has its own names, and nothing of others #path-takes-away', async () => {
    const { names, ask } = await world({ hostTools: true });
    const alone = cutBy(localUser, { kind: 'server', name: 'open' });
    expect(await names('tools/list', 'name', alone)).toEqual(['echo', 'secret', 'hidden__own']);
    expect((await ask('tools/call', { name: 'echo' }, alone)).result).toEqual(
      text('of the open server'),
    );
    expect((await ask('tools/call', { name: 'hidden__echo' }, alone)).answered.error?.code).toBe(
      -32602,
    );
    const cut = cutBy(reader, { kind: 'server', name: 'open' });
    expect(await names('tools/list', 'name', cut)).toEqual(['echo', 'hidden__own']);
    const none = cutBy(reader, { kind: 'server', name: 'hidden' });
    expect(await names('tools/list', 'name', none)).toEqual([]);
  });

  it('of a role takes away what the role does not have, and gives nothing #path-takes-away', async () => {
    const { names } = await world();
    const asReader = cutBy(localUser, { kind: 'role', name: 'reader' });
    expect(await names('tools/list', 'name', asReader)).toEqual([
      'open__echo',
      'open__hidden__own',
    ]);
    const asPrompts = cutBy(reader, { kind: 'role', name: 'prompts' });
    expect(await names('tools/list', 'name', asPrompts)).toEqual([]);
    expect(await names('prompts/list', 'name', asPrompts)).toEqual(['open__p']);
    const unknown = cutBy(localUser, { kind: 'role', name: 'nobody' });
    expect(await names('tools/list', 'name', unknown)).toEqual([]);
  });
});

describe('what is begun under one path', () => {
  it('is unknown under another, and to another principal: cursors, tasks and states #path-takes-away', async () => {
    const many = Array.from({ length: 1_100 }, (_, at) => tool(`t${at}`));
    const task = { taskId: 't-1', status: 'working', ...times };
    const script = {
      era: 'modern' as const,
      capabilities: { tools: {}, extensions: { [extension]: {} } },
      tools: [...many, tool('long'), tool('ask')],
      on: {
        'tools/call': ({ params }: Heard) => {
          if (params['name'] === 'long') return { resultType: 'task', ...task };
          const inputRequests = { one: { method: 'roots/list' } };
          if ('inputResponses' in params) return text('answered');
          return { resultType: 'input_required', inputRequests, requestState: 'x' };
        },
        'tasks/get': () => ({ resultType: 'complete', ...task }),
      },
    };
    const { modern } = newGateway(
      { s: script },
      { settings: { roles: { all: { allow: ['*'] } } } },
    );
    const owner = { id: 'token:a', role: 'all' };
    const peers = [
      owner,
      cutBy(owner, { kind: 'server', name: 's' }),
      cutBy(owner, { kind: 'role', name: 'all' }),
      { id: 'token:b', role: 'all' },
    ].map((principal) =>
      modern({ roots: {}, extensions: { [extension]: {} } }, { principal, key: principal.id }),
    );
    const inputResponses = { one: { roots: [] } };
    const name = (at: number, own: string) => (at === 1 ? own : `s__${own}`);
    for (const [at, peer] of peers.entries()) {
      const listed = peer.request('tools/list');
      const begun = peer.call(name(at, 'long'));
      const asked = peer.call(name(at, 'ask'));
      await settled();
      const cursor = String(listed.result['nextCursor']);
      const taskId = String(begun.result['taskId']);
      const requestState = String(asked.result['requestState']);
      for (const [other, stranger] of peers.entries()) {
        const replies = [
          stranger.request('tools/list', { cursor }),
          stranger.request('tasks/get', { taskId }),
          stranger.call(name(other, 'ask'), {}, { requestState, inputResponses }),
        ];
        await settled();
        const isRefused = replies.map(({ answered }) => answered.error !== undefined);
        expect(isRefused, `${at} to ${other}`).toEqual(Array(3).fill(other !== at));
      }
    }
  });
});

describe('the local user with a role', () => {
  it('has what the role allows, and still changes the config', async () => {
    const { host, names, config } = await world({ local: { role: 'reader' } });
    expect(await names('tools/list', 'name', localUser)).toEqual([
      'open__echo',
      'open__hidden__own',
    ]);
    const { mcpServers } = config;
    await host.apply({ mcpServers, roles, local: { role: null }, hostTools: false });
    expect(await names('tools/list', 'name', localUser)).toContain('hidden__echo');
  });
});

describe('an operator as the role of the local user', () => {
  it('hears of the events of servers that it sees, and of no others #roles-deny', async () => {
    const operator = { allow: ['open/echo'], operator: true };
    const settings = { roles: { operator, all: { allow: ['*'] } }, local: { role: 'operator' } };
    const { host } = newGateway(scripts, { settings });
    const events = host.events();
    const heard = events.next();
    const principal = { id: 'token:all', role: 'all' };
    await host.call('hidden', 'echo', {}, { principal });
    await host.call('open', 'echo', {}, { principal });
    expect((await heard).value).toMatchObject({ server: 'open' });
    await events.return();
  });
});

describe('a guard that tells listing from calling', () => {
  it('is asked for what is done: nothing is described that may not be listed #guard', async () => {
    const { host, modern } = newGateway(scripts, { settings: { surface: 'search' } });
    host.setGuard((_principal, _server, name, { action }) =>
      action === 'list' && name === 'echo'
        ? { allow: false, reason: 'not listed' }
        : { allow: true },
    );
    const peer = modern({}, { principal: reader, key: reader.id });
    const described = peer.call('describe_tool', { name: 'open__echo' });
    const called = peer.call('call_tool', { name: 'open__echo', arguments: {} });
    for (let turn = 0; turn < 4; turn += 1) await settled();
    expect(described.answered.error?.message).toBe('Unknown tool: open__echo');
    expect(called.result).toMatchObject(text('of the open server'));
  });
});
