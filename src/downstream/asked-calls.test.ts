// A modern call whose client is asked for roots, in odd circumstances: at the same time as others, too
// late, wrongly, again and again; and clients beside it, which do not wait for the answer. Real gateway
// and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/fake-gateway.ts';
import {
  asksFirst,
  asksToList,
  keepsRoots,
  newPrograms,
  program,
} from '../../test/support/modern-program.ts';
import { rooted, rootsOf, seconds } from '../../test/support/rooted-server.ts';
import {
  type Heard,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';

const readOnly = { annotations: { readOnlyHint: true } };

type AskedFor = { inputRequests: object; requestState: string };

function toldIn({ id }: Heard, child: ScriptedChild): string {
  return JSON.stringify(child.heard.find((one) => one.id === `tools/call-${id}-0`)?.result);
}

/** Asks once in every call, and says what it was told in that call. */
const inCalls: Script = {
  tools: [tool('a', readOnly)],
  on: {
    'tools/call': (heard, child) => asksFirst(1, heard, child, () => text(toldIn(heard, child))),
  },
};

describe('modern calls at the same time, to a server that asks in each', () => {
  it('have their own roots from the second time on, and never those of another #own-roots', async () => {
    const world = newPrograms(inCalls);
    for (let time = 0; time < 3; time += 1) {
      const [one, other] = await Promise.all([
        world.withRoots('file:///one')('s__a', { time }),
        world.withRoots('file:///other')('s__a', { time, other: 1 }),
      ]);
      expect(one?.said).not.toContain('file:///other');
      expect(other?.said).not.toContain('file:///one');
      if (time === 0) continue;
      expect(one?.said).toContain('file:///one');
      expect(other?.said).toContain('file:///other');
    }
  });

  it('of legacy clients have their own roots from the second time on #own-roots', async () => {
    const world = newPrograms(inCalls);
    const [one, other] = [world.legacy({ roots: {} }), world.legacy({ roots: {} })];
    for (let time = 0; time < 3; time += 1) {
      const calls = [one, other].map((peer) =>
        peer.request('tools/call', { name: 's__a', arguments: { time } }),
      );
      const [first, second] = calls;
      if (!first || !second) throw new Error('two calls');
      await seconds(
        3,
        world.clock,
        rootsOf(one, 'file:///one', first),
        rootsOf(other, 'file:///other', second),
      );
      if (time === 0) continue;
      expect(JSON.stringify(first.result)).toContain('file:///one');
      expect(JSON.stringify(second.result)).toContain('file:///other');
    }
  });

  it('do not wait for the answer to the same cacheable call #own-roots #own-answers-only', async () => {
    const config = { s: { tools: { a: { cacheMs: 60_000 } } } };
    const world = newPrograms(inCalls, { config });
    world.modern({ roots: {} }).call('s__a');
    await seconds(1.2, world.clock);
    const legacy = world.legacy({ roots: {} });
    const reply = legacy.request('tools/call', { name: 's__a', arguments: {} });
    await seconds(5, world.clock, rootsOf(legacy, 'file:///two', reply));
    expect(JSON.stringify(reply.result)).toContain('file:///two');
  });

  it('of two clients that join each other have their own #own-roots #own-answers-only', async () => {
    const world = newPrograms(inCalls, { config: { s: { tools: { a: { cacheMs: 60_000 } } } } });
    world.legacy({ roots: {} }).request('tools/list');
    await seconds(3, world.clock);
    const [silent, other] = [world.legacy({ roots: {} }), world.legacy({ roots: {} })];
    silent.request('tools/call', { name: 's__a', arguments: {} });
    const reply = other.request('tools/call', { name: 's__a', arguments: {} });
    await seconds(5, world.clock, rootsOf(other, 'file:///two', reply));
    expect(JSON.stringify(reply.result)).toContain('file:///two');
    const modern = newPrograms(inCalls, { config: { s: { tools: { a: { cacheMs: 60_000 } } } } });
    const calls = [1, 2].map(() => modern.modern({ roots: {} }).call('s__a', {}));
    await seconds(5, modern.clock);
    expect(calls.filter(({ answers }) => answers.join().includes('cancelled'))).toEqual([]);
    expect(calls[1]?.answers).toHaveLength(1);
  });
});

describe('a modern call beside another of the same token', () => {
  /** Asks in calls of `a`; those of `b` take long. */
  const both: Script = {
    tools: [tool('a'), tool('b')],
    on: {
      'tools/call': (heard, child) =>
        heard.params['name'] === 'b'
          ? undefined
          : asksFirst(1, heard, child, () => text(toldIn(heard, child))),
    },
  };

  it('does not give the server its roots while the other is there #own-roots', async () => {
    const world = newPrograms(both);
    world.host.find('s').facts.learn({ modern: false });
    const list = world.modern({ roots: {} }).request('tools/list');
    await seconds(3, world.clock);
    expect(JSON.stringify(list.result)).toContain('s__b');
    const one = world.slow(0.3, 'file:///one')('s__a');
    await seconds(0.1, world.clock);
    world.modern({ roots: {} }).call('s__b');
    expect((await one).said).not.toContain('file:///one');
    expect(world.servers.s.heard('tools/call')).toHaveLength(2);
    const [first] = world.servers.s.children;
    expect(JSON.stringify(first?.heard)).not.toContain('file:///one');
    const again = world.withRoots('file:///one');
    expect((await again('s__a', { again: 1 })).said).toContain('file:///one');
  });

  it('does not separate clients if neither has roots #classes', async () => {
    const world = newPrograms(both);
    world.host.find('s').facts.learn({ modern: false });
    world.modern({ roots: {} }).request('tools/list');
    await seconds(3, world.clock);
    const one = world.slow(0.3)('s__a');
    await seconds(0.1, world.clock);
    world.modern({ roots: {} }).call('s__b');
    await one;
    expect(world.servers.s.heard('tools/call')).toHaveLength(2);
    expect(world.host.find('s').slots.asks).toBe(false);
  });

  it('does not have its answer, where each client has its own connection #own-roots', async () => {
    const config = { s: { isolation: 'client', tools: { a: { cacheMs: 60_000 } } } };
    const world = newPrograms(inCalls, { config });
    const answers = await Promise.all([
      world.withRoots('file:///one')('s__a'),
      world.withRoots('file:///other')('s__a'),
    ]);
    expect(answers[0]?.said).not.toContain('file:///other');
    expect(answers[1]?.said).not.toContain('file:///one');
  });
});

describe('a modern client that is asked in its call', () => {
  it('keeps its connection while it thinks, and another has its own #own-roots', async () => {
    const world = newPrograms(inCalls);
    const thinking = world.slow(5, 'file:///one')('s__a');
    await seconds(2, world.clock);
    const legacy = world.legacy({ roots: {} });
    const call = legacy.request('tools/call', { name: 's__a', arguments: { x: 1 } });
    await seconds(5, world.clock, rootsOf(legacy, 'file:///two', call));
    expect((await thinking).said).toContain('file:///one');
    expect(JSON.stringify(call.result)).toContain('file:///two');
    expect(world.children()).toHaveLength(2);
  });

  it('and answers when the server no longer wants to know: nothing is sent #one-answer', async () => {
    const script: Script = {
      tools: [tool('a')],
      on: { 'tools/call': (_heard, child) => void child.ask('q', 'roots/list') },
    };
    const world = newPrograms(script);
    const peer = world.modern({ roots: {} });
    const asked = peer.call('s__a');
    await seconds(3, world.clock);
    const { inputRequests, requestState } = asked.result as AskedFor;
    const { child } = world.servers.s;
    child.note('notifications/cancelled', { requestId: 'q' });
    await settled();
    const [key = ''] = Object.keys(inputRequests);
    const inputResponses = { [key]: { roots: [{ uri: 'file:///one' }] } };
    peer.call('s__a', {}, { inputResponses, requestState });
    await seconds(3, world.clock);
    expect(child.heard.filter(({ id }) => id === 'q')).toEqual([]);
  });

  it('and takes longer than the call may take is not blamed on the server #roots', async () => {
    const world = newPrograms(keepsRoots, { config: { s: { callTimeoutMs: 5_000 } } });
    expect((await world.slow(8, 'file:///one')('s__a')).said).toContain('file:///one');
    expect((await world.slow(8, 'file:///other')('s__a', { x: 1 })).said).toContain(
      'file:///other',
    );
  });

  it.each([
    ['before it is sent', rooted],
    ['in the call', inCalls],
  ] as const)(
    'and answers what cannot be read: no defect of ours, %s #one-bad-neighbour',
    async (_when, script) => {
      const world = newPrograms(script);
      if (script === rooted) await world.withRoots('file:///one')('s__a');
      const peer = world.modern({ roots: {} });
      const asked = peer.call('s__a', { x: 1 });
      await seconds(3, world.clock);
      const { inputRequests, requestState } = asked.result as {
        inputRequests: object;
        requestState: string;
      };
      const [key = ''] = Object.keys(inputRequests);
      const answer = `{"${key}":{"roots":[],"roots":[{"uri":"file:///x"}]}}`;
      const again = peer.request(
        'tools/call',
        `"name":"s__a","arguments":{"x":1},"inputResponses":${answer},"requestState":${JSON.stringify(requestState)}`,
      );
      await seconds(3, world.clock);
      expect(again.answers.join()).not.toContain('"internal"');
      expect(world.events.filter(({ kind }) => kind === 'defect')).toEqual([]);
    },
  );
});

describe('a modern call whose client answers after the host has ended', () => {
  it('starts no server, and is refused #generations', async () => {
    const earlier = newPrograms(rooted);
    await earlier.withRoots('file:///one')('s__a');
    await seconds(3, earlier.clock);
    const world = newPrograms(rooted, { store: earlier.store });
    const peer = world.modern({ roots: {} });
    peer.request('tools/list');
    await settled();
    const asked = peer.call('s__a');
    await seconds(1, world.clock);
    const { inputRequests, requestState } = asked.result as AskedFor;
    expect(world.servers.s.children).toEqual([]);
    const closing = world.host.close();
    await seconds(10, world.clock);
    await closing;
    const [key = ''] = Object.keys(inputRequests);
    const inputResponses = { [key]: { roots: [{ uri: 'file:///one' }] } };
    const again = peer.call('s__a', {}, { inputResponses, requestState });
    await seconds(3, world.clock);
    expect(again.answers).toHaveLength(1);
    expect(world.servers.s.children).toEqual([]);
  });
});

describe('a modern call whose client leaves while it is asked', () => {
  it('is not sent, and starts no server #own-roots', async () => {
    const earlier = newPrograms(rooted);
    await earlier.withRoots('file:///one')('s__a');
    earlier.modern({ roots: {} }).request('tools/list');
    await seconds(3, earlier.clock);
    const world = newPrograms(rooted, { store: earlier.store });
    const peer = world.modern({ roots: {} });
    peer.request('tools/list');
    await settled();
    const asked = peer.call('s__a');
    await seconds(1, world.clock);
    expect(asked.result['resultType']).toBe('input_required');
    world.gateway.clientGone('modern');
    await seconds(20, world.clock);
    expect(world.servers.s.children).toEqual([]);
  });
});

describe('a modern call with a key', () => {
  it.each([
    ['before it is sent', rooted],
    ['in the call', inCalls],
  ] as const)(
    'is asked again if its client has lost the question: %s #idempotency-key',
    async (_when, script) => {
      const world = newPrograms(script);
      if (script === rooted) await world.withRoots('file:///one')('s__a');
      const peer = world.modern({ roots: {} });
      const key = { 'holdfast/idempotencyKey': 'k' };
      const params = { name: 's__a', arguments: { x: 1 } };
      const asked = peer.request('tools/call', params, key);
      await seconds(3, world.clock);
      expect(asked.result['resultType']).toBe('input_required');
      const again = peer.request('tools/call', params, key);
      await seconds(1, world.clock);
      const { inputRequests, requestState } = again.result as AskedFor;
      const [question = ''] = Object.keys(inputRequests);
      const inputResponses = { [question]: { roots: [{ uri: 'file:///two' }] } };
      const last = peer.request('tools/call', { ...params, inputResponses, requestState }, key);
      await seconds(3, world.clock);
      expect(JSON.stringify(last.result)).toContain('file:///two');
      const sent = world.servers.s.heard('tools/call');
      expect(sent.filter(({ text: line }) => line.includes('"x":1'))).toHaveLength(1);
    },
  );
});

describe('a server that was started before its client was there', () => {
  const onlyAtStart: Script = {
    ...rooted,
    on: { ...rooted.on, 'notifications/roots/list_changed': () => undefined },
  };

  it.each(['modern', 'legacy'] as const)(
    'and asks only at its start is started again, once, for a %s client #roots',
    async (era) => {
      const world = newPrograms(onlyAtStart);
      world.modern({ roots: {} }).request('tools/list');
      await seconds(3, world.clock);
      expect(world.servers.s.children).toHaveLength(1);
      const legacy = world.legacy({ roots: {} });
      for (const time of [1, 2, 3]) {
        const call = legacyCall(time);
        expect(await call).toContain('file:///one');
      }
      expect(world.children()).toHaveLength(1);

      async function legacyCall(time: number): Promise<string> {
        if (era === 'modern') return (await world.withRoots('file:///one')('s__a', { time })).said;
        const call = legacy.request('tools/call', { name: 's__a', arguments: { time } });
        await seconds(6, world.clock, rootsOf(legacy, 'file:///one', call));
        return JSON.stringify(call.result);
      }
    },
  );

  it('and asks only when roots change is notified at the first call #roots', async () => {
    const onlyOnChange: Script = {
      ...rooted,
      on: { ...rooted.on, 'notifications/initialized': () => undefined },
    };
    const world = newPrograms(onlyOnChange);
    world.host.find('s').facts.learn({ asksRoots: true, keepsRoots: true });
    await world.withRoots('file:///one')('s__a');
    expect((await world.withRoots('file:///one')('s__a', { x: 1 })).said).toContain('file:///one');
  });
});

describe('modern calls that nobody answers for', () => {
  it('make room for those that come later #own-roots', async () => {
    const world = newPrograms(rooted);
    await world.withRoots('file:///one')('s__a');
    for (let at = 0; at < 64; at += 1) world.modern({ roots: {} }).call('s__a', { at });
    await seconds(11, world.clock);
    const { said } = await world.withRoots('file:///one')('s__a', { later: 1 });
    expect(said).toContain('file:///one');
  });
});

describe('a modern client of a server that all share by the operator’s wish', () => {
  it('gives it its roots, which stay for all #own-roots', async () => {
    const world = newPrograms(rooted, { config: { s: { isolation: 'shared' } } });
    const rounds: number[] = [];
    for (const uri of ['file:///one', 'file:///other', 'file:///third']) {
      const answer = await world.withRoots(uri)('s__a', { uri });
      expect(answer.said).toContain('file:///one');
      rounds.push(answer.rounds);
    }
    expect([rounds, world.children().length]).toEqual([[1, 0, 0], 1]);
  });

  it('is not turned away because of the roots of another #own-roots', async () => {
    const both: Script = {
      ...inCalls,
      on: {
        ...inCalls.on,
        'notifications/initialized': (_heard, child) => child.ask('start', 'roots/list'),
      },
    };
    const config = { s: { isolation: 'shared', concurrency: 1 } };
    const world = newPrograms(both, { config });
    const answers = await Promise.all([
      world.withRoots('file:///one')('s__a', { one: 1 }),
      world.withRoots('file:///other')('s__a', { other: 1 }),
    ]);
    expect(JSON.stringify(answers)).not.toContain('overloaded');
  });
});

describe('roots that a connection was sent', () => {
  it('do not stay with it when it is opened for a program that has none #own-roots', async () => {
    const world = newPrograms(rooted);
    world.host.find('s').slots.foundAsking();
    expect((await world.withRoots('file:///one')('s__a')).said).toContain('file:///one');
    await seconds(400, world.clock);
    expect(world.children()).toHaveLength(0);
    expect((await world.withRoots()('s__a', { x: 1 })).said).toContain('none');
  });

  it('are gone with their client, whoever uses the place next #own-roots', async () => {
    const world = newPrograms(rooted);
    expect((await world.withRoots('file:///one')('s__a')).said).toContain('file:///one');
    world.gateway.clientGone('modern');
    await seconds(10, world.clock);
    const next = world.modern({ roots: {} }, { key: 'next' });
    expect((await program(next, world.clock, [])('s__a')).said).toContain('none');
    const later = world.servers.s.children.slice(1);
    expect(later).toHaveLength(1);
    expect(JSON.stringify(later.map(({ heard }) => heard))).not.toContain('file:///one');
  });

  it('are not kept when the server is configured anew #own-roots', async () => {
    const world = newPrograms(rooted);
    await world.withRoots('file:///one')('s__a');
    const { slots } = world.host.find('s');
    expect([...slots.all()].map(({ roots }) => roots === undefined)).toEqual([false]);
    const restarted = world.host.find('s').restart({ ...world.host.find('s').config });
    await seconds(10, world.clock);
    await restarted;
    expect([...slots.all()].map(({ roots }) => roots)).toEqual([undefined]);
  });
});

describe('a list of another client', () => {
  it('does not wait for a client that does not answer, though it began the reading #own-roots', async () => {
    const world = newPrograms(asksToList);
    world.legacy({ roots: {} }).request('tools/list');
    await seconds(0.1, world.clock);
    const other = world.legacy({ roots: {} });
    const list = other.request('tools/list');
    await seconds(3, world.clock, rootsOf(other, 'file:///other', list));
    expect(JSON.stringify(list.result)).toContain('s__a');
    await settled();
  });
});

describe('a call that is cancelled while its client is asked', () => {
  it('evicts nothing #own-roots', async () => {
    const config = { s: { concurrency: 64, isolation: 'client', keepAliveMs: 3_600_000 } };
    const world = newPrograms(rooted, { config });
    for (let at = 0; at < 8; at += 1) {
      await world.withRoots(`file:///${at}`)('s__a', { at });
    }
    expect(world.children()).toHaveLength(8);
    const before = world.children().map(({ pid }) => pid);
    const asked = world.modern({ roots: {} }).call('s__a', { x: 1 });
    await settled();
    expect(asked.result['resultType']).toBe('input_required');
    await seconds(620, world.clock);
    expect(world.children().map(({ pid }) => pid)).toEqual(before);
  });
});

describe('a call with a key whose first request has gone', () => {
  it('while the server was started does not hold the second #idempotency-key', async () => {
    const world = newPrograms(rooted);
    world.legacy({}).request('tools/list');
    await seconds(3, world.clock);
    const peer = world.modern({ roots: {} });
    const key = { 'holdfast/idempotencyKey': 'k' };
    const params = { name: 's__a', arguments: { x: 1 } };
    const first = peer.request('tools/call', params, key);
    const second = peer.request('tools/call', params, key);
    await settled();
    first.underway?.cancel();
    await seconds(10, world.clock);
    expect(second.answers).toHaveLength(1);
  });

  it('is not sent without the roots that its client has not said #own-roots #idempotency-key', async () => {
    const world = newPrograms(rooted);
    await world.withRoots('file:///one')('s__a');
    const peer = world.modern({ roots: {} });
    const key = { 'holdfast/idempotencyKey': 'k' };
    const params = { name: 's__a', arguments: { x: 1 } };
    const first = peer.request('tools/call', params, key);
    const second = peer.request('tools/call', params, key);
    first.underway?.cancel();
    await seconds(5, world.clock);
    const sent = () =>
      world.servers.s.heard('tools/call').filter(({ text: line }) => line.includes('"x":1'));
    expect(second.answers).toHaveLength(1);
    expect(sent()).toEqual([]);
  });
});

describe('a server that asks very often', () => {
  it('in one call is refused beyond a bound, and is answered the rest #one-bad-neighbour', async () => {
    const flooding: Script = {
      tools: [tool('a')],
      on: {
        'tools/call': (_heard, child) => {
          for (let at = 0; at < 1_000; at += 1) child.ask(`q${at}`, 'roots/list');
        },
      },
    };
    const world = newPrograms(flooding);
    const call = world.withRoots('file:///one')('s__a');
    const answers = () =>
      world.servers.s.child.heard.filter(({ id }) => String(id).startsWith('q'));
    for (let turn = 0; turn < 20 && world.servers.s.children.length === 0; turn += 1) {
      await seconds(0.1, world.clock);
    }
    await seconds(5, world.clock);
    expect(answers().filter(({ error }) => error !== undefined)).toHaveLength(1_000 - 256);
    expect(answers().filter(({ result }) => result !== undefined)).toHaveLength(256);
    world.servers.s.child.exit();
    await seconds(1, world.clock);
    await call;
  });

  it('with one id is answered once, and refused meanwhile #one-bad-neighbour', async () => {
    const repeating: Script = {
      tools: [tool('a')],
      on: {
        'tools/call': (_heard, child) => {
          for (let at = 0; at < 10; at += 1) child.ask('same', 'roots/list');
        },
      },
    };
    const world = newPrograms(repeating);
    world.modern({ roots: {} }).call('s__a');
    await seconds(2, world.clock);
    const answers = world.servers.s.child.heard.filter(({ id }) => id === 'same');
    expect(answers.filter(({ error }) => error !== undefined)).toHaveLength(9);
  });

  it('and is refused does not separate clients by that #classes', async () => {
    const twice: Script = {
      tools: [tool('a')],
      on: {
        'tools/call': (heard, child) => {
          for (const _time of [1, 2]) child.ask('same', 'roots/list');
          asksFirst(0, heard, child, () => text('done'));
        },
      },
    };
    const world = newPrograms(twice);
    world.modern({ roots: {} }).request('tools/list');
    await seconds(3, world.clock);
    await world.withRoots()('s__a');
    await seconds(3, world.clock);
    expect(world.host.find('s').slots.asks).toBe(false);
  });

  it('with very long requests is refused beyond a number of bytes #one-bad-neighbour', async () => {
    const long = 'x'.repeat(1_000_000);
    const flooding: Script = {
      tools: [tool('a')],
      on: {
        'tools/call': (_heard, child) => {
          for (let at = 0; at < 20; at += 1) child.ask(`q${at}`, 'roots/list', { long });
        },
      },
    };
    const world = newPrograms(flooding);
    world.modern({ roots: {} }).call('s__a');
    await seconds(5, world.clock);
    const refused = world.servers.s.child.heard.filter(({ error }) => error !== undefined);
    expect(refused).toHaveLength(4);
  });
});
