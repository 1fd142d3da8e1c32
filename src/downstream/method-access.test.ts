// What a guard is asked before anything of a client is answered, method by method: the question of the
// row in policy/method-access.ts, and no way around it. And the same for what clients hear unasked.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import type { AccessRequest, Guard } from '../policy/access.ts';
import { accessOf, methodAccess } from '../policy/method-access.ts';
import { localUser } from '../policy/principal.ts';
import { answeredMethods } from './methods.ts';

const guest = { id: 'token:guest', role: 'guest' };
const tasks = 'io.modelcontextprotocol/tasks';

const task = { taskId: 't-1', status: 'working', createdAt: '', lastUpdatedAt: '', ttlMs: 60_000 };

/** Answers everything that clients can ask. */
const everything: Script = {
  era: 'both',
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    extensions: { [tasks]: {}, 'io.modelcontextprotocol/skills': {} },
  },
  instructions: 'secret instructions',
  tools: [tool('a'), tool('long', { execution: { taskSupport: 'optional' } })],
  prompts: [{ name: 'p' }],
  resources: [{ uri: 'x://r', name: 'r' }],
  resourceTemplates: [{ uriTemplate: 'x://t/{n}', name: 't' }],
  on: {
    'tools/call': ({ params }) => {
      if (params['name'] !== 'long') return text('called');
      return 'task' in params ? { task } : { resultType: 'task', ...task };
    },
    'prompts/get': () => ({ messages: [] }),
    'resources/read': () => ({ contents: [] }),
    'resources/directory/read': () => ({ resources: [] }),
    'skills/get': () => ({ contents: [] }),
    'skills/list': () => ({
      skills: [{ uri: 'x://skill', frontmatter: { name: 's' }, resources: [] }],
    }),
    'completion/complete': () => ({ completion: { values: [] } }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
    'tasks/get': () => ({ resultType: 'complete', ...task }),
    'tasks/result': () => text('ended'),
    'tasks/update': () => ({ resultType: 'complete' }),
    'tasks/cancel': () => ({ resultType: 'complete', ...task }),
    'x-own/method': () => ({ own: true }),
  },
};

/** Parameters with which each method names something of the server `s`. */
const params: Readonly<Record<string, Record<string, unknown>>> = {
  'tools/call': { name: 's__a', arguments: {} },
  'prompts/get': { name: 's__p' },
  'resources/read': { uri: 'x://r' },
  'resources/directory/read': { uri: 'x://r' },
  'skills/get': { uri: 'x://skill' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 's__p' }, argument: {} },
  'resources/subscribe': { uri: 'x://r' },
  'resources/unsubscribe': { uri: 'x://r' },
  'subscriptions/listen': { notifications: { resourceSubscriptions: ['x://r'] } },
  'logging/setLevel': { level: 'info' },
};

type Denies = (request: AccessRequest) => boolean;

/** A guest whose guard writes down what it is asked, and denies some of it. */
async function world() {
  const asked: AccessRequest[] = [];
  let denies: Denies = () => false;
  const guard: Guard = (_principal, _server, _tool, request) => {
    asked.push(request);
    return denies(request) ? { allow: false, reason: 'not for guests' } : { allow: true };
  };
  const gateway = newGateway({ s: everything });
  gateway.host.setGuard(guard);
  const legacy = gateway.legacy({ roots: {} }, guest);
  const modern = gateway.modern({ extensions: { [tasks]: {} } }, { principal: guest });
  for (const list of ['tools/list', 'prompts/list', 'resources/list', 'skills/list']) {
    legacy.request(list);
    modern.request(list);
    await gateway.clock.advanceAsync(1_000);
    await settled();
  }
  const taken = modern.call('s__long');
  const begun = legacy.request('tools/call', { name: 's__long', task: { ttl: 60_000 } });
  await settled();
  await gateway.clock.advanceAsync(3_000);
  await settled();
  const handles = {
    modern: taken.result['taskId'],
    legacy: (begun.result['task'] as { taskId: string }).taskId,
  };
  const request = async (era: 'legacy' | 'modern', method: string) => {
    asked.length = 0;
    const own = method.startsWith('tasks/') ? { taskId: handles[era] } : (params[method] ?? {});
    const reply = (era === 'legacy' ? legacy : modern).request(method, own);
    await settled();
    await gateway.clock.advanceAsync(100);
    await settled();
    return reply;
  };
  const deny = (next: Denies) => {
    denies = next;
  };
  const heard = (method: string) => gateway.servers.s.heard(method).length;
  return { ...gateway, legacyPeer: legacy, modernPeer: modern, request, asked, deny, heard };
}

const legacyOnly = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'tasks/result',
  'tasks/list',
]);
const eraOf = (method: string) =>
  legacyOnly.has(method) || /^resources\/(un)?subscribe$/.test(method) ? 'legacy' : 'modern';
const methodsAbout = (...about: string[]) =>
  [...methodAccess].filter(([, row]) => about.includes(row.about)).map(([method]) => method);

describe('the table of questions', () => {
  it('has a row for every method that is answered, and for no other #guard', () => {
    expect([...methodAccess.keys()].sort()).toEqual([...answeredMethods].sort());
  });

  it('treats an unknown method as a custom one', () => {
    expect(accessOf('constructor')).toMatchObject({ action: 'request', about: 'the method' });
  });
});

describe('what names one thing', () => {
  it.each(methodsAbout('what it names'))(
    '%s asks for it, and denied it reaches no server #guard',
    async (method) => {
      const { request, asked, heard } = await world();
      const { action } = accessOf(method);
      await request(eraOf(method), method);
      const question = { action, server: 's', method };
      expect(asked).toContainEqual(expect.objectContaining(question));
      expect(asked.filter(({ name }) => name !== null)).not.toHaveLength(0);
      expect(heard(method)).toBe(method === 'tools/call' ? 3 : 1);
      const other = await world();
      const before = other.heard(method);
      other.deny((one) => one.action === action && one.name !== null);
      const denied = await other.request(eraOf(method), method);
      expect(other.heard(method)).toBe(before);
      expect(denied.answered.error ?? denied.answered.result?.['isError']).toBeTruthy();
    },
  );

  it('a completion asks for the prompt or the resource, not for the server', async () => {
    const { request, asked } = await world();
    await request('modern', 'completion/complete');
    const one = { action: 'complete', kind: 'prompt', name: 'p', method: 'completion/complete' };
    expect(asked).toContainEqual({ server: 's', ...one });
  });
});

describe('a task', () => {
  it.each([
    ['modern', 'tasks/get'],
    ['modern', 'tasks/update'],
    ['modern', 'tasks/cancel'],
    ['legacy', 'tasks/get'],
    ['legacy', 'tasks/result'],
    ['legacy', 'tasks/cancel'],
  ] as const)('of the %s era is asked for by its tool: %s #guard #tasks', async (era, method) => {
    const { request, asked, deny, heard } = await world();
    const before = heard(method);
    deny(({ action }) => action === 'task');
    await request(era, method);
    expect(asked).toContainEqual({
      action: 'task',
      server: 's',
      kind: 'tool',
      name: 'long',
      method,
    });
    expect(heard(method)).toBe(before);
  });

  it('is not in the list of who may not ask for its tool #guard #tasks', async () => {
    const { request, deny } = await world();
    expect((await request('legacy', 'tasks/list')).result).toMatchObject({ tasks: [{}] });
    deny(({ action }) => action === 'task');
    expect((await request('legacy', 'tasks/list')).result).toEqual({ tasks: [] });
  });
});

describe('a list', () => {
  it.each(methodsAbout('each entry'))('%s has no entry that is denied #guard', async (method) => {
    const { request, asked, deny, host } = await world();
    const { kind } = accessOf(method);
    const entry = /s__|x:\/\//;
    expect(JSON.stringify((await request('modern', method)).result)).toMatch(entry);
    deny((one) => one.action === 'list' && one.kind === kind);
    // What was composed is kept as long as the guard is the same.
    host.setGuard(host.access.guard);
    expect(JSON.stringify((await request('modern', method)).result)).not.toMatch(entry);
    expect(asked).toContainEqual(
      expect.objectContaining({ action: 'list', server: 's', kind, method }),
    );
  });

  it('that was composed is composed anew under another policy #guard', async () => {
    const { request, host } = await world();
    expect(JSON.stringify((await request('modern', 'tools/list')).result)).toContain('s__a');
    host.setGuard((_principal, _server, name) =>
      name === 'a' ? { allow: false, reason: 'not for guests' } : { allow: true },
    );
    const { result } = await request('modern', 'tools/list');
    expect(JSON.stringify(result)).not.toContain('s__a');
    expect(JSON.stringify(result)).toContain('s__long');
  });
});

describe('what the gateway says of its servers', () => {
  it.each(methodsAbout('each server'))(
    '%s says nothing of one that is denied #guard',
    async (method) => {
      const { request, deny, gateway, asked } = await world();
      const said = async () => {
        if (method !== 'initialize')
          return JSON.stringify((await request('modern', method)).result);
        const { LegacyPeer } = await import('../../test/support/fake-gateway.ts');
        const peer = new LegacyPeer(gateway, guest);
        const reply = peer.request('initialize', {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'late', version: '1' },
        });
        await settled();
        return JSON.stringify(reply.result);
      };
      expect(await said()).toContain('secret instructions');
      expect(asked).toContainEqual({
        action: 'list',
        server: 's',
        kind: 'server',
        name: null,
        method: null,
      });
      deny(({ kind }) => kind === 'server');
      expect(await said()).not.toContain('secret instructions');
    },
  );
});

describe('a method that MCP does not define', () => {
  it('is asked for by its name #guard', async () => {
    const { request, asked, deny, heard } = await world();
    const method = 'x-own/method';
    expect((await request('modern', method)).result).toMatchObject({ own: true });
    const question = { action: 'request', server: 's', kind: 'other', name: method, method };
    expect(asked).toContainEqual(question);
    deny(({ action }) => action === 'request');
    expect((await request('modern', method)).answered.error).toBeDefined();
    expect(heard(method)).toBe(1);
  });
});

describe('notifications from and to a client', () => {
  it('a notification reaches no server that is denied #guard', async () => {
    const { legacyPeer, asked, deny, heard } = await world();
    const method = 'notifications/roots/list_changed';
    legacyPeer.note(method);
    await settled();
    expect(asked).toContainEqual({
      action: 'notify',
      server: 's',
      kind: 'other',
      name: method,
      method,
    });
    const before = heard(method);
    deny(({ action }) => action === 'notify');
    legacyPeer.note(method);
    await settled();
    expect(heard(method)).toBe(before);
  });

  it('a change of a list is notified only to clients that may see the server #guard', async () => {
    const { legacyPeer, servers, deny, clock } = await world();
    const change = async () => {
      legacyPeer.heard.length = 0;
      const { script } = servers.s;
      servers.s.script = { ...script, tools: [...(script.tools ?? []), tool(`n${clock.now()}`)] };
      for (const child of servers.s.children) child.note('notifications/tools/list_changed');
      for (let turn = 0; turn < 30; turn += 1) await clock.advanceAsync(100);
      await settled();
      return legacyPeer.methods();
    };
    expect(await change()).toContain('notifications/tools/list_changed');
    deny(({ action, kind }) => action === 'list' && kind === 'server');
    expect(await change()).toEqual([]);
  });

  it('an update of a resource is notified only to clients that may watch it #guard', async () => {
    const { legacyPeer, request, servers, deny } = await world();
    await request('legacy', 'resources/subscribe');
    const update = async () => {
      legacyPeer.heard.length = 0;
      for (const child of servers.s.children) {
        child.note('notifications/resources/updated', { uri: 'x://r' });
      }
      await settled();
      return legacyPeer.methods();
    };
    expect(await update()).toContain('notifications/resources/updated');
    deny(({ action }) => action === 'subscribe');
    expect(await update()).toEqual([]);
  });

  it('an unknown name starts no server that is denied #guard #lazy', async () => {
    const { host, legacy, servers } = newGateway({ s: everything, other: everything });
    host.setGuard((_principal, _server, _tool, { action }) =>
      action === 'start' ? { allow: false, reason: 'starts nothing' } : { allow: true },
    );
    const peer = legacy({}, guest);
    peer.request('tools/call', { name: 'other__nothing' });
    peer.request('resources/read', { uri: 'y://nothing' });
    await settled();
    expect([servers.s.children, servers.other.children]).toEqual([[], []]);
  });
});

describe('the gateway’s own tools', () => {
  it.each([
    [{ hostTools: true }, 'holdfast__health_snapshot', 'health_snapshot', {}],
    [{ surface: 'search' }, 'describe_tool', 'describe_tool', { name: 's__a' }],
  ])(
    'are asked about like everybody’s: %j #guard #host-tools',
    async (settings, listedAs, name, args) => {
      const { host, legacy } = newGateway({ s: everything }, { settings });
      const asked: AccessRequest[] = [];
      let isOpen = true;
      const guard: Guard = (_principal, server, _tool, request) => {
        asked.push(request);
        return isOpen || server !== 'holdfast' ? { allow: true } : { allow: false, reason: 'no' };
      };
      host.setGuard(guard);
      const peer = legacy({}, guest);
      const call = () => peer.request('tools/call', { name: listedAs, arguments: args });
      const list = async () => {
        const reply = peer.request('tools/list');
        await settled();
        return JSON.stringify(reply.result);
      };
      const first = call();
      await settled();
      expect(first.answered.error).toBeUndefined();
      const question = {
        action: 'call',
        server: 'holdfast',
        kind: 'tool',
        name,
        method: 'tools/call',
      };
      expect(asked).toContainEqual(question);
      expect(await list()).toContain(listedAs);
      isOpen = false;
      host.setGuard(guard);
      const second = call();
      await settled();
      expect(second.answered.error?.message).toContain('Unknown tool');
      expect(await list()).not.toContain(listedAs);
    },
  );
});

describe('the library', () => {
  it('asks before it registers, stops, reloads, tells the state or the events of a server #guard', async () => {
    const { host } = newGateway({ s: everything, t: everything });
    host.setGuard((_principal, server) =>
      server === 't' ? { allow: true } : { allow: false, reason: 'not this one' },
    );
    await expect(host.stop('s')).rejects.toMatchObject({ code: 'denied' });
    await expect(host.reload('s')).rejects.toMatchObject({ code: 'denied' });
    expect(host.status().servers.map(({ name }) => name)).toEqual(['t']);
    const events = host.events();
    const next = events.next();
    await settled();
    const spawned = host.spawn({ name: 's', command: 'x', lazy: true });
    await expect(spawned).rejects.toMatchObject({ code: 'denied' });
    await host.reload('t');
    expect((await next).value).toMatchObject({ server: 't' });
    await events.return();
  });

  it('runs a command for the local user alone #guard', async () => {
    const { host } = newGateway({}, { undeclared: everything });
    host.setGuard(() => ({ allow: true }));
    const call = (principal: typeof guest) => host.callCommand(['x'], 'a', {}, { principal });
    await expect(call(guest)).rejects.toMatchObject({ code: 'denied' });
    const own = host.callCommand(['x'], 'a', {}, { principal: localUser });
    await settled();
    expect(await own).toMatchObject(text('called'));
  });
});
