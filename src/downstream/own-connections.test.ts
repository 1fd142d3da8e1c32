// A server that asks its clients back keeps them apart: what one client has told it must not reach
// another, whatever they do at the same time. Real gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import { type Script, type ScriptedChild, text, tool } from '../../test/support/scripted-server.ts';
import { resultBytes } from '../host/call/answer.ts';
import { toolCall } from '../host/call/operation.ts';
import { localUser } from '../policy/principal.ts';

const ann = { id: 'token:ann', role: null };
const bob = { id: 'token:bob', role: null };

describe('a call that waits while its connection becomes that of another client', () => {
  it('gets a connection of its own, and never runs with the roots of the other #own-roots', async () => {
    const { legacy, clock, host, servers } = newGateway({ s: rooted });
    host.setGuard(() => ({ allow: true }));
    const anns = legacy({ roots: {} }, ann);
    const bobs = legacy({ roots: {} }, bob);
    const first = anns.request('tools/call', { name: 's__a' });
    await settled();
    const second = bobs.request('tools/call', { name: 's__a' });
    await settled();
    const answerAnn = rootsOf(anns, 'file:///ann', first);
    const answerBob = rootsOf(bobs, 'file:///bob', second);
    await seconds(5, clock, answerAnn, answerBob);
    expect(JSON.stringify(first.result)).toContain('file:///ann');
    expect(JSON.stringify(second.result)).toContain('file:///bob');
    expect(servers.s.children).toHaveLength(2);
    expect(servers.s.heard('tools/call')).toHaveLength(2);
  });
});

describe('a client that answers before the lists of its server are read', () => {
  /** Its list of tools comes when it is let. */
  function slowLists() {
    const waiting: (() => void)[] = [];
    let isLet = false;
    const script: Script = {
      ...rooted,
      on: {
        ...rooted.on,
        'tools/list': (heard, child) => {
          const list = { tools: [tool('a')] };
          if (isLet) return list;
          waiting.push(() => child.answer(heard, list));
          return undefined;
        },
      },
    };
    const letThem = () => {
      isLet = true;
      for (const answer of waiting.splice(0)) answer();
    };
    return { script, letThem };
  }

  it('has the connection for itself, and waiting calls get another #own-roots', async () => {
    const { script, letThem } = slowLists();
    const { legacy, clock, servers } = newGateway({ s: script });
    const one = legacy({ roots: {} });
    const other = legacy({ roots: {} });
    const first = one.request('tools/call', { name: 's__a' });
    await seconds(0.3, clock);
    const second = other.request('tools/call', { name: 's__a' });
    await seconds(2, clock, rootsOf(one, 'file:///one', first));
    expect(JSON.stringify(servers.s.children[0]?.heard)).toContain('file:///one');
    letThem();
    await seconds(5, clock, rootsOf(other, 'file:///other', second));
    expect(JSON.stringify(first.result)).toContain('file:///one');
    expect(JSON.stringify(second.result)).toContain('file:///other');
  });
});

describe('calls of two clients of one person that say the same at the same time', () => {
  it.each([{}, { trusted: true }])(
    'are answered each for itself #own-roots: %j',
    async (config) => {
      const { legacy, clock } = newGateway({ s: rooted }, { config: { s: config } });
      const one = legacy({ roots: {} });
      const other = legacy({ roots: {} });
      for (let round = 0; round < 2; round += 1) {
        const first = one.request('tools/call', { name: 's__a' });
        const second = other.request('tools/call', { name: 's__a' });
        const answers = [
          rootsOf(one, 'file:///one', first),
          rootsOf(other, 'file:///other', second),
        ];
        await seconds(5, clock, ...answers);
        expect(JSON.stringify(first.result)).toContain('file:///one');
        expect(JSON.stringify(second.result)).toContain('file:///other');
      }
    },
  );
});

describe('a result that is kept', () => {
  it.each([
    { trusted: true },
    { tools: { a: { cacheMs: 60_000 } } },
    { isolation: 'client', trusted: true },
  ])(
    'is not given to another client of a server that keeps clients apart #own-roots: %j',
    async (config) => {
      const { legacy, clock, servers } = newGateway({ s: rooted }, { config: { s: config } });
      const one = legacy({ roots: {} });
      const first = one.request('tools/call', { name: 's__a' });
      await seconds(5, clock, rootsOf(one, 'file:///one', first));
      const again = one.request('tools/call', { name: 's__a' });
      await seconds(1, clock);
      const other = legacy({ roots: {} });
      const second = other.request('tools/call', { name: 's__a' });
      await seconds(5, clock, rootsOf(other, 'file:///other', second));
      expect(JSON.stringify(first.result)).toContain('file:///one');
      expect(again.answers).toHaveLength(1);
      expect(JSON.stringify(second.result)).toContain('file:///other');
      expect(servers.s.children).toHaveLength(2);
    },
  );
});

describe('a result that was kept before the roots had come', () => {
  it('is not given out afterwards', async () => {
    const { legacy, clock } = newGateway({ s: rooted }, { config: { s: { trusted: true } } });
    const one = legacy({ roots: {} });
    const early = one.request('tools/call', { name: 's__a' });
    // Longer than a server may keep a call waiting for its roots.
    await seconds(4, clock);
    expect(JSON.stringify(early.result)).toContain('none');
    await seconds(2, clock, rootsOf(one, 'file:///one', early));
    const late = one.request('tools/call', { name: 's__a' });
    await seconds(1, clock);
    expect(JSON.stringify(late.result)).toContain('file:///one');
  });
});

describe('roots that a server asks for on a connection that two clients use', () => {
  it('are not sent, and each client has its own connection from then on', async () => {
    const curious: Script = {
      tools: [tool('look'), tool('tell')],
      on: {
        'tools/call': ({ params }, child) => {
          if (params['name'] === 'look') child.ask(`q${child.heard.length}`, 'roots/list');
          return text(rootsTold(child));
        },
      },
    };
    const { legacy, clock, servers } = newGateway({ s: curious });
    const [one, other] = [legacy({ roots: {} }), legacy({ roots: {} })];
    for (const peer of [one, other]) {
      peer.request('tools/call', { name: 's__tell' });
      await seconds(1, clock);
    }
    const looked = one.request('tools/call', { name: 's__look' });
    await seconds(2, clock, rootsOf(one, 'file:///one', looked));
    const said = other.request('tools/call', { name: 's__tell' });
    await seconds(2, clock);
    expect(JSON.stringify(said.result)).toContain('none');
    const again = one.request('tools/call', { name: 's__look' });
    await seconds(2, clock, rootsOf(one, 'file:///one', again));
    const told = one.request('tools/call', { name: 's__tell' });
    await seconds(2, clock);
    expect(JSON.stringify(told.result)).toContain('file:///one');
    expect(servers.s.children.length).toBeGreaterThan(1);
  });
});

describe('a caller that cannot be asked', () => {
  const call = { principal: localUser, server: 's', operation: toolCall('a', '{}') };

  it('does not use the connection that became the own one of a client', async () => {
    const { legacy, clock, host } = newGateway({ s: rooted });
    const one = legacy({ roots: {} });
    const first = one.request('tools/call', { name: 's__a' });
    await seconds(5, clock, rootsOf(one, 'file:///one', first));
    const carried = host.carry(call);
    await seconds(5, clock);
    expect(resultBytes(await carried).toString()).toContain('none');
  });

  it('does not use one either when the client that had the shared one is gone', async () => {
    const { legacy, clock, host } = newGateway({ s: rooted });
    const one = legacy({ roots: {} });
    const first = one.request('tools/call', { name: 's__a' });
    await seconds(5, clock, rootsOf(one, 'file:///one', first));
    one.session.close();
    await seconds(60, clock);
    const other = legacy({ roots: {} });
    const second = other.request('tools/call', { name: 's__a' });
    await seconds(5, clock, rootsOf(other, 'file:///other', second));
    const carried = host.carry(call);
    await seconds(5, clock);
    expect(resultBytes(await carried).toString()).toContain('none');
  });
});

describe('a legacy client of a class that is offered more', () => {
  it('does not join a connection that is being made for a modern client without it', async () => {
    let answerInitialize = () => {};
    let starts = 0;
    const canSample = (child: ScriptedChild) =>
      JSON.stringify(child.heardAs('initialize')[0]?.params ?? {}).includes('"sampling"');
    const choosy: Script = {
      on: {
        initialize: (heard, child) => {
          const greeting = {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 's', version: '1' },
          };
          starts += 1;
          if (starts > 1) return greeting;
          answerInitialize = () => child.answer(heard, greeting);
          return undefined;
        },
        'tools/list': (_heard, child) => ({
          tools: canSample(child) ? [tool('a'), tool('b')] : [tool('a')],
        }),
        'tools/call': (_heard, child) => text(canSample(child) ? 'can sample' : 'cannot'),
      },
    };
    const { legacy, modern, clock } = newGateway({ s: choosy });
    const plain = modern().request('tools/call', { name: 's__a' });
    await settled();
    const rich = legacy({ sampling: {} }).request('tools/call', { name: 's__b' });
    await seconds(1, clock);
    answerInitialize();
    await seconds(15, clock);
    expect(JSON.stringify(plain.result)).toContain('cannot');
    expect(JSON.stringify(rich.result)).toContain('can sample');
  });
});

describe('a call that times out while its server waits for roots', () => {
  it('says that it was not sent', async () => {
    const config = { s: { callTimeoutMs: 1_000 } };
    const { legacy, clock, servers } = newGateway({ s: rooted }, { config });
    const call = legacy({ roots: {} }).request('tools/call', { name: 's__a' });
    await seconds(10, clock);
    expect(call.result).toMatchObject({
      content: [{ text: expect.stringContaining('the call was not sent') }],
      _meta: { 'holdfast/fault': { code: 'timeout', dispatched: 'no' } },
    });
    expect(servers.s.heard('tools/call')).toEqual([]);
  });
});

describe('what a client says to no one in particular', () => {
  it('is not heard on a connection that was another’s own, though that still carries a call #own-roots', async () => {
    const slow: Script = { ...rooted, on: { ...rooted.on, 'tools/call': () => undefined } };
    const { legacy, clock, servers, host } = newGateway({ s: slow });
    const one = legacy({ roots: {} });
    const _meta = { 'holdfast/idempotencyKey': 'k' };
    const first = one.request('tools/call', { name: 's__a', _meta });
    await seconds(5, clock, rootsOf(one, 'file:///one', first));
    // With a key its call goes on without it.
    one.session.close();
    await seconds(1, clock);
    const [slot] = host.find('s').slots.all();
    expect(slot?.isSpent).toBe(true);
    legacy({ roots: {} }).note('notifications/own');
    await seconds(1, clock);
    expect(servers.s.heard('notifications/own')).toEqual([]);
  });
});
