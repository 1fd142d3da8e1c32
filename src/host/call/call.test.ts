import { describe, expect, it } from 'vitest';
import { newHost, type WorldOptions } from '../../../test/support/fake-gateway.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { ErrorAnswer, type Script, text, tool } from '../../../test/support/scripted-server.ts';
import { CancelSignal } from '../../kernel/cancel-signal.ts';
import { Fault } from '../../kernel/fault.ts';
import { localUser } from '../../policy/principal.ts';
import type { Caller } from '../connections/caller.ts';
import { resultBytes } from './answer.ts';
import type { CallRequest } from './call-parts.ts';
import type { Operation } from './operation.ts';
import { toolCall } from './operation.ts';

function newWorld(script: Script, config: object = {}, options: WorldOptions = {}) {
  const world = newHost({ s: script }, { config: { s: config }, ...options });
  const carry = (operation: Operation, more: Partial<CallRequest> = {}) =>
    world.host.carry({ principal: localUser, server: 's', operation, ...more }).then(
      (answer) => resultBytes(answer).toString(),
      (thrown: unknown) => {
        if (!(thrown instanceof Fault)) throw thrown;
        return thrown;
      },
    );
  const server = world.host.find('s');
  return { ...world, carry, server };
}

const read: Operation = {
  method: 'resources/read',
  kind: 'resource',
  name: 'file:///a',
  args: '{}',
  params: { members: '"uri":"file:///a"' },
};

const caller = {
  principal: localUser,
  client: { key: 'ann', isAskedInCalls: false, hasRoots: () => false },
  capabilities: '{}',
  logLevel: undefined,
} as unknown as Caller;

/** Dies at the first call, answers the second. */
function dyingOnce(method = 'tools/call'): Script {
  let count = 0;
  return {
    tools: [tool('t'), tool('r', { annotations: { readOnlyHint: true } })],
    on: {
      [method]: (_heard, child) => {
        count += 1;
        return count === 1 ? void child.exit() : text('second');
      },
    },
  };
}

describe('a call through the pipeline', () => {
  it('gives the result’s bytes, and leaves its slot, its lease and its place', async () => {
    const result = '{"content":[],"n":1.0}';
    const { carry, server } = newWorld({
      tools: [tool('t')],
      on: { 'tools/call': () => result },
    });
    expect(await carry(toolCall('t', '{"a":1.0}'), { caller })).toBe(result);
    const { inFlight } = server.slots.current;
    expect([inFlight, server.supervisor.leases.held, server.admission.inside]).toEqual([0, 0, 0]);
  });

  it('that may have run is not repeated, unless it is safe', async () => {
    const never = newWorld(dyingOnce());
    const fault = never.carry(toolCall('t', '{}'), { caller });
    await never.clock.advanceAsync(10_000);
    expect(await fault).toMatchObject({ code: 'outcome_unknown', dispatched: 'maybe' });
    expect(never.servers.s.heard('tools/call').length).toBe(1);
    expect(never.server.slots.current.inFlight).toBe(0);

    const safe = newWorld(dyingOnce(), { tools: { t: { replay: 'safe' } } });
    const again = safe.carry(toolCall('t', '{}'), { caller });
    await safe.clock.advanceAsync(10_000);
    expect(await again).toBe(JSON.stringify(text('second')));
  });

  it('that only reads is repeated if the server is trusted, and names the key if not', async () => {
    const trusted = newWorld(dyingOnce(), { trusted: true });
    const again = trusted.carry(toolCall('r', '{}'));
    await trusted.clock.advanceAsync(10_000);
    expect(await again).toBe(JSON.stringify(text('second')));

    const stranger = newWorld(dyingOnce());
    const fault = stranger.carry(toolCall('r', '{}'));
    await stranger.clock.advanceAsync(10_000);
    expect(await fault).toMatchObject({ message: expect.stringContaining('"trusted": true') });
  });

  it('of a method that the protocol calls safe is repeated, of one nobody knows it is not', async () => {
    const known = newWorld(dyingOnce('resources/read'));
    const again = known.carry(read);
    await known.clock.advanceAsync(10_000);
    expect(await again).toBe(JSON.stringify(text('second')));

    const strange = newWorld(dyingOnce('vendor/do'));
    const fault = strange.carry({ method: 'vendor/do', kind: 'other', name: null, args: '{}' });
    await strange.clock.advanceAsync(10_000);
    expect(await fault).toMatchObject({ code: 'outcome_unknown' });
  });

  it('is repeated although the list could not be read when the server came back, once it can', async () => {
    const script = dyingOnce();
    let lists = 0;
    const moody: Script = {
      ...script,
      on: {
        ...script.on,
        'tools/list': () => {
          lists += 1;
          return lists === 2
            ? new ErrorAnswer({ code: -32603, message: 'not now' })
            : { tools: [tool('r', { annotations: { readOnlyHint: true } })] };
        },
      },
    };
    const { carry, clock } = newWorld(moody, { trusted: true });
    const again = carry(toolCall('r', '{}'));
    await clock.advanceAsync(10_000);
    expect(await again).toBe(JSON.stringify(text('second')));
  });

  it('is not repeated for a definition that changed meanwhile', async () => {
    const script = dyingOnce();
    const { carry, servers, clock } = newWorld(script, { trusted: true });
    const fault = carry(toolCall('r', '{}'));
    await settled();
    const tools = [tool('r', { title: 'another', annotations: { readOnlyHint: true } })];
    servers.s.script = { ...script, tools };
    await clock.advanceAsync(10_000);
    expect(await fault).toMatchObject({ code: 'outcome_unknown' });
    expect(servers.s.heard('tools/call').length).toBe(1);
  });

  it('ends in the server’s own error, which says nothing against the server', async () => {
    const { carry, server } = newWorld({
      tools: [tool('t')],
      on: { 'tools/call': () => new ErrorAnswer({ code: -5, message: 'bad', data: [1] }) },
    });
    for (let count = 0; count < 10; count++) {
      expect(await carry(toolCall('t', '{}'))).toMatchObject({
        code: 'rpc_error',
        record: { rpc: { code: -5, message: 'bad', data: [1] } },
      });
    }
    expect(server.supervisor.breaker.failures).toBe(0);
  });

  it('that its caller gives up is cancelled at the server and leaves nothing behind', async () => {
    const { carry, server, servers, clock } = newWorld({
      tools: [tool('t')],
      on: { 'tools/call': () => undefined },
    });
    const signal = new CancelSignal();
    const call = carry(toolCall('t', '{}'), { signal, caller });
    await settled();
    expect(server.slots.current.inFlight).toBe(1);
    signal.abort();
    expect(await call).toMatchObject({ code: 'cancelled' });
    await settled();
    expect(servers.s.child.heardAs('notifications/cancelled').length).toBe(1);
    expect([server.slots.current.inFlight, server.supervisor.leases.held]).toEqual([0, 0]);
    await clock.advanceAsync(600_000);
  });

  it('that was cancelled before it began is not sent', async () => {
    const { carry, servers } = newWorld({ tools: [tool('t')] });
    const signal = new CancelSignal();
    signal.abort();
    expect(await carry(toolCall('t', '{}'), { signal })).toMatchObject({
      code: 'cancelled',
      dispatched: 'no',
    });
    expect(servers.s.children).toEqual([]);
  });

  it('that takes too long is given up, and the process stays if it answers a probe', async () => {
    const { carry, servers, clock } = newWorld({
      tools: [tool('t')],
      on: { 'tools/call': () => undefined, ping: () => ({}) },
    });
    const call = carry(toolCall('t', '{}'));
    await clock.advanceAsync(60_000);
    expect(await call).toMatchObject({ code: 'timeout', dispatched: 'maybe' });
    expect([servers.s.children.length, servers.s.child.isGone]).toEqual([1, false]);
  });

  it('of a tool that the server does not list is refused, after looking once more', async () => {
    const { carry, servers } = newWorld({
      tools: [tool('t')],
      on: { 'tools/call': () => text('') },
    });
    expect(await carry(toolCall('tt', '{}'))).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('did you mean t?'),
    });
    expect(servers.s.heard('tools/list').length).toBe(2);
    servers.s.script = { ...servers.s.script, tools: [tool('t'), tool('tt')] };
    expect(await carry(toolCall('tt', '{}'))).toBe(JSON.stringify(text('')));
  });

  it('of a server that cannot list its tools is sent all the same', async () => {
    const { carry } = newWorld({
      on: {
        'tools/list': () => new ErrorAnswer({ code: -32603, message: 'broken' }),
        'tools/call': () => text('works'),
      },
    });
    expect(await carry(toolCall('t', '{}'))).toBe(JSON.stringify(text('works')));
  });

  it('that failed under a key gives the same outcome to a repeated call', async () => {
    const { carry } = newWorld(dyingOnce());
    const call = toolCall('t', '{}');
    const idempotencyKey = 'k';
    const both = [carry(call, { idempotencyKey }), carry(call, { idempotencyKey })];
    const story = { code: 'outcome_unknown', dispatched: 'maybe', attempts: 1, generation: 1 };
    for (const fault of await Promise.all(both)) expect(fault).toMatchObject({ record: story });
    expect(await carry(call, { idempotencyKey })).toMatchObject({ record: story });
  });

  it('runs once for a call id while that is known, with whichever key, and for a day with a key of its caller’s #broker-once', async () => {
    const { carry, servers, clock } = newWorld({
      tools: [tool('t')],
      on: { 'tools/call': () => text('') },
    });
    const callId = { id: 'letter', knownMs: 1_000 };
    const keyed = { callId, idempotencyKey: 'k' };
    const runs = () => servers.s.heard('tools/call').length;
    const call = toolCall('t', '{}');
    await carry(call, { callId });
    await carry(call, keyed);
    await carry(call, { callId, idempotencyKey: 'another' });
    clock.advance(999);
    await carry(call, { callId });
    expect(runs()).toBe(1);
    clock.advance(1);
    await carry(call, keyed);
    expect(runs()).toBe(2);
    await carry(call, { callId });
    await carry(call, { callId, idempotencyKey: 'another' });
    clock.advance(1_000);
    await carry(call, keyed);
    expect(runs()).toBe(2);
    clock.advance(1_000);
    await carry(call, { callId });
    expect(runs()).toBe(3);
  });

  it('runs once for a key of its caller’s, who gets the same answer again', async () => {
    const { carry, servers } = newWorld({
      tools: [tool('t')],
      on: { 'tools/call': () => text('') },
    });
    const once = { idempotencyKey: 'k' };
    expect(await carry(toolCall('t', '{"a":1}'), once)).toEqual(
      await carry(toolCall('t', '{"a":1}'), once),
    );
    expect(await carry(toolCall('t', '{"a":2}'), once)).toMatchObject({ code: 'conflict' });
    expect(servers.s.heard('tools/call').length).toBe(1);
  });
});
