// Changes of a server's lists that come at a bad moment: while the list is read, while nobody reads it,
// before the server is asked to tell of changes. Whoever has seen the old list hears of the new one, or is
// given it. Real gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { newGateway, type RecordedReply, settled } from '../../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';

const changed = 'notifications/tools/list_changed';

function names({ result }: RecordedReply, list = 'tools'): readonly unknown[] {
  return (result[list] as Record<string, unknown>[]).map(({ name }) => name);
}

describe('a list that changes', () => {
  it('while it is read is read once more for those who ask afterwards #list-news', async () => {
    const answers: ((name: string) => void)[] = [];
    const slow: Script = {
      on: {
        'tools/list': (heard, child) => {
          answers.push((name) => child.answer(heard, { tools: [tool(name)] }));
          return undefined;
        },
      },
    };
    const { legacy, servers, clock } = newGateway({ s: { tools: [tool('first')] } });
    const peer = legacy();
    peer.request('tools/list');
    await settled();
    servers.s.script = slow;
    servers.s.child.note(changed);
    await clock.advanceAsync(20);
    peer.request('tools/list');
    await settled();
    servers.s.child.note(changed);
    await clock.advanceAsync(20);
    const list = peer.request('tools/list');
    await settled();
    answers[0]?.('second');
    await settled();
    answers[1]?.('third');
    await settled();
    expect(names(list)).toEqual(['s__third']);
  });

  it('again and again while it is read is given as it was read at last', async () => {
    const restless: Script = {
      on: {
        'tools/list': (_heard, child) => {
          child.note(changed);
          return { tools: [tool('a')] };
        },
      },
    };
    const { legacy, servers } = newGateway({ s: restless });
    const list = legacy().request('tools/list');
    await settled();
    expect(names(list)).toEqual(['s__a']);
    expect(servers.s.heard('tools/list').length).toBeLessThan(10);
  });

  it('while its server is gone is told to one who was shown the old one #list-news', async () => {
    const { legacy, servers, clock } = newGateway({ s: { tools: [tool('old')] } });
    legacy().request('tools/list');
    await settled();
    servers.s.child.note(changed);
    await clock.advanceAsync(20);
    servers.s.child.exit();
    await clock.advanceAsync(1_000);
    const peer = legacy();
    const list = peer.request('tools/list');
    await settled();
    expect(names(list)).toEqual(['s__old']);
    servers.s.script = { tools: [tool('old'), tool('new')], on: { 'tools/call': () => text('') } };
    peer.request('tools/call', { name: 's__old' });
    await clock.advanceAsync(2_000);
    expect(peer.methods()).toEqual([changed]);
  });

  it.each([
    { prompts: [{ name: 'p' }], news: ['notifications/prompts/list_changed'] },
    { prompts: [], news: [] },
  ])(
    'that was never read is told, if it has something, to one who was answered without it #list-news',
    async ({ prompts, news }) => {
      const mute: Script = { tools: [tool('x')], on: { 'prompts/list': () => undefined } };
      const { legacy, servers, clock } = newGateway({ s: mute });
      legacy().request('tools/list');
      await clock.advanceAsync(10_000);
      servers.s.child.exit();
      await clock.advanceAsync(1_000);
      const peer = legacy();
      const list = peer.request('prompts/list');
      await settled();
      expect(names(list, 'prompts')).toEqual([]);
      const call = { 'tools/call': () => text('') };
      servers.s.script = { tools: [tool('x')], prompts, on: call };
      peer.request('tools/call', { name: 's__x' });
      await clock.advanceAsync(2_000);
      expect(peer.methods()).toEqual(news);
    },
  );
});

describe('a modern server', () => {
  it('whose stream of changes was away is read anew for whoever asks next #list-news', async () => {
    const script: Script = { era: 'modern', tools: [tool('old')] };
    const { modern, servers, clock } = newGateway({ s: script });
    const peer = modern();
    peer.request('tools/list');
    await settled();
    const { child } = servers.s;
    child.answer(child.last('subscriptions/listen'), { resultType: 'complete' });
    await settled();
    // Nobody hears of it now.
    servers.s.script = { ...script, tools: [tool('new')] };
    await clock.advanceAsync(1_000);
    expect(child.heardAs('subscriptions/listen')).toHaveLength(2);
    const list = peer.request('tools/list');
    await settled();
    expect(names(list)).toEqual(['s__new']);
    peer.request('tools/list');
    await settled();
    expect(child.heardAs('tools/list')).toHaveLength(2);
  });

  it('is asked to tell of changes before its lists are read, so that none falls between #list-news', async () => {
    const { modern, servers } = newGateway({ s: { era: 'modern', tools: [tool('x')] } });
    modern().request('tools/list');
    await settled();
    const asked = servers.s.child.heard.flatMap(({ method }) => method ?? []);
    expect(asked.indexOf('subscriptions/listen')).toBeGreaterThan(0);
    expect(asked.indexOf('subscriptions/listen')).toBeLessThan(asked.indexOf('tools/list'));
    expect(asked.filter((method) => method === 'subscriptions/listen')).toHaveLength(1);
  });
});
