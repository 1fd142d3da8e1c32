// What the gateway keeps for a principal over HTTP ends with its access: parked calls, and connections of
// its own. The local user on a stdio connection is not the one whose token was revoked. Real gateway and
// host, scripted servers.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, tool } from '../../test/support/scripted-server.ts';
import { cutBy, localUser, verifiedPrincipal } from '../policy/principal.ts';

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
    expect(anns.call.answers).toEqual([]);
    expect(bobs.listening.answers).toEqual([]);
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
