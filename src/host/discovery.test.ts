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

  it('leaves out what its asker may not use #guard', async () => {
    const { store } = await keptOf({ a: { tools: [tool('x'), tool('hidden')] } });
    const { host } = newHost({ a: scripts.a }, { store });
    host.setGuard((_principal, _server, name) =>
      name === 'hidden' ? { allow: false, reason: 'no' } : { allow: true },
    );
    const found = await host.discover({ kept: true });
    expect(found.map((one) => ('tool' in one ? one.tool : one))).toEqual(['x']);
  });
});

describe('looking around with a role', () => {
  it('starts no server of which the role sees nothing, and names none #roles-deny', async () => {
    const { host, servers } = newHost(
      { a: scripts.a, b: { on: { initialize: (_heard, child) => void child.exit() } } },
      { settings: { roles: { r: { allow: ['a/*'] }, all: { allow: ['*'] } } } },
    );
    const all = { principal: { id: 'token:all', role: 'all' } };
    const own = { principal: { id: 'token:r', role: 'r' } };
    expect(await host.discover(own)).toMatchObject([{ server: 'a', tool: 'x' }]);
    const { outcome, errors } = await host.search('x', own);
    expect([outcome.kind, errors]).toEqual(['found', []]);
    expect(servers.b.children).toEqual([]);
    expect(await host.discover(all)).toMatchObject([{ server: 'a' }, { server: 'b', error: {} }]);
  });
});

describe('a tool that only some clients are offered', () => {
  /** Offers `b` beside `a` to clients that can be asked for sampling. */
  const choosy: Script = {
    on: {
      'tools/list': (_heard, child) => {
        const [{ params } = { params: {} }] = child.heardAs('initialize');
        const { capabilities = {} } = params as { capabilities?: object };
        return { tools: 'sampling' in capabilities ? [tool('a'), tool('b')] : [tool('a')] };
      },
    },
  };

  /** A host beside a gateway that these clients have used. */
  async function hostAfter(clients: readonly object[]) {
    const { store, legacy } = newGateway({ s: choosy });
    for (const capabilities of clients) {
      legacy(capabilities).request('tools/list');
      await settled();
    }
    return newHost({ s: choosy }, { store }).host;
  }

  const rich = { sampling: { tools: {} }, elicitation: {} };

  it('is marked with their capabilities where it is shown from a stored list #classes', async () => {
    const host = await hostAfter([rich]);
    expect(await host.tools('s', { kept: true })).toMatchObject([{ name: 'a' }, { name: 'b' }]);
    expect(host.capabilitiesBehind('s', 'b')).toEqual(['elicitation', 'sampling']);
    expect(host.capabilitiesBehind('s', 'a')).toEqual(['elicitation', 'sampling']);
  });

  it('is told apart from one that clients without capabilities are offered too #classes', async () => {
    const host = await hostAfter([{}, rich]);
    expect(await host.tools('s', { kept: true })).toMatchObject([{ name: 'a' }, { name: 'b' }]);
    expect(host.capabilitiesBehind('s', 'b')).toEqual(['elicitation', 'sampling']);
    expect(host.capabilitiesBehind('s', 'a')).toEqual([]);
  });

  /** Of a host whose latest client has no capabilities. */
  async function unknownTo(tool: string, config = {}) {
    const { host, legacy } = newGateway({ s: choosy }, { config: { s: config } });
    for (const capabilities of [rich, {}]) {
      legacy(capabilities).request('tools/list');
      await settled();
    }
    return (await host.unknownTool('s', tool)).message;
  }

  it('is not unknown, but offered to other clients #classes', async () => {
    expect(await unknownTo('b')).toBe(
      "Unknown tool: s has no tool 'b' for this client; it has listed it to clients with other capabilities, such as roots, sampling or elicitation",
    );
    expect(await unknownTo('other')).toBe(
      "Unknown tool: s has no tool 'other'; run: holdfast tools s",
    );
  });

  it('is unknown to all where the config hides it #classes', async () => {
    const config = { tools: { b: { hidden: true } } };
    expect(await unknownTo('b', config)).not.toContain('clients');
  });
});
