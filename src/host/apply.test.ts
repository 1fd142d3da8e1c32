import { describe, expect, it } from 'vitest';
import { newHost, settled } from '../../test/support/fake-gateway.ts';
import { faultOf } from '../../test/support/host.ts';
import {
  type Answers,
  type Script,
  ScriptedServer,
  text,
  tool,
} from '../../test/support/scripted-server.ts';
import { configFromObject } from '../config/load.ts';
import type { MemoryStore } from '../store/memory-store.ts';

const echo: Script = { tools: [tool('t')], on: { 'tools/call': () => text('hi') } };
const silent: Script = { tools: [tool('t')], on: { 'tools/call': () => undefined } };
const askBack: Answers = (_heard, child) => child.ask('x', 'sampling/createMessage');
const entry = (more: object = {}) => ({ command: '/bin/x', ...more });

/** A host for servers that come later: whatever is spawned runs the script of its name, or this one. */
function newWorld(
  mcpServers: Readonly<Record<string, object>>,
  script: Script = echo,
  store?: MemoryStore,
) {
  const names = Object.keys(mcpServers);
  const scripts = Object.fromEntries(names.map((name) => [name, script]));
  const world = newHost(scripts, {
    config: mcpServers as never,
    undeclared: script,
    ...(store ? { store } : {}),
  });
  const apply = (servers: Readonly<Record<string, object>>, settings: object = {}) =>
    world.host.apply({ hostTools: false, ...settings, mcpServers: servers as never });
  const registered = () => world.host.servers().map(({ name }) => name);
  const kinds = () => world.events.map(({ kind, server }) => `${kind} ${server}`);
  return { ...world, apply, registered, kinds };
}

describe('another config for a host that runs', () => {
  it('takes servers in and out, in the order of the config #live-config', async () => {
    const { apply, registered, host } = newWorld({ a: entry(), b: entry() });
    const done = await apply({ c: entry(), b: entry(), d: entry() });
    expect(done).toMatchObject({ added: ['c', 'd'], removed: ['a'], changed: [], failed: [] });
    expect(registered()).toEqual(['c', 'b', 'd']);
    expect(await host.call('c', 't')).toMatchObject(text('hi'));
    expect((await faultOf(host.call('a', 't'))).code).toBe('not_found');
  });

  it('does nothing where nothing differs #live-config', async () => {
    const { apply, host, kinds, servers } = newWorld({ a: entry() });
    await host.call('a', 't');
    const before = kinds();
    const done = await apply({ a: entry() });
    await apply({ a: { args: [], ...entry() } });
    expect(done).toEqual({
      added: [],
      removed: [],
      changed: [],
      settings: [],
      order: false,
      failed: [],
      disabled: [],
    });
    expect(kinds()).toEqual(before);
    expect(servers['a']?.children).toHaveLength(1);
  });

  it('that is invalid changes nothing, and says what is wrong with it #live-config', async () => {
    const { apply, registered, kinds } = newWorld({ a: entry() });
    const before = kinds();
    const fault = await faultOf(apply({ b: { comand: 'x' } }));
    expect(fault.code).toBe('invalid_request');
    expect(fault.message).toContain('comand');
    expect([registered(), kinds()]).toEqual([['a'], before]);
  });

  it('disables a server that lacks a variable, and applies the rest #live-config', async () => {
    const { apply, registered, host } = newWorld({ a: entry() });
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the config's own syntax
    const lacking = entry({ env: { KEY: '${env:NOT_THERE}' } });
    const done = await apply({ a: lacking, b: entry() });
    expect(done.disabled).toMatchObject([{ name: 'a' }]);
    expect(done.removed).toEqual(['a']);
    expect(registered()).toEqual(['b']);
    expect(host.status().servers.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'a disabled',
      'b idle',
    ]);
    expect((await faultOf(host.call('a', 't'))).message).toContain('NOT_THERE');
    await apply({ a: entry(), b: entry() });
    expect(await host.call('a', 't')).toMatchObject(text('hi'));
  });

  it('disables a server that cannot be set up, and applies the rest #live-config', async () => {
    const { host, registered } = newWorld({ a: entry() });
    const around = { baseDir: '/', env: {} };
    const input = { hostTools: false, mcpServers: { a: entry(), b: entry(), c: entry() } };
    const loaded = configFromObject(input, around);
    const broken = {
      get tools(): never {
        throw new Error('broken');
      },
    };
    const mcpServers = { ...loaded.config.mcpServers, b: broken as never };
    const done = await host.applyLoaded({ ...loaded, config: { ...loaded.config, mcpServers } });
    expect(done.failed).toMatchObject([{ name: 'b', cause: expect.stringContaining('broken') }]);
    expect(registered()).toEqual(['a', 'c']);
    const shown = () => host.status().servers.find(({ name }) => name === 'b');
    const cause = expect.stringContaining('broken');
    expect(shown()).toMatchObject({ state: 'disabled', cause });
    const again = await host.applyLoaded({ ...loaded, config: { ...loaded.config, mcpServers } });
    expect(again.failed).toMatchObject([{ name: 'b', cause }]);
    expect(shown()).toMatchObject({ state: 'disabled', cause });
    await host.applyLoaded(loaded);
    expect(registered()).toEqual(['a', 'b', 'c']);
  });

  it('brings back a server that is in the config and not there #live-config', async () => {
    const { apply, host, registered, servers } = newWorld({ a: entry() });
    if (servers['a']) servers['a'].script = { on: { initialize: (_heard, child) => child.exit() } };
    await faultOf(host.spawn({ name: 'a', command: '/bin/y' }));
    expect(registered()).toEqual([]);
    if (servers['a']) servers['a'].script = echo;
    expect(await apply({ a: entry() })).toMatchObject({ added: ['a'], failed: [] });
    expect(await host.call('a', 't')).toMatchObject(text('hi'));
  });

  it('waits for the one before #live-config', async () => {
    const { apply, registered, host, servers, clock } = newWorld({ a: entry() }, silent);
    const call = host.call('a', 't');
    await settled();
    const order: string[] = [];
    const first = apply({ b: entry() }).then(() => order.push('first'));
    const second = apply({ a: entry(), b: entry() }).then(() => order.push('second'));
    await settled();
    expect(registered()).toEqual(['b']);
    const child = servers['a']?.child;
    child?.answer(child.last('tools/call'), text('late'));
    expect(await call).toMatchObject(text('late'));
    await Promise.all([first, second, clock.advanceAsync(10_000)]);
    expect(order).toEqual(['first', 'second']);
    expect(registered()).toEqual(['a', 'b']);
    expect(servers['a']?.children).toHaveLength(1);
  });

  it('is refused by a host that ends, and leaves nothing running #live-config', async () => {
    const { apply, host, servers } = newWorld({ a: entry({ lazy: false }) });
    host.startPinned();
    await settled();
    const applying = apply({ b: entry({ lazy: false }) });
    await host.close();
    await applying.catch(() => {});
    expect((await faultOf(apply({ c: entry() }))).code).toBe('draining');
    expect(servers['a']?.children.every(({ isGone }) => isGone)).toBe(true);
  });

  it('that the guard denies changes nothing #live-config #guard', async () => {
    const { apply, host, registered } = newWorld({ a: entry() });
    host.setGuard((_principal, server, _tool, { action }) =>
      action === 'stop' && server === 'a' ? { allow: false, reason: 'no' } : { allow: true },
    );
    expect((await faultOf(apply({ b: entry() }))).code).toBe('denied');
    expect(registered()).toEqual(['a']);
    await apply({ a: entry({ args: ['1'] }), b: entry() });
    expect(registered()).toEqual(['a', 'b']);
  });

  it('takes over a server that a program has added under the same name #live-config', async () => {
    const { apply, host, others, registered } = newWorld({ a: entry() });
    await host.spawn({ name: 'b', command: '/bin/x', lazy: true });
    await host.call('b', 't');
    await apply({ b: entry(), a: entry() });
    expect(registered()).toEqual(['b', 'a']);
    expect(others?.children).toHaveLength(1);
    await apply({ b: entry({ args: ['1'] }), a: entry() });
    await host.call('b', 't');
    expect(others?.children).toHaveLength(2);
    await apply({ a: entry() });
    expect(registered()).toEqual(['a']);
  });

  it('leaves alone what a program has added #live-config', async () => {
    const { apply, host, registered } = newWorld({ a: entry() });
    await host.spawn({ name: 'own', command: '/bin/x', lazy: true });
    await apply({ b: entry() });
    expect(registered()).toEqual(['b', 'own']);
  });
});

describe('a server that is removed', () => {
  it('lets the calls under way end, and refuses those that wait #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry({ concurrency: 1 }) }, silent);
    const under = host.call('a', 't');
    await settled();
    const waiting = host.call('a', 't').catch((fault) => fault.code);
    await settled();
    const applied = apply({});
    await settled();
    const child = servers['a']?.child;
    expect(child?.isGone).toBe(false);
    expect(await waiting).toBe('not_found');
    child?.answer(child.last('tools/call'), text('done'));
    expect(await under).toMatchObject(text('done'));
    await Promise.all([applied, clock.advanceAsync(1_000)]);
    expect([child?.isGone, servers['a']?.children.length]).toEqual([true, 1]);
  });

  it('waits for calls no longer than a replaced one does #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry() }, silent);
    const call = host.call('a', 't').catch((fault) => fault.code);
    await settled();
    const applied = apply({});
    await clock.advanceAsync(5_000);
    expect(await call).toBe('outcome_unknown');
    await applied;
    expect(servers['a']?.child.isGone).toBe(true);
  });

  it('is not counted any more, however many calls waited #live-config #no-growth', async () => {
    const { apply, host, clock } = newWorld({ a: entry({ concurrency: 1, queue: 50 }) }, silent);
    const calls = Array.from({ length: 51 }, () => faultOf(host.call('a', 't')));
    await settled();
    await Promise.all([apply({}), clock.advanceAsync(10_000), ...calls]);
    const { methods, requests } = host.traffic.snapshot();
    expect([requests, methods.map(({ method }) => method)]).toEqual([51, ['other']]);
  });

  it('says of no call that was sent that it was not #live-config', async () => {
    const tools = { t: { replay: 'safe' } };
    const { apply, host, clock } = newWorld({ a: entry({ tools }) }, silent);
    const call = faultOf(host.call('a', 't'));
    await settled();
    await Promise.all([apply({}), clock.advanceAsync(10_000)]);
    expect(await call).toMatchObject({ code: 'not_found', dispatched: 'maybe' });
    expect((await call).message).not.toContain('not sent');
  });

  it('that waits to be started again is not #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry({ lazy: false }) });
    host.startPinned();
    await settled();
    servers['a']?.child.exit();
    await settled();
    await apply({});
    await clock.advanceAsync(60_000);
    expect(servers['a']?.children).toHaveLength(1);
  });

  it('gives up its name, its cache, its leases and its place in the totals #live-config', async () => {
    const { apply, host, servers } = newWorld({ a: entry({ tools: { t: { cacheMs: 60_000 } } }) });
    await host.call('a', 't');
    const lease = await host.lease('a', { owner: 'me' });
    expect(host.cacheStats().entries).toBe(1);
    await apply({});
    expect(host.cacheStats().entries).toBe(0);
    expect(servers['a']?.child.isGone).toBe(true);
    lease.release();
    expect(host.status().servers).toEqual([]);
    expect(servers['a']?.children).toHaveLength(1);
  });
});

describe('a server whose config has changed', () => {
  it('keeps its process where that is enough #live-config', async () => {
    const { apply, host, servers, events } = newWorld({ a: entry() });
    await host.call('a', 't');
    const before = events.length;
    const live = {
      callTimeoutMs: 10,
      maxCallMs: 20,
      concurrency: 1,
      queue: 1,
      circuit: { threshold: 1 },
      restart: { max: 1 },
      startTimeoutMs: 9,
      trusted: true,
    };
    const done = await apply({ a: entry(live) });
    expect(done.changed).toMatchObject([{ name: 'a', restart: false }]);
    expect(done.changed[0]?.keys).toHaveLength(Object.keys(live).length);
    expect(host.status().servers[0]).toMatchObject({ trusted: true, restartsLeft: 1 });
    expect(events.length).toBe(before);
    expect(servers['a']?.children).toHaveLength(1);
  });

  it('applies another time for calls and another number of them #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry({ concurrency: 1 }) }, silent);
    const calls = [host.call('a', 't'), host.call('a', 't'), host.call('a', 't')];
    const codes = Promise.all(calls.map((call) => call.catch((fault) => fault.code)));
    await settled();
    expect(host.status().servers[0]).toMatchObject({ inFlight: 1, queued: 2 });
    await apply({ a: entry({ concurrency: 2, callTimeoutMs: 100 }) });
    await settled();
    expect(host.status().servers[0]).toMatchObject({ inFlight: 2, queued: 1 });
    // Fewer places: the next is let in when there is one.
    await apply({ a: entry({ concurrency: 1, callTimeoutMs: 100 }) });
    const child = servers['a']?.child;
    child?.answer(child.last('tools/call'), text('2'));
    await settled();
    expect(host.status().servers[0]).toMatchObject({ inFlight: 1, queued: 1 });
    const [first] = child?.heardAs('tools/call') ?? [];
    if (first) child?.answer(first, text('1'));
    await settled();
    expect(host.status().servers[0]).toMatchObject({ inFlight: 1, queued: 0 });
    await clock.advanceAsync(100);
    expect((await codes).at(-1)).toBe('timeout');
  });

  it('is pinned and let go, and kept for another time #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry() });
    await apply({ a: entry({ lazy: false }) });
    await settled();
    expect(servers['a']?.children).toHaveLength(1);
    await clock.advanceAsync(600_000);
    expect(host.status().servers[0]).toMatchObject({ state: 'ready', pinned: true });
    await apply({ a: entry({ lazy: true, keepAliveMs: 50_000 }) });
    await clock.advanceAsync(30_000);
    expect(host.status().servers[0]).toMatchObject({ state: 'ready', pinned: false });
    await apply({ a: entry({ keepAliveMs: 31_000 }) });
    await clock.advanceAsync(1_000);
    await settled();
    expect(host.status().servers[0]).toMatchObject({ state: 'idle' });
  });

  it('that is not lazy and was stopped is started by what needs another process, and kept again #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry({ lazy: false }), b: entry() });
    const states = () => host.status().servers.map(({ state, pinned }) => [state, pinned]);
    const resting = ['idle', false];
    await host.stop('a');
    await apply({ a: entry({ lazy: false, queue: 5 }), b: entry({ queue: 5 }) });
    await clock.advanceAsync(600_000);
    expect(states()).toEqual([resting, resting]);
    await apply({ a: entry({ lazy: false, args: ['1'] }), b: entry({ args: ['1'] }) });
    await clock.advanceAsync(600_000);
    expect(states()).toEqual([['ready', true], resting]);
    await host.stop('a');
    expect(states()).toEqual([resting, resting]);
    await Promise.all([host.reload('a'), host.reload('b')]);
    await clock.advanceAsync(600_000);
    expect(states()).toEqual([['ready', true], resting]);
    expect(servers['b']?.children ?? []).toHaveLength(0);
  });

  it('applies what is said about its tools, and forgets what was kept #live-config', async () => {
    const cached = { t: { cacheMs: 60_000 } };
    const { apply, host, servers } = newWorld({ a: entry({ tools: cached }) });
    await host.call('a', 't');
    await host.call('a', 't');
    expect(servers['a']?.heard('tools/call')).toHaveLength(1);
    await apply({ a: entry({ tools: { t: { cacheMs: 0 } } }) });
    await host.call('a', 't');
    expect(servers['a']?.heard('tools/call')).toHaveLength(2);
    await apply({ a: entry({ tools: { t: { hidden: true } } }) });
    expect((await faultOf(host.call('a', 't'))).code).toBe('not_found');
    expect(await host.tools('a')).toEqual([]);
    await apply({ a: entry() });
    expect(await host.tools('a')).toHaveLength(1);
    expect(servers['a']?.children).toHaveLength(1);
  });

  it('is restarted where it must be: old calls end, new ones go to the new process #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry() }, silent);
    const old = host.call('a', 't', { n: 1 });
    await settled();
    const applied = apply({ a: entry({ args: ['new'] }) });
    await settled();
    const next = host.call('a', 't', { n: 2 });
    await settled();
    const [first] = servers['a']?.children ?? [];
    expect(servers['a']?.children).toHaveLength(1);
    first?.answer(first.last('tools/call'), text('old'));
    expect(await old).toMatchObject(text('old'));
    await clock.advanceAsync(1_000);
    await applied;
    const second = servers['a']?.child;
    expect([first?.isGone, servers['a']?.children.length]).toEqual([true, 2]);
    expect(second?.last('tools/call').params['arguments']).toEqual({ n: 2 });
    second?.answer(second.last('tools/call'), text('new'));
    expect(await next).toMatchObject(text('new'));
    // Generations go on: nobody takes one process for another.
    expect(host.status().servers[0]?.generation).toBe(2);
  });

  it('answers a call that comes then by the new process, also if the same is under way #live-config', async () => {
    const cached = { tools: { t: { cacheMs: 60_000 } } };
    const { apply, host, servers, clock } = newWorld({ a: entry(cached) }, silent);
    const old = host.call('a', 't');
    await settled();
    const applied = apply({ a: entry({ ...cached, args: ['new'] }) });
    await settled();
    if (servers['a']) servers['a'].script = echo;
    const next = host.call('a', 't');
    await settled();
    const [first] = servers['a']?.children ?? [];
    first?.answer(first.last('tools/call'), text('old'));
    await Promise.all([applied, clock.advanceAsync(1_000)]);
    expect(await old).toMatchObject(text('old'));
    expect(await next).toMatchObject(text('hi'));
  });

  it('keeps its leases over a restart #live-config', async () => {
    const { apply, host, servers, clock } = newWorld({ a: entry({ keepAliveMs: 1_000 }) });
    const lease = await host.lease('a', { owner: 'me' });
    await apply({ a: entry({ keepAliveMs: 1_000, args: ['1'] }) });
    await clock.advanceAsync(60_000);
    expect(host.status().servers[0]).toMatchObject({ state: 'ready', leases: ['me'] });
    lease.release();
    await clock.advanceAsync(2_000);
    expect(host.status().servers[0]).toMatchObject({ state: 'idle', leases: [] });
    expect(servers['a']?.children).toHaveLength(2);
  });

  it('shows none of its former secrets while calls may end that were made with them #live-config', async () => {
    const secret = (KEY: string) => ({ a: entry({ env: { KEY } }) });
    const { apply, host, servers, clock } = newWorld(secret('former-secret'), silent);
    const call = host.call('a', 't');
    await settled();
    const applied = apply(secret('latest-secret'));
    await settled();
    const { redactor } = host.find('a');
    expect(redactor.text('former-secret latest-secret')).toBe('[env KEY] [env KEY]');
    const child = servers['a']?.child;
    child?.answer(child.last('tools/call'), text('done'));
    await call;
    await Promise.all([applied, clock.advanceAsync(1_000)]);
    expect(host.find('a').redactor.text('former-secret')).toBe('former-secret');
  });

  it('starts without its old failures when it is restarted #live-config', async () => {
    const dead: Script = { on: { initialize: (_heard, child) => child.exit() } };
    const { apply, host, servers, clock } = newWorld({ a: entry({ restart: { max: 0 } }) }, dead);
    await faultOf(host.call('a', 't'));
    expect(host.status().servers[0]?.state).toBe('ejected');
    if (servers['a']) servers['a'].script = echo;
    await apply({ a: entry({ restart: { max: 0 }, args: ['fixed'] }) });
    await clock.advanceAsync(1_000);
    expect(await host.call('a', 't')).toMatchObject(text('hi'));
  });

  it('is not kept apart because of what an earlier run knew of what it was #live-config', async () => {
    const asks: Script = { ...echo, on: { ...echo.on, 'notifications/initialized': askBack } };
    const first = newWorld({ a: entry() }, asks);
    await first.host.call('a', 't');
    expect(first.host.find('a').slots.asks).toBe(true);
    await settled();
    const records = first.store.records('catalogues', { durability: 'forgetful' });
    const get = records.get.bind(records);
    let read = () => {};
    const reading = new Promise<void>((resolve) => {
      read = resolve;
    });
    const { apply, host } = newWorld({ a: entry() }, echo, first.store);
    records.get = (key) => reading.then(() => get(key));
    const recalled = host.find('a').recall();
    await apply({ a: entry({ args: ['1'] }) });
    read();
    await recalled;
    expect(host.find('a').slots.asks).toBe(false);
  });

  it('has none of its old lists and facts any more #live-config', async () => {
    const { apply, host, servers } = newWorld({ a: entry() });
    await host.call('a', 't');
    expect(host.find('a').offerings.definitions('tools')).toHaveLength(1);
    if (servers['a'] instanceof ScriptedServer) servers['a'].script = { ...echo, tools: [] };
    await apply({ a: entry({ args: ['1'] }) });
    expect(host.find('a').offerings.definitions('tools')).toBeUndefined();
  });
});

describe('settings of a host that runs', () => {
  it('apply at once or wait for the next start, and the plan says which #live-config', async () => {
    const { apply, host } = newWorld({ a: entry() });
    const waiting = { key: 'naming', applies: 'restart-host' };
    const next = { naming: 'transparent', maxIdle: 1, drainMs: 5 };
    const done = await apply({ a: entry() }, next);
    expect(done.settings).toEqual([
      waiting,
      { key: 'maxIdle', applies: 'live' },
      { key: 'drainMs', applies: 'live' },
    ]);
    expect(host.config).toMatchObject({ naming: 'prefix', maxIdle: 1, drainMs: 5 });
    expect((await apply({ a: entry() }, next)).settings).toEqual([waiting]);
  });

  it('end idle connections and kept results that are too many now #live-config', async () => {
    const tools = { t: { cacheMs: 60_000 } };
    const all = { a: entry({ tools }), b: entry({ tools }) };
    const { apply, host } = newWorld(all);
    for (const name of ['a', 'b']) {
      await host.call(name, 't', { n: 1 });
      await host.call(name, 't', { n: 2 });
    }
    expect(host.cacheStats().entries).toBe(4);
    await apply(all, { maxIdle: 0, cache: { entriesPerTool: 1 } });
    await settled();
    expect(host.cacheStats().entries).toBe(2);
    expect(host.status().servers.map(({ state }) => state)).toEqual(['idle', 'idle']);
    await apply(all, { maxIdle: 0, cache: { maxBytes: 0 } });
    expect(host.cacheStats()).toMatchObject({ entries: 0, bytes: 0 });
  });
});
