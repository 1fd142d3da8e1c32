import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, tool } from '../../test/support/scripted-server.ts';

const times = { createdAt: 'x', lastUpdatedAt: 'x', ttl: null, pollInterval: 500 };
const taskServer: Script = {
  capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
  tools: [tool('work', { execution: { taskSupport: 'optional' } })],
  on: {
    'tools/call': () => ({ task: { taskId: 'task-1', status: 'working', ...times } }),
    'tasks/get': () => ({ taskId: 'task-1', status: 'working', ...times }),
  },
};
const askingServer: Script = {
  tools: [tool('t')],
  on: {
    'tools/call': (_heard, child) => {
      child.ask('q', 'elicitation/create', { message: 'who?', requestedSchema: {} });
      return undefined;
    },
  },
};

describe('a connection that we close ourselves', () => {
  it.each(['reload', 'stop'] as const)('by %s takes its tasks with it #tasks', async (how) => {
    const config = { a: { keepAliveMs: 1_000 } };
    const { legacy, servers, clock, host } = newGateway({ a: taskServer }, { config });
    const peer = legacy();
    const call = peer.request('tools/call', { name: 'a__work', task: { ttl: 60_000 } });
    await settled();
    const { task } = call.result as { task: { taskId: string } };
    const closed = host[how]('a');
    await clock.advanceAsync(30_000);
    await closed;
    const heldBy = [...host.find('a').slots.all()].map(({ supervisor }) => supervisor.leases.held);
    expect(heldBy.every((held) => held === 0)).toBe(true);
    const get = peer.request('tasks/get', { taskId: task.taskId });
    const list = peer.request('tasks/list');
    await settled();
    expect(get.answered.error).toMatchObject({ data: { code: 'outcome_unknown' } });
    expect(list.result).toEqual({ tasks: [] });
    await clock.advanceAsync(30_000);
    expect(servers.a.child.isGone).toBe(true);
  });

  it.each(['reload', 'stop'] as const)('by %s is not kept by its slot #no-growth', async (how) => {
    const { legacy, clock, host } = newGateway({ a: taskServer });
    legacy().request('tools/call', { name: 'a__work' });
    await settled();
    const [slot] = host.find('a').slots.all();
    const connection = slot?.supervisor.connection;
    if (!slot || !connection) throw new Error('the server was not started');
    expect(slot.isUnused(connection)).toBe(false);
    expect(slot.subscriptions.keeps(connection)).toBe(true);
    const closed = host[how]('a');
    await clock.advanceAsync(30_000);
    await closed;
    expect(slot.isUnused(connection)).toBe(true);
    expect(slot.subscriptions.keeps(connection)).toBe(false);
  });

  it('is the only one that is asked for its tasks, also while the next one is there #tasks', async () => {
    const slow: Script = {
      ...taskServer,
      tools: [...(taskServer.tools ?? []), tool('slow')],
      on: {
        ...taskServer.on,
        'tools/call': (heard, child) =>
          heard.params['name'] === 'slow'
            ? undefined
            : taskServer.on?.['tools/call']?.(heard, child),
      },
    };
    const { legacy, servers, clock, host } = newGateway({ a: slow });
    const peer = legacy();
    const call = peer.request('tools/call', { name: 'a__work', task: { ttl: 60_000 } });
    // As long as this one runs, the old process is still there.
    peer.request('tools/call', { name: 'a__slow' });
    await settled();
    const { task } = call.result as { task: { taskId: string } };
    const reloaded = host.reload('a');
    await settled();
    const get = peer.request('tasks/get', { taskId: task.taskId });
    await clock.advanceAsync(30_000);
    await reloaded;
    expect(servers.a.children.slice(1).flatMap((child) => child.heardAs('tasks/get'))).toEqual([]);
    expect(get.answers).toHaveLength(1);
  });

  it('withdraws what its server has asked', async () => {
    const { legacy, clock, host } = newGateway({ a: askingServer });
    const peer = legacy({ elicitation: {} });
    const call = peer.request('tools/call', { name: 'a__t' });
    await clock.advanceAsync(600);
    const [asked] = call.messages as { id: unknown }[];
    const closed = host.stop('a');
    await clock.advanceAsync(10_000);
    await closed;
    expect([...call.messages, ...peer.messages]).toContainEqual({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: expect.objectContaining({ requestId: asked?.id }),
    });
  });
});
