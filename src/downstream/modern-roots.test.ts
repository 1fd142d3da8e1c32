// The roots of modern clients in front of legacy servers. Programs with one token are one client, but
// each has its own folders, and a call can be asked only inside itself: each call is asked once, before
// it is sent, and goes to a connection with the same roots. Real gateway and host, scripted servers.

import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/fake-gateway.ts';
import {
  asksFirst,
  asksOnce,
  asksToList,
  keepsRoots,
  newPrograms,
} from '../../test/support/modern-program.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import { cutBy, type Principal } from '../policy/principal.ts';

describe('two modern programs with one token', () => {
  it('each work in their own folders, on a connection for each #own-roots', async () => {
    const world = newPrograms(rooted);
    const [one, other] = [world.withRoots('file:///one'), world.withRoots('file:///other')];
    for (let time = 0; time < 3; time += 1) {
      expect((await one('s__a', { time })).said).toContain('file:///one');
      expect((await other('s__a', { time })).said).toContain('file:///other');
    }
    expect(world.children()).toHaveLength(2);
  });

  it('do not use each other’s cached answers #own-roots', async () => {
    const world = newPrograms(rooted, { config: { s: { trusted: true } } });
    const [one, other] = [world.withRoots('file:///one'), world.withRoots('file:///other')];
    expect((await one('s__a')).said).toContain('file:///one');
    expect((await other('s__a')).said).toContain('file:///other');
    expect((await one('s__a')).said).toContain('file:///one');
  });

  it('at the same moment, of which the first is the first client ever #own-roots', async () => {
    const world = newPrograms(rooted, { config: { s: { trusted: true } } });
    const [one, other] = [world.withRoots('file:///one'), world.withRoots('file:///other')];
    const answers = await Promise.all([one('s__a'), other('s__a')]);
    expect(answers.map(({ said }) => said)).toEqual([
      expect.stringContaining('file:///one'),
      expect.stringContaining('file:///other'),
    ]);
  });

  it('of which one has no folders open: it is not given those of the other #own-roots', async () => {
    const world = newPrograms(rooted);
    expect((await world.withRoots('file:///one')('s__a')).said).toContain('file:///one');
    for (const time of [1, 2])
      expect((await world.withRoots()('s__a', { time })).said).toContain('none');
    expect((await world.withRoots('file:///one')('s__a')).said).toContain('file:///one');
  });
});

describe('a modern program', () => {
  it('that opens another folder works in that one from then on #own-roots', async () => {
    const world = newPrograms(rooted);
    expect((await world.withRoots('file:///one')('s__a')).said).toContain('file:///one');
    expect((await world.withRoots('file:///two')('s__a')).said).toContain('file:///two');
  });

  it('has one process, also if it lists before it calls #roots', async () => {
    const world = newPrograms(rooted);
    world.modern({ roots: {} }).request('tools/list');
    await seconds(3, world.clock);
    expect((await world.withRoots('file:///one')('s__a')).said).toContain('file:///one');
    expect((await world.withRoots('file:///one')('s__a', { again: 1 })).said).toContain(
      'file:///one',
    );
    expect(world.servers.s.children).toHaveLength(1);
  });

  it('is asked once for each call, however often its server asks #roots', async () => {
    const curious: Script = {
      ...rooted,
      on: {
        ...rooted.on,
        'tools/list': (heard, child) => asksFirst(15, heard, child, () => ({ tools: [tool('a')] })),
        'tools/call': (heard, child) => asksFirst(3, heard, child, () => text(rootsTold(child))),
      },
    };
    const world = newPrograms(curious);
    const one = world.withRoots('file:///one');
    for (let time = 0; time < 3; time += 1) {
      const { rounds, said } = await one('s__a', { time });
      expect([rounds, said]).toEqual([1, expect.stringContaining('file:///one')]);
    }
  });

  it('is asked in its call by a server that asks only then, and not in others #own-roots', async () => {
    const late: Script = {
      tools: [tool('a'), tool('b')],
      on: {
        'tools/call': (heard, child) =>
          heard.params['name'] === 'b'
            ? text('done')
            : asksFirst(3, heard, child, () => text(rootsTold(child))),
      },
    };
    const world = newPrograms(late);
    for (const uri of ['file:///one', 'file:///other', 'file:///one']) {
      const { rounds, said } = await world.withRoots(uri)('s__a', { uri });
      expect([rounds, said]).toEqual([1, expect.stringContaining(uri)]);
    }
    for (const time of [1, 2]) expect((await world.withRoots()('s__b', { time })).rounds).toBe(0);
    expect(world.children()).toHaveLength(1);
  });

  it('is asked before it is sent to a server that keeps the roots of an earlier call #own-roots', async () => {
    const world = newPrograms(keepsRoots);
    for (const uri of ['file:///one', 'file:///other', 'file:///one']) {
      const { rounds, said } = await world.withRoots(uri)('s__a', { uri });
      expect([rounds, said]).toEqual([1, expect.stringContaining(uri)]);
    }
    expect(world.children()).toHaveLength(2);
  });

  it('is asked again in a later run, before its server is started #roots', async () => {
    const first = newPrograms(rooted);
    await first.withRoots('file:///one')('s__a');
    const { store } = first;
    await seconds(3, first.clock);
    const later = newPrograms(rooted, { store });
    later.modern({ roots: {} }).request('tools/list');
    await settled();
    const call = later.modern({ roots: {} }).call('s__a');
    await settled();
    expect(call.result).toMatchObject({ resultType: 'input_required' });
    expect(later.servers.s.children).toHaveLength(0);
  });

  it('that never answers holds no place of the server #own-roots', async () => {
    const world = newPrograms(rooted, { config: { s: { concurrency: 1, queue: 1 } } });
    await world.withRoots('file:///one')('s__a');
    for (let at = 0; at < 70; at += 1) world.modern({ roots: {} }).call('s__a', { at });
    await settled();
    const refused = world.modern({ roots: {} }).call('s__a', { at: 71 });
    await settled();
    expect(JSON.stringify(refused.result)).toContain('overloaded');
    const legacy = world.legacy({}).request('tools/call', { name: 's__a' });
    await seconds(3, world.clock);
    expect(JSON.stringify(legacy.result)).toContain('none');
  });

  it('that never answers, with one token on many paths, leaves room for others #own-roots #principal-share', async () => {
    const world = newPrograms(rooted, { settings: { roles: { all: { allow: ['*'] } } } });
    await world.withRoots('file:///one')('s__a');
    const paths = ['s', 'all'].map((name, at) =>
      cutBy({ id: 'token:ann', role: 'all' }, { kind: at === 0 ? 'server' : 'role', name }),
    );
    const call = (principal: Principal, args: object) => {
      const peer = world.modern({ roots: {} }, { principal, key: principal.id });
      return peer.call(principal.id.includes('/server/') ? 'a' : 's__a', args);
    };
    const waiting = paths.flatMap((path) =>
      Array.from({ length: 40 }, (_, at) => call(path, { at })),
    );
    await settled();
    const refused = waiting.filter(({ result }) => JSON.stringify(result).includes('overloaded'));
    expect(refused).toHaveLength(16);
    const other = call({ id: 'token:bob', role: 'all' }, {});
    await settled();
    expect(other.result).toMatchObject({ resultType: 'input_required' });
  });

  it('with very many roots is refused, and says why #own-roots', async () => {
    const world = newPrograms(rooted);
    await world.withRoots('file:///one')('s__a');
    const many = Array.from({ length: 20_000 }, (_, at) => `file:///folder/${at}`);
    expect((await world.withRoots(...many)('s__a')).said).toMatch(/roots\/list is longer than/);
  });
});

describe('a server that asks in its first call only, and does not say that it keeps the answer', () => {
  it('is found out by the first call in which it does not ask #own-roots', async () => {
    const world = newPrograms(asksOnce);
    for (let time = 0; time < 4; time += 1) {
      for (const uri of ['file:///one', 'file:///other']) {
        const { said } = await world.withRoots(uri)('s__a', { time });
        if (time > 0) expect(said).toContain(uri);
      }
    }
  });
});

describe('many modern programs with one token', () => {
  it('have a bounded number of connections, and each its own roots #own-roots', async () => {
    const world = newPrograms(rooted);
    for (let time = 0; time < 2; time += 1) {
      for (let at = 0; at < 12; at += 1) {
        const { said } = await world.withRoots(`file:///p${at}/`)('s__a', { time });
        expect(said).toContain(`file:///p${at}/`);
        expect(world.children().length).toBeLessThanOrEqual(8);
      }
    }
  });

  it('that are all at work: another waits until one has ended #own-roots', async () => {
    const open: (() => void)[] = [];
    const slow: Script = {
      ...rooted,
      on: {
        ...rooted.on,
        'tools/call': (heard, child) =>
          void open.push(() => child.answer(heard, text(rootsTold(child)))),
      },
    };
    const world = newPrograms(slow, { config: { s: { concurrency: 20 } } });
    world.host.find('s').facts.learn({ asksRoots: true, asksAtStart: true, modern: false });
    const busy = Array.from({ length: 8 }, (_, at) =>
      world.withRoots(`file:///p${at}/`)('s__a', { at }).catch(String),
    );
    await seconds(1, world.clock);
    expect(world.servers.s.heard('tools/call')).toHaveLength(8);
    const more = world.withRoots('file:///more')('s__a');
    await seconds(5, world.clock);
    expect(open).toHaveLength(8);
    open.shift()?.();
    await busy[0];
    for (let turn = 0; turn < 50 && open.length < 8; turn += 1) await seconds(0.1, world.clock);
    for (const answer of open.splice(0)) answer();
    expect((await more).said).toContain('file:///more');
    await Promise.all(busy);
    expect(world.children().length).toBeLessThanOrEqual(8);
  });

  it('that are at work for longer than a call may wait: another is told so #own-roots', async () => {
    const slow: Script = {
      ...rooted,
      on: {
        ...rooted.on,
        'tools/call': () => undefined,
      },
    };
    const config = {
      s: { concurrency: 20, callTimeoutMs: 3_000, tools: { a: { timeoutMs: 90_000 } } },
    };
    const world = newPrograms(slow, { config });
    world.host.find('s').facts.learn({ asksRoots: true, asksAtStart: true, modern: false });
    const busy = Array.from({ length: 8 }, (_, at) =>
      world.withRoots(`file:///p${at}/`)('s__a', { at }).catch(String),
    );
    await seconds(2, world.clock);
    expect((await world.withRoots('file:///more')('s__a')).said).toMatch(
      /overloaded.*other roots/s,
    );
    await seconds(100, world.clock);
    await Promise.all(busy);
  });
});

describe('a client that does not answer roots/list', () => {
  it('does not keep others from the server, which have no roots from it #own-roots', async () => {
    const world = newPrograms(rooted);
    const silent = world.legacy({ roots: {} });
    silent.request('tools/call', { name: 's__a' });
    await seconds(0.1, world.clock);
    const other = world.legacy({ roots: {} });
    const call = other.request('tools/call', { name: 's__a' });
    await seconds(1.5, world.clock, rootsOf(other, 'file:///other', call));
    expect(JSON.stringify(call.result)).toContain('file:///other');
  });

  it('does not either where the server waits for it before it lists #own-roots', async () => {
    const world = newPrograms(asksToList);
    const silent = world.legacy({ roots: {} });
    silent.request('tools/call', { name: 's__a' });
    await seconds(0.1, world.clock);
    const other = world.legacy({ roots: {} });
    const call = other.request('tools/call', { name: 's__a' });
    await seconds(3, world.clock, rootsOf(other, 'file:///other', call));
    expect(JSON.stringify(call.result)).toContain('file:///other');
  });
});
