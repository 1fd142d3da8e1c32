// What a client hears of a server, or of a tool of it, that a change of the policy has hidden: nothing. It was
// the only client of the server, has a call running there, is being asked, or watches a resource.

import { describe, expect, it } from 'vitest';
import { newGateway, settled as turns } from '../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import type { Principal } from '../policy/principal.ts';

const reader: Principal = { id: 'token:reader', role: 'reader' };
const able = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };
const everything = ['s/*', 'prompt:s/*', 'resource:s/*'];
const question = { messages: [], maxTokens: 1 };

/** A server that is started is asked which era it has, first. */
async function settled(): Promise<void> {
  for (let more = 0; more < 4; more += 1) await turns();
}

/** A call stays open until the test answers it. */
const script: Script = {
  tools: [tool('a'), tool('b')],
  resources: [
    { uri: 'x://a', name: 'a' },
    { uri: 'x://b', name: 'b' },
  ],
  on: {
    'tools/call': () => undefined,
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
  },
};

/** Other roles hide the whole server, the tool that is called, or nothing that matters. */
const changes = {
  'the server is hidden': ['other/*'],
  'its tool is hidden': ['s/b', 'resource:s/x://b'],
} as const;
type Change = keyof typeof changes;
const hiding = Object.keys(changes) as Change[];

function world(more: Partial<Script> = {}) {
  const roles = { reader: { allow: everything } };
  const scripts = { s: { ...script, ...more }, other: { tools: [tool('a')] } };
  const gateway = newGateway(scripts, { settings: { roles } });
  const { host, config, clock } = gateway;
  const allow = async (patterns: readonly string[]) => {
    const { mcpServers } = config;
    const next = { reader: { allow: [...patterns] } };
    await host.apply({ mcpServers, roles: next, hostTools: false });
    await clock.advanceAsync(100);
    await settled();
  };
  /** A server is started and greeted, and has had its moment to ask for roots. */
  const started = async () => {
    await settled();
    await clock.advanceAsync(1_000);
    await settled();
  };
  return {
    ...gateway,
    allow,
    started,
    change: (change: Change) => allow(changes[change]),
    /** The same rights, written differently. */
    changeNothing: () => allow([...everything, 'other/b']),
    reader: () => gateway.legacy(able, reader),
    modern: (logLevel?: string) =>
      gateway.modern(able, {
        principal: reader,
        key: reader.id,
        ...(logLevel ? { logLevel } : {}),
      }),
  };
}

const progressing = { name: 's__a', _meta: { progressToken: 'p' } };
const isOurs = (method: unknown) => String(method).endsWith('list_changed');

describe('a legacy client whose call runs when the policy changes', () => {
  it.each(hiding)(
    'hears nothing more of the server, but the answer: %s #hidden-is-silent',
    async (change) => {
      const { servers, reader, ...at } = world();
      const peer = reader();
      peer.request('logging/setLevel', { level: 'debug' });
      const call = peer.request('tools/call', progressing);
      await at.started();
      const { child } = servers.s;
      const heard = child.last('tools/call');
      const { progressToken } = heard.params['_meta'] as { progressToken: unknown };
      const speak = async () => {
        child.note('notifications/progress', { progressToken, progress: 1 });
        child.note('notifications/message', { level: 'error', data: 'x' });
        child.note('notifications/something', {});
        child.ask('q', 'sampling/createMessage', question);
        await settled();
        const messages = [...call.messages, ...peer.messages].map(({ method }) => method);
        return messages.filter((method) => !isOurs(method));
      };
      await at.change(change);
      expect(await speak()).toEqual([]);
      expect(child.answerTo('q').error).toMatchObject({ code: -32601 });
      child.answer(heard, text('done'));
      await settled();
      expect(call.result).toEqual(text('done'));
    },
  );

  it('hears what it heard before if that is still allowed', async () => {
    const { servers, reader, ...at } = world();
    const peer = reader();
    const call = peer.request('tools/call', progressing);
    await at.started();
    const { child } = servers.s;
    const { progressToken } = child.last('tools/call').params['_meta'] as {
      progressToken: unknown;
    };
    await at.changeNothing();
    child.note('notifications/progress', { progressToken, progress: 1 });
    child.note('notifications/message', { level: 'error', data: 'x' });
    child.ask('q', 'sampling/createMessage', question);
    await settled();
    expect(call.messages.map(({ method }) => method)).toEqual([
      'notifications/progress',
      'notifications/message',
      'sampling/createMessage',
    ]);
  });

  it.each(hiding)(
    'is told that what it is asked is withdrawn: %s #hidden-is-silent',
    async (change) => {
      const { servers, reader, ...at } = world();
      const peer = reader();
      const call = peer.request('tools/call', progressing);
      await at.started();
      const { child } = servers.s;
      child.ask('q', 'elicitation/create', { message: 'm', requestedSchema: { type: 'object' } });
      await settled();
      const asked = call.messages.find(({ method }) => method === 'elicitation/create');
      await at.change(change);
      expect(child.answerTo('q').error).toMatchObject({ code: -32601 });
      const last = call.messages.at(-1);
      expect(last).toMatchObject({
        method: 'notifications/cancelled',
        params: { requestId: asked?.['id'] },
      });
      // Its late answer goes nowhere.
      peer.answer(asked?.['id'], { action: 'accept', content: {} });
      await settled();
      expect(child.heard.filter(({ id }) => id === 'q')).toHaveLength(1);
    },
  );
});

describe('a legacy client that was the only one of a server', () => {
  it('hears and is asked nothing between its calls, once the server is hidden #hidden-is-silent', async () => {
    const { servers, reader, change, started } = world({
      on: { 'tools/call': () => text('at once') },
    });
    const peer = reader();
    peer.request('logging/setLevel', { level: 'debug' });
    peer.request('tools/call', { name: 's__a' });
    await started();
    const { child } = servers.s;
    child.note('notifications/message', { level: 'error', data: 'x' });
    child.ask('before', 'roots/list');
    await settled();
    expect(peer.methods()).toEqual(['notifications/message', 'roots/list']);
    await change('the server is hidden');
    expect(child.answerTo('before')).toBeDefined();
    const told = peer.heard.length;
    child.note('notifications/message', { level: 'error', data: 'x' });
    child.ask('roots', 'roots/list');
    child.ask('sampling', 'sampling/createMessage', question);
    await settled();
    expect(peer.heard.slice(told)).toEqual([]);
    expect(child.answerTo('sampling').error).toMatchObject({ code: -32601 });
    expect(JSON.stringify(child.answerTo('roots'))).not.toContain('file:');
  });

  it('hears it again when it is allowed again', async () => {
    const { servers, reader, change, allow, started } = world({
      on: { 'tools/call': () => text('at once') },
    });
    const peer = reader();
    peer.request('tools/call', { name: 's__a' });
    await started();
    await change('the server is hidden');
    await allow(everything);
    servers.s.child.note('notifications/message', { level: 'error', data: 'x' });
    await settled();
    expect(peer.methods()).toContain('notifications/message');
  });
});

describe('a modern client whose call runs when the policy changes', () => {
  it.each(hiding)(
    'hears nothing more of it, but the answer: %s #hidden-is-silent',
    async (change) => {
      const { servers, modern, ...at } = world();
      const call = modern('debug').request('tools/call', { name: 's__a' }, { progressToken: 'p' });
      await settled();
      const { child } = servers.s;
      const heard = child.last('tools/call');
      const { progressToken } = heard.params['_meta'] as { progressToken: unknown };
      await at.change(change);
      child.note('notifications/progress', { progressToken, progress: 1 });
      child.note('notifications/message', { level: 'error', data: 'x' });
      child.ask('q', 'sampling/createMessage', question);
      await settled();
      expect(call.messages).toEqual([]);
      expect(call.answers).toEqual([]);
      expect(child.answerTo('q').error).toMatchObject({ code: -32601 });
      child.answer(heard, text('done'));
      await settled();
      expect(call.result).toMatchObject(text('done'));
    },
  );

  it.each(hiding)(
    'is not waited for, if it was asked for input: %s #hidden-is-silent',
    async (change) => {
      const { servers, modern, gateway, ...at } = world();
      const call = modern().request('tools/call', { name: 's__a' });
      await settled();
      const { child } = servers.s;
      child.ask('q', 'sampling/createMessage', question);
      await settled();
      expect(call.result).toMatchObject({ resultType: 'input_required' });
      expect(gateway.kept['parked']).toBe(1);
      await at.change(change);
      expect(gateway.kept['parked']).toBe(0);
      expect(child.answerTo('q').error).toBeDefined();
      expect(child.heardAs('notifications/cancelled')).toHaveLength(1);
    },
  );

  it('is not asked by a modern server whose answer is a question #hidden-is-silent', async () => {
    const { servers, modern, change } = world({
      era: 'modern',
      on: { 'tools/call': () => undefined },
    });
    const call = modern().request('tools/call', { name: 's__a' });
    await settled();
    const { child } = servers.s;
    await change('its tool is hidden');
    const inputRequests = { one: { method: 'sampling/createMessage', params: question } };
    child.answer(child.last('tools/call'), {
      resultType: 'input_required',
      inputRequests,
      requestState: 'x',
    });
    await settled();
    expect(call.answered.error).toEqual({ code: -32602, message: 'Unknown tool: s__a' });
  });

  it.each([true, false])(
    'is asked to open an address by an error of a legacy server, unless it is hidden: %s #hidden-is-silent',
    async (isHidden) => {
      const { servers, modern, change } = world();
      const call = modern().request('tools/call', { name: 's__a' });
      await settled();
      if (isHidden) await change('its tool is hidden');
      const { child } = servers.s;
      const elicitations = [
        { mode: 'url', elicitationId: 'e', url: 'https://x.test/', message: 'm' },
      ];
      const error = { code: -32042, message: 'open it', data: { elicitations } };
      child.say({ jsonrpc: '2.0', id: child.last('tools/call').id, error });
      await settled();
      if (isHidden) {
        expect(call.answered.error).toEqual({ code: -32602, message: 'Unknown tool: s__a' });
      } else expect(call.result).toMatchObject({ resultType: 'input_required' });
    },
  );
});

describe('a task of 2025-11-25 whose tool was hidden', () => {
  it('asks its client nothing, and has what it asked withdrawn #hidden-is-silent', async () => {
    const task = { taskId: 't', status: 'working', createdAt: '', lastUpdatedAt: '', ttl: 60_000 };
    const { servers, reader, change, started } = world({
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      tools: [tool('a', { execution: { taskSupport: 'optional' } }), tool('b')],
      on: { 'tools/call': () => ({ task }) },
    });
    const peer = reader();
    peer.request('tools/call', { name: 's__a', task: { ttl: 60_000 } });
    await started();
    const { child } = servers.s;
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId: 't' } };
    child.ask('before', 'sampling/createMessage', { ...question, _meta });
    await settled();
    expect(peer.methods()).toEqual(['sampling/createMessage']);
    await change('its tool is hidden');
    expect(child.answerTo('before').error).toMatchObject({ code: -32601 });
    const told = peer.heard.length;
    child.ask('after', 'sampling/createMessage', { ...question, _meta });
    await settled();
    expect(child.answerTo('after').error).toMatchObject({ code: -32601 });
    expect(peer.heard.slice(told)).toEqual([]);
  });
});

describe('what a client watches', () => {
  const uri = 'x://a';

  it.each(hiding)(
    'of a legacy one is given up at the server: %s #hidden-is-silent',
    async (change) => {
      const { servers, reader, ...at } = world();
      const peer = reader();
      peer.request('resources/list');
      await settled();
      peer.request('resources/subscribe', { uri });
      peer.request('resources/subscribe', { uri: 'x://b' });
      await settled();
      const { child } = servers.s;
      expect(child.heardAs('resources/subscribe')).toHaveLength(2);
      await at.change(change);
      const given = child.heardAs('resources/unsubscribe').map(({ params }) => params['uri']);
      const both = change === 'the server is hidden';
      expect(given).toEqual(both ? [uri, 'x://b'] : [uri]);
      const told = peer.heard.length;
      child.note('notifications/resources/updated', { uri });
      await settled();
      expect(peer.heard.slice(told)).toEqual([]);
    },
  );

  it('stays at the server if another may see it #hidden-is-silent', async () => {
    const { servers, reader, legacy, change } = world();
    const [peer, whole] = [reader(), legacy(able)];
    for (const one of [peer, whole]) {
      one.request('resources/list');
      await settled();
      one.request('resources/subscribe', { uri });
      await settled();
    }
    await change('the server is hidden');
    const kept = servers.s.children.map((child) => child.heardAs('resources/unsubscribe').length);
    for (const child of servers.s.children) child.note('notifications/resources/updated', { uri });
    await settled();
    expect(whole.methods()).toContain('notifications/resources/updated');
    expect(peer.methods()).not.toContain('notifications/resources/updated');
    expect(kept).toContain(0);
  });

  it.each(hiding)(
    'of a modern one is given up at the server: %s #hidden-is-silent',
    async (change) => {
      const { servers, modern, ...at } = world();
      const listening = modern().request('subscriptions/listen', {
        notifications: { resourceSubscriptions: [uri, 'x://b'] },
      });
      await settled();
      const { child } = servers.s;
      expect(child.heardAs('resources/subscribe')).toHaveLength(2);
      await at.change(change);
      const given = child.heardAs('resources/unsubscribe').map(({ params }) => params['uri']);
      const both = change === 'the server is hidden';
      expect(given).toEqual(both ? [uri, 'x://b'] : [uri]);
      for (const one of [uri, 'x://b']) child.note('notifications/resources/updated', { uri: one });
      await settled();
      const told = listening.messages.filter(({ method }) => String(method).endsWith('updated'));
      expect(told).toHaveLength(both ? 0 : 1);
      listening.underway?.cancel();
      await settled();
      expect(child.heardAs('resources/unsubscribe')).toHaveLength(2);
    },
  );

  it.each(['legacy', 'modern'] as const)(
    'is not granted to a %s one if the policy changes while the server is asked #hidden-is-silent',
    async (era) => {
      const { servers, reader, modern, change } = world({
        on: { 'resources/subscribe': () => undefined, 'resources/unsubscribe': () => ({}) },
      });
      const peer = era === 'legacy' ? reader() : modern();
      peer.request('resources/list');
      await settled();
      const reply =
        era === 'legacy'
          ? peer.request('resources/subscribe', { uri })
          : peer.request('subscriptions/listen', {
              notifications: { resourceSubscriptions: [uri] },
            });
      await settled();
      const { child } = servers.s;
      const heard = child.last('resources/subscribe');
      await change('the server is hidden');
      child.answer(heard, {});
      await settled();
      expect(child.heardAs('resources/unsubscribe')).toHaveLength(1);
      if (era === 'legacy') expect(reply.answered.error?.code).toBe(-32602);
      else expect(JSON.stringify(reply.messages)).not.toContain(uri);
    },
  );
});
