// What a client says when it cancels a request reaches the server: everything in the notification but
// the id, which is the server's. What Holdfast cancels by itself says nothing more than the id. Real
// gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { type LegacyPeer, newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, type ScriptedServer, tool } from '../../test/support/scripted-server.ts';
import { maxCancelBytes } from './client-cancel.ts';

/** Answers no call. */
const silent: Script = { tools: [tool('a')], on: { 'tools/call': () => undefined } };

async function calling(script: Script = silent, config: object = {}) {
  const world = newGateway({ s: script }, { config: { s: config } });
  const peer = world.legacy();
  const call = (id: unknown) => peer.request('tools/call', { name: 's__a', arguments: {} }, id);
  call('mine');
  await settled();
  return { ...world, peer, call };
}

async function cancel(peer: LegacyPeer, params: string): Promise<void> {
  peer.note('notifications/cancelled', params);
  await settled();
}

/** The parameters of the one cancellation that was heard, as text. */
function heardBy(server: ScriptedServer): string | undefined {
  const [heard, ...more] = server.heard('notifications/cancelled');
  expect(more).toEqual([]);
  return heard?.text.match(/"params":(.*)\}$/)?.[1];
}

/** The same with the id that the server knows. */
function expected(server: ScriptedServer, params: string): string {
  return params.replace('"mine"', `${server.child.last('tools/call').id}`);
}

describe('a request that its client cancels', () => {
  it.each([
    '{"requestId":"mine","reason":"stop it"}',
    '{"reason":"\\u0041 \\"b\\" é","requestId":"mine"}',
    '{"requestId":"mine","reason":9007199254740993}',
    '{"requestId":"mine","reason":{"why":[1.0,null],"why":-0}}',
    '{"requestId":"mine","reason":null,"unknown":[true]}',
    '{"requestId":"mine","reason":"traced","_meta":{"traceparent":"00-1","x/y":1e400}}',
    '{"requestId":"mine"}',
    `{"requestId":"mine","reason":"${'x'.repeat(maxCancelBytes - 32)}"}`,
  ])('is cancelled at the server with the same words #byte-exact: %s', async (params) => {
    const { peer, servers } = await calling();
    await cancel(peer, params);
    expect(heardBy(servers.s)).toBe(expected(servers.s, params));
  });

  it('is cancelled with the same words at a server of the other era #byte-exact', async () => {
    const { peer, servers } = await calling({ ...silent, era: 'modern' });
    const params = '{"requestId":"mine","reason":"stop it"}';
    await cancel(peer, params);
    expect(heardBy(servers.s)).toBe(expected(servers.s, params));
  });

  it('is cancelled without what belongs to the hop between client and gateway', async () => {
    const { peer, servers } = await calling();
    const task = '"io.modelcontextprotocol/related-task":{"taskId":"t"}';
    await cancel(peer, `{"requestId":"mine","_meta":{"progressToken":1,${task}},"reason":"r"}`);
    expect(heardBy(servers.s)).toBe(expected(servers.s, '{"requestId":"mine","reason":"r"}'));
  });

  it('is cancelled without words that are too long #no-growth', async () => {
    const { peer, servers } = await calling();
    const reason = 'x'.repeat(maxCancelBytes);
    await cancel(peer, `{"requestId":"mine","reason":"${reason}"}`);
    expect(heardBy(servers.s)).toBe(expected(servers.s, '{"requestId":"mine"}'));
  });

  it('keeps line breaks out of the line #byte-exact', async () => {
    const { peer, servers } = await calling();
    await cancel(peer, '{"requestId":"mine","reason":[1,\r\n2]}');
    expect(heardBy(servers.s)).toBe(expected(servers.s, '{"requestId":"mine","reason":[1,  2]}'));
  });
});

describe('a request that several callers share', () => {
  it('is cancelled with the words of the last one that cancels', async () => {
    const { peer, servers, call } = await calling(silent, { tools: { a: { cacheMs: 60_000 } } });
    call('other');
    await settled();
    expect(servers.s.heard('tools/call')).toHaveLength(1);
    await cancel(peer, '{"requestId":"mine","reason":"first"}');
    expect(heardBy(servers.s)).toBeUndefined();
    await cancel(peer, '{"requestId":"other","reason":"last"}');
    expect(heardBy(servers.s)).toBe(expected(servers.s, '{"requestId":"mine","reason":"last"}'));
  });
});

describe('a request that Holdfast cancels', () => {
  it('says nothing but the id when the client has left', async () => {
    const { peer, servers } = await calling();
    peer.session.close();
    await settled();
    expect(heardBy(servers.s)).toBe(expected(servers.s, '{"requestId":"mine"}'));
  });

  it('says nothing but the id when its time is over', async () => {
    const { clock, host, servers } = await calling();
    await clock.advanceAsync(host.find('s').config.callTimeoutMs);
    await settled();
    expect(heardBy(servers.s)).toBe(expected(servers.s, '{"requestId":"mine"}'));
  });
});
