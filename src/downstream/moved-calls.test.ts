// Calls that lose their place because its connection becomes another client's own. Such a call goes on
// from another place as the same call: with its deadline, its key and the memory that it may have run;
// and never on a server that has been ended meanwhile.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import {
  ErrorAnswer,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';

const ann = { id: 'token:ann', role: null };
const bob = { id: 'token:bob', role: null };

/** The first process asks nobody and never answers a call; the later ones ask for roots at their start. */
function askingLater(answer: () => object | undefined): Script {
  const started: ScriptedChild[] = [];
  return {
    tools: [tool('a', { annotations: { readOnlyHint: true } })],
    on: {
      'notifications/initialized': (_heard, child) => {
        started.push(child);
        if (started.length > 1) child.ask('start', 'roots/list');
      },
      'notifications/roots/list_changed': (_heard, child) => {
        if (started.length > 1) child.ask(`change-${child.heard.length}`, 'roots/list');
      },
      'tools/call': (_heard, child) => (started[0] === child ? undefined : answer()),
    },
  };
}

/** Two clients' calls are under way on one connection, which is then lost. */
async function bothLost(script: Script, config: object, bobsParams: object = {}) {
  const entry = { tools: { a: { replay: 'safe' } }, ...config };
  const world = newGateway({ s: script }, { config: { s: entry } });
  const { legacy, clock, host, servers } = world;
  host.setGuard(() => ({ allow: true }));
  const anns = legacy({ roots: {} }, ann);
  const bobs = legacy({ roots: {} }, bob);
  const first = anns.request('tools/call', { name: 's__a' });
  await seconds(2, clock);
  const second = bobs.request('tools/call', { name: 's__a', ...bobsParams });
  await seconds(1, clock);
  expect(servers.s.heard('tools/call')).toHaveLength(2);
  servers.s.children[0]?.exit();
  await settled();
  return { ...world, anns, bobs, first, second };
}

describe('a call that may have run and loses its place', () => {
  it('says that it may have run when the circuit is open #true-dispatched', async () => {
    const circuit = { threshold: 1, resetMs: 60_000 };
    const world = await bothLost(
      askingLater(() => text('ran')),
      { circuit },
    );
    const { clock, anns, bobs, first, second } = world;
    await seconds(
      8,
      clock,
      rootsOf(anns, 'file:///ann', first),
      rootsOf(bobs, 'file:///bob', second),
    );
    expect(second.result).toMatchObject({ _meta: { 'holdfast/fault': { dispatched: 'maybe' } } });
  });

  it('has one deadline over all its places #deadline', async () => {
    const script = askingLater(() => undefined);
    const world = await bothLost(script, { callTimeoutMs: 6_000, maxCallMs: 6_000 });
    const { clock, anns, first, second } = world;
    await seconds(4, clock, rootsOf(anns, 'file:///ann', first));
    expect(second.answers).toEqual([]);
    await seconds(2, clock, rootsOf(anns, 'file:///ann', first));
    expect(second.result).toMatchObject({
      _meta: { 'holdfast/fault': { code: 'timeout', dispatched: 'maybe' } },
    });
  });

  it('keeps its key: nothing runs under it again #idempotency-key', async () => {
    const script = askingLater(() => text('ran'));
    const key = { _meta: { 'holdfast/idempotencyKey': 'k1' } };
    const world = await bothLost(script, { circuit: { threshold: 1, resetMs: 5_000 } }, key);
    const { clock, anns, bobs, first, second } = world;
    await seconds(4, clock, rootsOf(anns, 'file:///ann', first));
    expect(second.answers).toHaveLength(1);
    await seconds(10, clock);
    const again = bobs.request('tools/call', { name: 's__a', ...key });
    await seconds(4, clock, rootsOf(bobs, 'file:///bob', again));
    expect(again.answers.join()).not.toContain('"ran"');
  });
});

describe('a call that joins the equal call of another client', () => {
  it('does not get an error that was for the other client #own-answers-only', async () => {
    const erring: Script = {
      ...rooted,
      on: {
        ...rooted.on,
        'tools/call': (_heard, child) =>
          new ErrorAnswer({ code: -32000, message: `denied outside ${rootsTold(child)}` }),
      },
    };
    const config = { s: { trusted: true, tools: { a: { cacheMs: 60_000 } } } };
    const { legacy, clock } = newGateway({ s: erring }, { config });
    const one = legacy({ roots: {} });
    const other = legacy({ roots: {} });
    const first = one.request('tools/call', { name: 's__a' });
    const second = other.request('tools/call', { name: 's__a' });
    await seconds(
      6,
      clock,
      rootsOf(one, 'file:///one', first),
      rootsOf(other, 'file:///other', second),
    );
    expect(first.answers.join()).toContain('file:///one');
    expect(second.answers.join()).toContain('file:///other');
  });
});

describe('a server that is ended when a call has just lost its place', () => {
  /** Ann has told her roots, so the connection is hers; Bob's call begins another one. */
  async function bobWaits() {
    const world = newGateway({ s: rooted });
    const { legacy, clock, host, servers } = world;
    host.setGuard(() => ({ allow: true }));
    const anns = legacy({ roots: {} }, ann);
    const bobs = legacy({ roots: {} }, bob);
    const first = anns.request('tools/call', { name: 's__a' });
    await settled();
    const second = bobs.request('tools/call', { name: 's__a' });
    await settled();
    const answerAnn = rootsOf(anns, 'file:///ann', first);
    const isTold = () => JSON.stringify(servers.s.children[0]?.heard).includes('file:///ann');
    for (let turn = 0; turn < 30 && !isTold(); turn += 1) {
      await clock.advanceAsync(20);
      answerAnn();
      await settled();
    }
    expect(isTold()).toBe(true);
    return { ...world, second };
  }

  it('is not started again by it when the host ends #generations', async () => {
    const { clock, host, servers, second } = await bobWaits();
    const before = servers.s.children.length;
    const closing = host.close();
    await seconds(8, clock);
    await closing;
    expect(servers.s.children).toHaveLength(before);
    expect(servers.s.children.map(({ isGone }) => isGone)).not.toContain(false);
    expect(second.answers).toHaveLength(1);
  });

  it('leaves no process behind when it was replaced #generations', async () => {
    const { clock, host, servers } = await bobWaits();
    const replacing = host.spawn({ name: 's', command: '/bin/s', lazy: true });
    await seconds(8, clock);
    await replacing;
    const closing = host.close();
    await seconds(8, clock);
    await closing;
    expect(servers.s.children.map(({ isGone }) => isGone)).not.toContain(false);
  });
});
