// What a client gets of a tool that a change of the policy has hidden while its request waited for servers: what
// the policy says when the answer is written, not when the request came.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import {
  type Heard,
  type Script,
  type ScriptedChild,
  tool,
} from '../../test/support/scripted-server.ts';
import type { Principal } from '../policy/principal.ts';

const reader: Principal = { id: 'token:reader', role: 'reader' };

/** Requests of this method stay open from `hold` on, until `release` answers them. */
function held(method: string, answer: () => object) {
  const open: [Heard, ScriptedChild][] = [];
  let isHeld = false;
  const on = {
    [method]: (heard: Heard, child: ScriptedChild) => {
      if (!isHeld) return answer();
      open.push([heard, child]);
      return undefined;
    },
  };
  const hold = () => {
    isHeld = true;
  };
  const release = async () => {
    isHeld = false;
    for (const [heard, child] of open.splice(0)) child.answer(heard, answer());
    await settled();
  };
  return { on, hold, release, waiting: () => open.length };
}

function world(script: Script, settings: object = {}) {
  const roles = { reader: { allow: ['a/*', 'resource:a/*'] } };
  const made = newGateway({ a: script }, { settings: { ...settings, roles } });
  const allowOnly = async (...allow: string[]) => {
    const { mcpServers } = made.config;
    const next = { ...settings, mcpServers, hostTools: false, roles: { reader: { allow } } };
    const applied = made.host.apply(next as Parameters<typeof made.host.apply>[0]);
    await settled();
    await applied;
    await settled();
  };
  return { ...made, allowOnly };
}

describe('a tool that is hidden while its description is waited for', () => {
  const secret = tool('secret', { description: 'the hidden text' });
  const lists = held('tools/list', () => ({ tools: [secret] }));

  it('is unknown to describe_tool #policy-at-once', async () => {
    const { legacy, servers, allowOnly } = world(
      { tools: [secret], on: lists.on },
      { surface: 'search' },
    );
    const peer = legacy({}, reader);
    const describing = { name: 'describe_tool', arguments: { name: 'a__secret' } };
    const seen = peer.request('tools/call', describing);
    await settled();
    expect(JSON.stringify(seen.result)).toContain('the hidden text');
    lists.hold();
    servers.a.child.note('notifications/tools/list_changed');
    const described = peer.request('tools/call', describing);
    await settled();
    expect([lists.waiting(), described.answers]).toEqual([1, []]);
    await allowOnly('b/*');
    await lists.release();
    expect(described.answered.error).toEqual({ code: -32602, message: 'Unknown tool: a__secret' });
  });
});

describe('a task whose tool is hidden while its server describes another', () => {
  it('is not in the list #policy-at-once', async () => {
    let count = 0;
    const task = (taskId: string) => ({ taskId, status: 'working', ttl: 600_000, createdAt: 'x' });
    const gets = held('tasks/get', () => ({ ...task('t1'), statusMessage: 'the hidden text' }));
    const { legacy, allowOnly } = world({
      capabilities: { tools: {}, tasks: { list: {}, requests: { tools: { call: {} } } } },
      tools: [tool('work', { execution: { taskSupport: 'optional' } })],
      on: { ...gets.on, 'tools/call': () => ({ task: task(`t${++count}`) }) },
    });
    const peer = legacy({}, reader);
    const call = { name: 'a__work', arguments: {}, task: { ttl: 600_000 } };
    peer.request('tools/call', call);
    await settled();
    gets.hold();
    const seen = peer.request('tasks/list');
    await settled();
    expect(gets.waiting()).toBe(1);
    await gets.release();
    expect(seen.result['tasks']).toHaveLength(1);
    gets.hold();
    const list = peer.request('tasks/list');
    await settled();
    await allowOnly('b/*');
    await gets.release();
    expect(list.result).toEqual({ tasks: [] });
  });
});

describe('a task that is watched, whose tool is hidden while a resource is waited for', () => {
  const extension = { 'io.modelcontextprotocol/tasks': {} };
  const times = { createdAt: 'x', lastUpdatedAt: 'y', ttlMs: 60_000, pollIntervalMs: 500 };
  const task = { resultType: 'task', taskId: 't1', status: 'working', ...times };
  const roles = { reader: { allow: ['a/*', 'resource:b/*'] } };

  /** The server `a` has begun a task; `b` does not answer who subscribes to its resource. */
  async function begun() {
    const capabilities = { tools: {}, extensions: extension };
    const found = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities };
    const discovers = held('server/discover', () => ({
      ...found,
      ttlMs: 0,
      cacheScope: 'private',
    }));
    const tasks: Script = {
      ...{ era: 'modern', capabilities, tools: [tool('work')] },
      on: { ...discovers.on, 'tools/call': () => task, 'subscriptions/listen': () => undefined },
    };
    const subscribes = held('resources/subscribe', () => ({}));
    const resources: Script = { resources: [{ uri: 'x://r', name: 'r' }], on: subscribes.on };
    const made = newGateway({ a: tasks, b: resources }, { settings: { roles } });
    const { modern, clock, config, host } = made;
    const peer = modern({ extensions: extension }, { principal: reader, key: reader.id });
    const call = peer.call('a__work');
    peer.request('resources/list');
    await settled();
    await clock.advanceAsync(1_000);
    const { taskId } = call.result;
    subscribes.hold();
    const listen = async () => {
      const notifications = { taskIds: [taskId], resourceSubscriptions: ['x://r'] };
      const listening = peer.request('subscriptions/listen', { notifications });
      await settled();
      expect(subscribes.waiting()).toBe(1);
      return listening;
    };
    const hide = async () => {
      const { mcpServers } = config;
      const next = { reader: { allow: ['resource:b/*'] } };
      await host.apply({ mcpServers, hostTools: false, roles: next });
    };
    const heard = (method: string) => made.servers.a.heard(method).length;
    return { ...made, discovers, subscribes, listen, hide, heard };
  }

  it('is not granted, and is given up at its server #policy-at-once', async () => {
    const { listen, hide, heard, subscribes } = await begun();
    const listening = await listen();
    expect(heard('subscriptions/listen')).toBe(1);
    await hide();
    await subscribes.release();
    const [acknowledged] = listening.messages;
    expect(JSON.stringify(acknowledged)).toContain('x://r');
    expect(JSON.stringify(acknowledged)).not.toContain('taskIds');
    expect(heard('notifications/cancelled')).toBe(1);
  });

  it('is not asked for at a server that starts meanwhile #policy-at-once', async () => {
    const { listen, hide, heard, subscribes, discovers, servers, clock } = await begun();
    servers.a.child.exit();
    await settled();
    await clock.advanceAsync(20_000);
    discovers.hold();
    const listening = await listen();
    expect(discovers.waiting()).toBe(1);
    await hide();
    await discovers.release();
    expect([heard('server/discover'), heard('subscriptions/listen')]).toEqual([2, 0]);
    await subscribes.release();
    expect(JSON.stringify(listening.messages[0])).not.toContain('taskIds');
  });
});

describe('a resource that is watched, and is hidden while another is waited for', () => {
  it('is not granted, and is given up at its server #policy-at-once', async () => {
    const subscribes = held('resources/subscribe', () => ({}));
    const roles = { reader: { allow: ['resource:*'] } };
    const { modern, config, host, servers, clock } = newGateway(
      {
        a: { resources: [{ uri: 'x://a', name: 'a' }], on: { 'resources/subscribe': () => ({}) } },
        b: { resources: [{ uri: 'x://b', name: 'b' }], on: subscribes.on },
      },
      { settings: { roles } },
    );
    const peer = modern({}, { principal: reader, key: reader.id });
    peer.request('resources/list');
    await settled();
    await clock.advanceAsync(1_000);
    subscribes.hold();
    const notifications = { resourceSubscriptions: ['x://a', 'x://b'] };
    const listening = peer.request('subscriptions/listen', { notifications });
    await settled();
    expect([servers.a.heard('resources/subscribe').length, subscribes.waiting()]).toEqual([1, 1]);
    const { mcpServers } = config;
    await host.apply({
      mcpServers,
      hostTools: false,
      roles: { reader: { allow: ['resource:b/*'] } },
    });
    await subscribes.release();
    const [acknowledged] = listening.messages;
    expect(acknowledged).toMatchObject({
      params: { notifications: { resourceSubscriptions: ['x://b'] } },
    });
    expect(servers.a.heard('resources/unsubscribe')).toHaveLength(1);
  });
});
