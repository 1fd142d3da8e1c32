// What the gateway keeps for a principal over HTTP ends with its access: parked calls, and connections of
// its own. What runs is answered with an error. The local user on a stdio connection is not the one whose token
// was revoked. Real gateway and host, scripted servers.

import { describe, expect, it } from 'vitest';
import { newGateway, RecordedReply, settled } from '../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import type { Client } from '../host/connections/caller.ts';
import { cutBy, localUser, verifiedPrincipal } from '../policy/principal.ts';
import { scanMessage } from '../wire/scan.ts';
import { endAccess } from './access-ended.ts';
import { Incoming } from './incoming.ts';

/** Asks its client in every call, and never answers. */
const asking: Script = {
  tools: [tool('t')],
  on: {
    'tools/call': (heard, child) => {
      child.ask(`q${heard.id}`, 'elicitation/create', { message: '?' });
      return undefined;
    },
  },
};
const able = { elicitation: {} };
const ann = verifiedPrincipal('token:ann', 'r', () => false);
const bob = verifiedPrincipal('token:bob', 'r', () => false);

function world() {
  const made = newGateway({ s: asking }, { config: { s: { isolation: 'client' } } });
  made.host.setGuard(() => ({ allow: true }));
  const parked = async (principal = localUser, key = principal.id, name = 's__t') => {
    const reply = made.modern(able, { principal, key }).call(name);
    await settled();
    expect(reply.result).toMatchObject({ resultType: 'input_required' });
  };
  return { ...made, parked };
}

describe('when the access of a principal ends', () => {
  it('its parked calls and connections end, under every path, and no others #revoked', async () => {
    const { gateway, host, parked } = world();
    await parked(ann);
    const cut = cutBy(ann, { kind: 'server', name: 's' });
    await parked(cut, cut.id, 't');
    await parked(bob);
    const open = () => [...host.find('s').slots.all()].length;
    const before = open();
    expect(gateway.kept).toMatchObject({ parked: 3, clients: 3 });
    gateway.accessEnded(new Set(['token:ann']));
    await settled();
    expect(gateway.kept).toMatchObject({ parked: 1, clients: 1 });
    expect(open()).toBe(before - 2);
  });

  it('all of it ends, although the answer to one of its requests cannot be given #revoked', async () => {
    const script: Script = { tools: [tool('t')], on: { 'tools/call': () => undefined } };
    const { gateway, host, modern, servers } = newGateway({ s: script });
    host.setGuard(() => ({ allow: true }));
    const peer = modern({}, { principal: ann, key: ann.id });
    const replies = [peer.call('s__t'), peer.call('s__t')];
    await settled();
    const [first, second] = replies;
    if (first) {
      first.answer = () => {
        throw new Error('half-way');
      };
    }
    gateway.accessEnded(new Set([ann.id]));
    await settled();
    expect(second?.answers).toHaveLength(1);
    expect(servers.s.heard('notifications/cancelled')).toHaveLength(2);
    expect([gateway.kept['clients'], host.defects.total]).toEqual([0, 1]);
  });

  it('its running calls and streams end, whichever connection they are on #revoked', async () => {
    const script: Script = { tools: [tool('t')], on: { 'tools/call': () => undefined } };
    const { gateway, host, modern, servers } = newGateway({ s: script });
    host.setGuard(() => ({ allow: true }));
    const begin = (principal: typeof ann) => {
      const peer = modern({}, { principal, key: principal.id });
      const notifications = { toolsListChanged: true };
      const listening = peer.request('subscriptions/listen', { notifications });
      return { listening, call: peer.call('s__t') };
    };
    const [anns, bobs] = [begin(ann), begin(bob)];
    await settled();
    const before = gateway.kept;
    gateway.accessEnded(new Set(['token:ann']));
    await settled();
    expect(gateway.kept).toMatchObject({ requests: (before['requests'] ?? 0) / 2 });
    expect(servers.s.heard('notifications/cancelled')).toHaveLength(1);
    expect(anns.call.answered.error).toMatchObject({
      code: -32000,
      message: expect.stringMatching(/^Unauthorized: .* may have run/),
    });
    expect(anns.listening.answered.error).toMatchObject({ code: -32000 });
    expect([...bobs.listening.answers, ...bobs.call.answers]).toEqual([]);
    // What its server answers nevertheless goes nowhere.
    const { child } = servers.s;
    for (const heard of servers.s.heard('tools/call')) child.answer(heard, text('late'));
    await settled();
    expect(anns.call.answers).toHaveLength(1);
    expect(bobs.call.result).toBeDefined();
  });

  it('its sessions end with an answer to each request #revoked', async () => {
    const script: Script = { tools: [tool('t')], on: { 'tools/call': () => undefined } };
    const { host, gateway, servers } = newGateway({ s: script });
    host.setGuard(() => ({ allow: true }));
    const session = gateway.openSession(ann, { send: () => {} });
    const say = (id: number, method: string, params: object) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const reply = new RecordedReply();
      session.receive(scanMessage(Buffer.from(text)), reply);
      return reply;
    };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
    say(1, 'initialize', params);
    await settled();
    const call = say(2, 'tools/call', { name: 's__t' });
    await settled();
    expect(servers.s.heard('tools/call')).toHaveLength(1);
    session.endAccess?.();
    await settled();
    expect(call.answered).toMatchObject({
      id: 2,
      error: { code: -32000, message: expect.stringContaining('may have run') },
    });
    expect(servers.s.heard('notifications/cancelled')).toHaveLength(1);
    expect(gateway.kept).toMatchObject({ sessions: 0 });
  });

  it.each([
    ['tools/call', false, 'was not sent'],
    ['tools/call', true, 'may have run'],
    ['resources/subscribe', false, 'may have run'],
  ])('a %s (carried: %s) is told that it %s #revoked', (method, isCarried, told) => {
    const reply = new RecordedReply();
    const client = { key: ann.id } as Client;
    const message = scanMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method })));
    const from = {
      principal: ann,
      client,
      era: 'modern',
      capabilities: '{}',
      logLevel: undefined,
    } as const;
    const incoming = new Incoming(message, from, reply);
    incoming.isCarried = isCarried;
    endAccess(incoming);
    endAccess(incoming);
    expect(reply.answered.error).toMatchObject({ message: expect.stringContaining(told) });
    expect(incoming.cancelSignal.aborted).toBe(true);
  });

  it('and it is the local user, its windows go on #revoked', async () => {
    const { gateway, parked } = world();
    await parked(localUser, 'stdio');
    await parked(localUser, 'local');
    gateway.accessEnded(new Set(['local']));
    await settled();
    expect(gateway.kept).toMatchObject({ parked: 1, clients: 1 });
  });
});
