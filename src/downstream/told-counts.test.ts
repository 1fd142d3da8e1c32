// What the numbers of health_snapshot and telemetry_snapshot count: an operator sees those of everybody, as far as
// it sees the tools; anybody else its own calls, and nothing that others do. A path that narrows takes the rights
// of an operator away, beyond what it leaves.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import type { FullHealth } from '../host-tools/health.ts';
import type { FullTelemetry } from '../host-tools/telemetry.ts';
import { type Cut, localUser, type Principal, verifiedPrincipal } from '../policy/principal.ts';

const tools = ['a', 'b', 'c'].map((name) => tool(name, { annotations: { readOnlyHint: true } }));
const answering: Script = { tools, on: { 'tools/call': () => text('done') } };
const dying: Script = {
  tools: [tool('x'), tool('hang')],
  on: { 'tools/call': ({ params }, child) => void (params['name'] === 'x' && child.exit()) },
};

const roles = {
  reader: { allow: ['open/a', 'holdfast/*'] },
  everything: { allow: ['*'] },
  operator: { allow: ['open/a', 'open/b', 'holdfast/*'], operator: true },
};

async function world() {
  const config = { open: { trusted: true, tools: { a: { cacheMs: 60_000 } } } };
  const gateway = newGateway(
    { open: answering, hidden: dying },
    { config, settings: { roles, hostTools: true } },
  );
  const { host, legacy, clock } = gateway;
  const principal = (role: keyof typeof roles, id = `token:${role}`) =>
    verifiedPrincipal(id, role, () => host.access.roles.isOperator(role));
  const call = async (who: Principal, name: string, args: object = {}) => {
    const reply = legacy({}, who).request('tools/call', { name, arguments: args });
    await settled();
    await clock.advanceAsync(1_000);
    await settled();
    return reply;
  };
  const snapshot = async <T>(who: Principal, name: string, prefix = 'holdfast__') => {
    const args = { render: 'json', detail: 'full' };
    const { result } = await call(who, `${prefix}${name}`, args);
    return result['structuredContent'] as T;
  };
  const lines = async (who: Principal) => {
    const { result } = await call(who, 'holdfast__health_snapshot', { detail: 'full' });
    return JSON.stringify(result);
  };
  return {
    ...gateway,
    principal,
    call,
    lines,
    health: (who: Principal) => snapshot<FullHealth>(who, 'health_snapshot'),
    telemetry: (who: Principal) => snapshot<FullTelemetry>(who, 'telemetry_snapshot'),
    narrowed: (who: Principal, cut: Cut) => {
      const narrow = gateway.gateway.narrowed(who, cut);
      if (!narrow) throw new Error('nothing is left');
      return narrow;
    },
  };
}

/** Others have called what the reader sees and what it does not, before it came. */
async function busy() {
  const at = await world();
  for (let time = 0; time < 5; time += 1) {
    await at.call(localUser, 'open__a', { time });
    await at.call(localUser, 'open__b', { time });
  }
  await at.call(localUser, 'hidden__x');
  return at;
}

describe('the numbers of somebody who is no operator', () => {
  it.each(['reader', 'everything'] as const)('are of its own calls: %s #own-view', async (role) => {
    const { principal, call, health, telemetry } = await busy();
    const who = principal(role);
    await call(who, 'open__a', { own: 1 });
    await call(principal(role, 'token:other'), 'open__a', { own: 2 });
    const { status } = await health(who);
    expect(status.calls).toMatchObject({ total: 1, ok: 1, faults: 0 });
    const { requests, successes, transportFaults, methods, inFlight } = await telemetry(who);
    // The call, the health, and the telemetry itself, which is under way.
    expect({ requests, successes, transportFaults, inFlight }).toEqual({
      ...{ requests: 3, successes: 2, transportFaults: 0, inFlight: 1 },
    });
    expect(methods.map(({ method, requests }) => [method, requests])).toEqual([
      ['tools/call:holdfast/health_snapshot', 1],
      ['tools/call:open/a', 1],
    ]);
  });

  it('leave out what counts the work of others #own-view', async () => {
    const { principal, health, telemetry, lines } = await busy();
    const who = principal('reader');
    const { status, lastFault } = await health(who);
    expect(lastFault).toBeNull();
    expect(status).not.toHaveProperty('cache');
    expect(status).not.toHaveProperty('internalErrors');
    expect(Object.keys(status.audit)).toEqual(['mode', 'problem']);
    for (const key of ['inFlight', 'queued', 'cacheEntries']) {
      expect(status.servers[0]).not.toHaveProperty(key);
    }
    expect((await telemetry(who)).lastFault).toBeNull();
    expect(await lines(who)).not.toMatch(/cache_|undefined|NaN/);
  });

  it('count the tools that it sees #own-view', async () => {
    const { principal, health } = await busy();
    const toolsOf = async (who: Principal) => {
      const { servers } = (await health(who)).status;
      return servers.map(({ name, tools }) => [name, tools]);
    };
    expect(await toolsOf(principal('reader'))).toEqual([['open', 1]]);
    expect(await toolsOf(principal('operator'))).toEqual([['open', 2]]);
    expect(await toolsOf(localUser)).toEqual([
      ['hidden', 2],
      ['open', 3],
    ]);
  });

  it('say of its last fault, not of that of another #own-view', async () => {
    const { principal, call, health } = await busy();
    const [one, other] = [principal('everything'), principal('everything', 'token:other')];
    await call(one, 'open__a', {});
    await call(other, 'hidden__x');
    expect((await health(other)).lastFault).toMatchObject({ server: 'hidden' });
    const { status } = await health(one);
    expect(status.calls.faults).toBe(0);
  });
});

describe('the numbers of an operator', () => {
  it('are of everybody’s calls of the tools that it sees #own-view', async () => {
    const { principal, health, telemetry } = await busy();
    const who = principal('operator');
    const { status, lastFault } = await health(who);
    expect(lastFault).toBeNull();
    expect(status.calls).toMatchObject({ total: 10, ok: 10, faults: 0 });
    expect(status).not.toHaveProperty('cache');
    expect(status.servers).toMatchObject([{ name: 'open', inFlight: 0, cacheEntries: 5 }]);
    const { requests, methods, transportFaults } = await telemetry(who);
    expect({ requests, transportFaults }).toEqual({ requests: 11, transportFaults: 0 });
    expect(methods.map(({ method }) => method)).toEqual([
      'tools/call:open/a',
      'tools/call:open/b',
      'tools/call:holdfast/health_snapshot',
    ]);
  });

  it('are all, for the local user #own-view', async () => {
    const { health, telemetry } = await busy();
    const { status, lastFault } = await health(localUser);
    expect(lastFault).toMatchObject({ server: 'hidden' });
    expect(status.calls).toMatchObject({ total: 11, faults: 1 });
    expect(status.cache).toMatchObject({ entries: 5 });
    expect((await telemetry(localUser)).transportFaults).toBe(1);
  });
});

describe('what a role does not allow', () => {
  it('counts in no number of its operator: calls, calls under way, restarts #roles-deny #own-view', async () => {
    const { principal, call, telemetry } = await busy();
    await call(localUser, 'hidden__x');
    await call(localUser, 'hidden__hang');
    // Under way are the telemetry itself and the call that hangs.
    const all = { requests: 14, inFlight: 2, workerRestarts: 2 };
    expect(await telemetry(localUser)).toMatchObject(all);
    const { requests, inFlight, workerRestarts } = await telemetry(principal('operator'));
    expect({ requests, inFlight, workerRestarts }).toEqual({
      ...{ requests: 11, inFlight: 0, workerRestarts: 0 },
    });
  });

  it('is not told by its name to who has called it before #policy-at-once #own-view', async () => {
    const { principal, call, health, telemetry, host, config } = await busy();
    const who = principal('everything');
    await call(who, 'hidden__x');
    expect((await health(who)).lastFault).toMatchObject({ server: 'hidden', tool: 'x' });
    expect(JSON.stringify((await telemetry(who)).methods)).toContain('hidden/x');
    const { mcpServers } = config;
    const everything = { allow: ['open/*', 'holdfast/*'] };
    await host.apply({ mcpServers, roles: { ...roles, everything }, hostTools: true });
    expect((await health(who)).lastFault).toBeNull();
    const told = await telemetry(who);
    expect(told.lastFault).toBeNull();
    expect(JSON.stringify(told)).not.toContain('hidden');
  });
});

describe('an operator behind a path that narrows', () => {
  it('to a role that is none is none #path-takes-away', async () => {
    const { principal, narrowed, health } = await busy();
    for (const owner of [localUser, principal('operator')]) {
      const narrow = narrowed(owner, { kind: 'role', name: 'reader' });
      const { status } = await health(narrow);
      expect(status.servers).toMatchObject([{ name: 'open', pid: null, stderr: [], children: [] }]);
      expect(status.calls.total).toBe(0);
      expect(status).not.toHaveProperty('cache');
    }
  });

  it('to a role of operators is one of what both see, and of nothing beyond #path-takes-away', async () => {
    const { principal, narrowed, health } = await busy();
    const narrow = narrowed(localUser, { kind: 'role', name: 'operator' });
    const { status } = await health(narrow);
    expect(status.servers).toMatchObject([{ name: 'open', pid: expect.any(Number), tools: 2 }]);
    expect(status.calls.total).toBe(10);
    expect(status).not.toHaveProperty('cache');
    // The role of the path gives nothing that its owner has not.
    const reader = narrowed(principal('reader'), { kind: 'role', name: 'operator' });
    expect((await health(reader)).status.servers).toMatchObject([{ pid: null, tools: 1 }]);
  });

  it('to one server is one of that server #path-takes-away', async () => {
    const { narrowed, call, principal } = await world();
    const there = narrowed(localUser, { kind: 'server', name: 'hidden' });
    const faultOf = ({ result }: { result: Record<string, unknown> }) =>
      (result['_meta'] as { 'holdfast/fault': { detail: string } })['holdfast/fault'].detail;
    const whole = faultOf(await call(localUser, 'hidden__x'));
    expect(faultOf(await call(there, 'x'))).toBe(whole);
    const other = principal('everything');
    expect(faultOf(await call(other, 'hidden__x'))).not.toBe(whole);
  });
});
