import { describe, expect, it } from 'vitest';
import { newGateway, newHost, settled } from '../../test/support/fake-gateway.ts';
import { type Script, tool } from '../../test/support/scripted-server.ts';

const hanging: Script = { on: { 'tools/list': () => undefined } };
const scripts = { a: { tools: [tool('x')] }, b: { tools: [tool('y')] } } as const;

/** What a gateway has kept of the servers. */
async function keptOf(of: Readonly<Record<string, Script>>) {
  const { store, legacy, clock } = newGateway(of);
  legacy().request('tools/list');
  await settled();
  return { store, listedAt: clock.wallNow() };
}

describe('looking around with what is kept', () => {
  it('starts nothing, and says how old it is #first-list', async () => {
    const { store, listedAt } = await keptOf(scripts);
    const { host, servers } = newHost(scripts, { store });
    const found = await host.discover({ kept: true });
    const kept = { listedAt };
    expect(found).toMatchObject([
      { server: 'a', tool: 'x', kept },
      { server: 'b', tool: 'y', kept },
    ]);
    const searched = await host.search('x', { kept: true });
    expect(searched.outcome).toMatchObject({ kind: 'found', hits: [{ server: 'a', tool: 'x' }] });
    expect(searched.kept.get('a')).toEqual(kept);
    expect(await host.tools('a', { kept: true })).toMatchObject([{ name: 'x' }]);
    expect(host.keptMark('a')).toEqual(kept);
    expect([servers.a.children, servers.b.children]).toEqual([[], []]);
  });

  it('asks a server of which nothing is kept, and waits as long as it may start #first-list', async () => {
    const { store } = await keptOf({ a: scripts.a });
    const { host, servers, clock } = newHost({ a: scripts.a, b: hanging }, { store });
    const finding = host.discover({ kept: true });
    await clock.advanceAsync(9_000);
    await clock.advanceAsync(6_000);
    const { child } = servers.b;
    child.answer(child.last('tools/list'), { tools: [tool('y')] });
    const found = await finding;
    expect(found).toMatchObject([
      { server: 'a', tool: 'x' },
      { server: 'b', tool: 'y' },
    ]);
    expect(found[1]).not.toHaveProperty('kept');
    expect(host.keptMark('b')).toBeUndefined();
    expect(servers.a.children).toEqual([]);
  });

  it('leaves out what its asker may not use', async () => {
    const { store } = await keptOf({ a: { tools: [tool('x'), tool('hidden')] } });
    const { host } = newHost({ a: scripts.a }, { store });
    host.setGuard((_principal, _server, name) =>
      name === 'hidden' ? { allow: false, reason: 'no' } : { allow: true },
    );
    const found = await host.discover({ kept: true });
    expect(found.map((one) => ('tool' in one ? one.tool : one))).toEqual(['x']);
  });
});
