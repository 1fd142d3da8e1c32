// Guard, budgets, cache, idempotency keys, discovery and the pool of undeclared servers, through a
// host with real servers behind it.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host, ServerSpec } from '../../src/host/host.ts';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { faultOf, hostWith, processesWith, statusOf, textOf } from '../support/host.ts';
import { executions, readStarts, received } from '../support/ledger.ts';
import { until } from '../support/until.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let host: Host;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await host.close();
  await folder[Symbol.asyncDispose]();
});

function server(entry: Readonly<Record<string, unknown>> = {}) {
  const ledger = folder.file('ledger');
  const starts = folder.file('starts');
  return { ...faultyStdio({ ledger, starts, era: 'modern' }), ...entry };
}

describe('the cache', () => {
  it('set 1, set 2, set 1 on an idempotent tool runs three times #cache-rules', async () => {
    host = await hostWith({ box: server({ trusted: true }) });
    for (const [n, value] of [1, 2, 1].entries()) {
      await host.call('box', 'set', { key: 'k', value, nonce: `s${n}` });
    }
    const runs = ['s0', 's1', 's2'].map((nonce) => executions(folder.file('ledger'), nonce));
    expect(runs).toEqual([1, 1, 1]);
    const same = { key: 'k', value: 1, nonce: 'same' };
    await Promise.all([host.call('box', 'set', same), host.call('box', 'set', same)]);
    await host.call('box', 'set', same);
    expect(executions(folder.file('ledger'), 'same')).toBe(3);
    expect(host.cacheStats()).toMatchObject({ hits: 0, entries: 0 });
  });

  it('keeps a trusted read for its own time, shares one flight, and survives an open circuit #cache-rules #call-order', async () => {
    host = await hostWith({ box: server({ trusted: true, circuit: { threshold: 1 } }) });
    await host.call('box', 'echo', { text: 'up' });
    const args = { ttlMs: 60_000, cacheScope: 'public', nonce: 'c' };
    const [first, second] = await Promise.all([
      host.callRaw('box', 'cached', JSON.stringify(args)),
      host.callRaw('box', 'cached', '{"nonce":"c","cacheScope":"public","ttlMs":60000}'),
    ]);
    expect(second?.equals(first as Buffer)).toBe(true);
    expect(received(folder.file('ledger'), 'c')).toBe(1);
    const trip = host.call('box', 'slow', { ms: 60_000 }, { timeoutMs: 50 });
    expect((await faultOf(trip)).code).toBe('timeout');
    expect((await faultOf(host.call('box', 'echo', { text: 'x' }))).code).toBe('circuit_open');
    expect(
      (await host.callRaw('box', 'cached', JSON.stringify(args))).equals(first as Buffer),
    ).toBe(true);
    await host.reload('box');
    expect(host.cacheStats().entries).toBe(0);
  });

  it('keeps nothing of an untrusted server, unless the operator says so #cache-rules', async () => {
    host = await hostWith({ box: server({ tools: { get: { cacheMs: 60_000 } } }) });
    await host.call('box', 'echo', { text: 'up' });
    for (const nonce of ['a', 'a']) await host.call('box', 'cached', { ttlMs: 60_000, nonce });
    expect(received(folder.file('ledger'), 'a')).toBe(2);
    for (const nonce of ['b', 'b']) await host.call('box', 'get', { key: 'k', nonce });
    expect(received(folder.file('ledger'), 'b')).toBe(1);
  });

  it('arguments that differ only above 2^53 never share a result, nor do two principals #cache-keys', async () => {
    host = await hostWith({ box: server({ tools: { echo: { cacheMs: 60_000 } } }) });
    host.setGuard(() => ({ allow: true }));
    await host.call('box', 'echo', { text: 'up' });
    const one = await host.callRaw('box', 'echo', '{"id":9007199254740992}');
    const other = await host.callRaw('box', 'echo', '{"id":9007199254740993}');
    expect(one.toString()).toContain('9007199254740992');
    expect(other.toString()).toContain('9007199254740993');
    const before = host.cacheStats().hits;
    const principal = { id: 'other', role: null };
    await host.callRaw('box', 'echo', '{"id":9007199254740993}', { principal });
    expect(host.cacheStats().hits).toBe(before);
    await host.callRaw('box', 'echo', '{"id":9007199254740993}', { principal });
    expect(host.cacheStats().hits).toBe(before + 1);
  });
});

describe('budgets', () => {
  it('the third call of a budget of two is refused even on a hit, and a nested scope restores #budget', async () => {
    host = await hostWith({ box: server({ tools: { get: { cacheMs: 60_000 } } }) });
    await host.call('box', 'get', { key: 'k' });
    await host.withBudget({ calls: 2 }, async () => {
      await host.call('box', 'get', { key: 'k' });
      await host.withBudget({ calls: 1 }, async () => {
        await host.call('box', 'get', { key: 'k' });
        expect((await faultOf(host.call('box', 'get', { key: 'k' }))).code).toBe('budget_exceeded');
      });
      await host.call('box', 'get', { key: 'k' });
      const fault = await faultOf(host.call('box', 'get', { key: 'k' }));
      expect(fault.record).toMatchObject({
        code: 'budget_exceeded',
        limit: 'calls',
        limitValue: 2,
        spent: 2,
        dispatched: 'no',
      });
    });
    await host.call('box', 'get', { key: 'k' });
  });
});

describe('the guard', () => {
  it('denies before anything is charged, started or known, on every path #guard', async () => {
    host = await hostWith({ box: server(), other: server() });
    host.setGuard((_, name, tool) =>
      name === 'box' && tool !== 'add' ? { allow: true } : { allow: false, reason: 'not yours' },
    );
    await host.withBudget({ calls: 1 }, async () => {
      for (const name of ['other', 'nowhere']) {
        const fault = await faultOf(host.call(name, 'echo', { text: 'x' }));
        expect(fault.code).toBe('denied');
        expect(fault.message).toMatch(/is not allowed: not yours/);
      }
      expect(readStarts(folder.file('starts'))).toHaveLength(0);
      await host.call('box', 'echo', { text: 'x' });
    });
    expect((await faultOf(host.call('box', 'add', { key: 'k', amount: 1 }))).code).toBe('denied');
    const found = await host.discover();
    expect(found.some((entry) => entry.server === 'other')).toBe(false);
    expect(found.some((entry) => 'tool' in entry && entry.tool === 'add')).toBe(false);
    const tools = await host.tools('box');
    expect(tools.some(({ name }) => name === 'add')).toBe(false);
    const { outcome } = await host.search('add amount');
    expect(outcome.kind === 'found' && outcome.hits.some(({ tool }) => tool === 'add')).toBe(false);
    expect((await faultOf(host.spawn({ name: 'new', command: 'node' }))).code).toBe('denied');
    host.setGuard(null);
    await host.call('other', 'echo', { text: 'x' });
  });

  it('a hidden tool and one that does not exist answer alike #guard', async () => {
    host = await hostWith({ box: server({ tools: { add: { hidden: true } } }) });
    const hidden = await faultOf(host.call('box', 'add', { key: 'k', amount: 1 }));
    const absent = await faultOf(host.call('box', 'adx', { key: 'k', amount: 1 }));
    expect(hidden.code).toBe('not_found');
    expect(absent.code).toBe('not_found');
    expect((await host.tools('box')).some(({ name }) => name === 'add')).toBe(false);
  });
});

describe('an idempotency key', () => {
  it('runs a call once, joins while it runs, answers from memory, refuses other arguments #idempotency-key', async () => {
    host = await hostWith({ box: server() });
    const args = { key: 'k', amount: 1, nonce: 'keyed' };
    const options = { idempotencyKey: 'order-1' };
    const [a, b] = await Promise.all([
      host.call('box', 'add', args, options),
      host.call('box', 'add', args, options),
    ]);
    const c = await host.call('box', 'add', { nonce: 'keyed', amount: 1, key: 'k' }, options);
    expect([b, c]).toEqual([a, a]);
    expect(executions(folder.file('ledger'), 'keyed')).toBe(1);
    const other = host.call('box', 'add', { ...args, amount: 2 }, options);
    expect((await faultOf(other)).code).toBe('conflict');
  });

  it('answers an unknown outcome again with the same fault, and does not run #idempotency-key #never-twice', async () => {
    host = await hostWith({ box: server() });
    const crash = { kind: 'crash-after-effect', once: folder.file('crashed') };
    const args = { key: 'k', amount: 1, nonce: 'lost', fault: crash };
    const options = { idempotencyKey: 'order-2' };
    for (let n = 0; n < 2; n += 1) {
      expect((await faultOf(host.call('box', 'add', args, options))).code).toBe('outcome_unknown');
    }
    expect(executions(folder.file('ledger'), 'lost')).toBe(1);
  });
});

describe('discovery', () => {
  it('with one hanging server ends at its deadline with an inline error #discovery', async () => {
    const hangs = { kind: 'hang', when: 'at-start' } as const;
    host = await hostWith({
      good: server(),
      hung: faultyStdio({ faults: [hangs] }),
      gone: { command: 'no-such-program' },
    });
    const found = await host.discover({ deadlineMs: 1_500 });
    expect(found.filter(({ server: name }) => name === 'good').length).toBeGreaterThan(5);
    const errors = found.filter((entry) => 'error' in entry);
    expect(errors.map(({ server: name }) => name)).toEqual(['gone', 'hung']);
    expect(errors.map((entry) => 'error' in entry && entry.error.code)).toEqual([
      'unavailable',
      'timeout',
    ]);
  });

  it('follows all pages, tells whose tool it is, and notices a change #discovery', async () => {
    const control = folder.file('control');
    const many = { kind: 'many-tools', count: 250, pageSize: 100 } as const;
    host = await hostWith({ box: faultyStdio({ faults: [many], control }) });
    const tools = await host.tools('box');
    expect(tools).toHaveLength(264);
    expect(tools.every((tool) => tool['_mcp_server'] === 'box')).toBe(true);
    const endless = { kind: 'endless-cursor', sameCursor: true } as const;
    host.setGuard(null);
    await host.spawn({ name: 'endless', ...faultyStdio({ faults: [endless] }) }, { lazy: true });
    expect((await host.tools('endless')).length).toBeGreaterThan(0);
  });
});

describe('servers that are not in the config', () => {
  it('are kept by their exact command, least recently used ones go first, and none that is in use #idle-stop', async () => {
    host = await hostWith({}, { maxIdle: 2 });
    const { command, args } = faultyStdio({ starts: folder.file('starts') });
    const variant = (n: number) => [command, ...args, '--list-ttl', String(n)];
    for (const n of [1, 2, 1, 3]) {
      expect(textOf(await host.callCommand(variant(n), 'echo', { text: `${n}` }))).toBe(`${n}`);
    }
    expect(readStarts(folder.file('starts'))).toHaveLength(3);
    await until(
      () => processesWith('--list-ttl\u00002').length === 0,
      'the least recently used has ended',
    );
    await host.callCommand(variant(1), 'echo', { text: 'kept' });
    expect(readStarts(folder.file('starts'))).toHaveLength(3);
    await host.callCommand(variant(2), 'echo', { text: 'again' });
    expect(readStarts(folder.file('starts'))).toHaveLength(4);
  });

  it('a command that is empty or cannot start is refused and leaves nothing #idle-stop', async () => {
    host = await hostWith({});
    expect((await faultOf(host.callCommand([], 'echo'))).code).toBe('invalid_request');
    expect((await faultOf(host.callCommand(['no-such-program'], 'echo'))).code).toBe('unavailable');
    expect(host.status().servers).toEqual([]);
  });
});

describe('registering', () => {
  it('an existing name replaces the server and its past; unknown names say so #generations', async () => {
    host = await hostWith({ box: server() });
    await host.call('box', 'echo', { text: 'old' });
    await host.spawn({ name: 'box', ...faultyStdio({ era: 'legacy' }) }, { lazy: true });
    expect(statusOf(host, 'box')).toMatchObject({ generation: 0, state: 'idle' });
    await host.call('box', 'echo', { text: 'new' });
    expect(statusOf(host, 'box').era).toBe('legacy');
    expect((await faultOf(host.stop('nope'))).message).toContain(
      "no server named 'nope' is registered",
    );
    expect((await faultOf(host.reload('nope'))).message).toContain(
      "no server named 'nope' is registered",
    );
    expect((await faultOf(host.call('bx', 'echo'))).message).toContain('did you mean box?');
    expect((await faultOf(host.spawn({} as ServerSpec))).message).toContain(
      'must include a `name` field',
    );
    expect((await faultOf(host.spawn({ name: '', command: 'node' }))).message).toContain(
      'non-empty string',
    );
  });

  it('two who replace the same name at once leave one server and one process #generations', async () => {
    host = await hostWith({ box: server() });
    await host.call('box', 'echo', { text: 'old' });
    const { command, args } = faultyStdio({ starts: folder.file('replaced') });
    const replacing = [1, 2, 3].map((n) =>
      host.spawn({ name: 'box', command, args: [...args, '--list-ttl', `${n}`] }),
    );
    await Promise.allSettled(replacing);
    await host.call('box', 'echo', { text: 'new' });
    const servers = new Set(
      processesWith(folder.file('replaced')).filter((pid) => pid === statusOf(host, 'box').pid),
    );
    expect(servers.size).toBe(1);
    await host.stop('box');
    expect(processesWith(folder.file('replaced'))).toEqual([]);
  });

  it('status and events describe a server in the same words #status', async () => {
    host = await hostWith({ box: server() });
    const story: string[] = [];
    const reading = (async () => {
      for await (const event of host.events()) story.push(event.kind);
    })();
    await host.call('box', 'echo', { text: 'x' });
    await faultOf(
      host.call('box', 'add', { key: 'k', amount: 1, fault: { kind: 'crash-before-effect' } }),
    );
    expect(statusOf(host, 'box').lastFault).toMatchObject({ code: 'unavailable', server: 'box' });
    await host.stop('box');
    await host.close();
    await reading;
    expect(story).toEqual(
      expect.arrayContaining(['starting', 'tools', 'ready', 'call', 'lost', 'stopped', 'idle']),
    );
  });
});
