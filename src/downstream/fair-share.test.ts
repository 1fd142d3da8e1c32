import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Heard, type ScriptedChild, text, tool } from '../../test/support/scripted-server.ts';

/** A server that works on two calls at a time and ends one when it is told to. */
function slowServer(queue: number, settings: object = {}) {
  const world = newGateway(
    { s: { tools: [tool('slow')], on: { 'tools/call': () => undefined } } },
    { config: { s: { concurrency: 2, queue } }, settings: { ...settings } },
  );
  const call = (who: string) => ({ name: 's__slow', arguments: { who } });
  const heard = () => world.servers.s.heard('tools/call');
  const working = () => heard().map(({ params }) => (params['arguments'] as { who: string }).who);
  let ended = 0;
  const endOne = async () => {
    const oldest = heard()[ended++];
    if (oldest) world.servers.s.child.answer(oldest, text(''));
    await settled();
  };
  return { ...world, call, working, endOne };
}

describe('clients that share a server', () => {
  it('each get the next place in turn, however many calls one of them has waiting #fair-share', async () => {
    const { legacy, modern, call, working, endOne } = slowServer(100);
    const greedy = legacy();
    for (let count = 0; count < 50; count++) greedy.request('tools/call', call('greedy'));
    await settled();
    legacy().request('tools/call', call('legacy'));
    modern({}, { key: 'another' }).request('tools/call', call('modern'));
    await settled();
    expect(working()).toEqual(['greedy', 'greedy']);
    for (let count = 0; count < 3; count++) await endOne();
    expect(working().slice(2)).toEqual(['greedy', 'legacy', 'modern']);
  });

  it('are not refused because another has filled the queue #fair-share', async () => {
    const { legacy, call, working, endOne } = slowServer(8);
    const greedy = legacy();
    const many = Array.from({ length: 10 }, () => greedy.request('tools/call', call('greedy')));
    await settled();
    const other = legacy().request('tools/call', call('other'));
    await settled();
    expect(other.answers).toEqual([]);
    expect(many.filter(({ answers }) => answers.length > 0).length).toBe(1);
    expect(many.at(-1)?.result).toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': { code: 'overloaded', dispatched: 'no', retryable: true } },
    });
    await endOne();
    await endOne();
    expect(working().slice(2)).toEqual(['greedy', 'other']);
  });
});

describe('principals that share a server', () => {
  it('get the next place in turn, however many sessions one of them has #fair-share #principal-share', async () => {
    const roles = { r: { allow: ['s/*'] } };
    const { legacy, call, working, endOne } = slowServer(100, { roles });
    const greedy = { id: 'token:greedy', role: 'r' };
    const grasping = { id: 'token:grasping', role: 'r' };
    for (let count = 0; count < 6; count++) {
      legacy({}, greedy).request('tools/call', call('greedy'));
      legacy({}, grasping).request('tools/call', call('grasping'));
    }
    await settled();
    expect(working()).toEqual(['greedy', 'grasping']);
    legacy({}, { id: 'token:modest', role: 'r' }).request('tools/call', call('modest'));
    await settled();
    for (let count = 0; count < 3; count++) await endOne();
    expect(working().slice(2)).toContain('modest');
  });

  it('find places, however many questions another leaves unanswered; each has an end #principal-share', async () => {
    const { legacy, servers, clock } = askingServer({ isolation: 'client', maxCallMs: 86_400_000 });
    const sessions = Array.from({ length: 12 }, () =>
      legacy({ elicitation: {} }, { id: 'token:greedy', role: 'r' }),
    );
    const calls = sessions.map((one) => one.request('tools/call', call('ask')));
    await settled();
    const asked = () => calls.filter(({ sent }) => sent.join().includes('elicitation/create'));
    expect(asked().length).toBe(6);
    const modest = legacy({}, { id: 'token:modest', role: 'r' });
    const quick = modest.request('tools/call', call('quick'));
    await settled();
    expect(quick.result).toEqual(text('quick'));
    clock.advance(600_001);
    await settled();
    const [first] = asked();
    expect(first?.sent.join()).toContain('notifications/cancelled');
    const refusals = servers.s.children.flatMap(({ heard }) => heard.filter(({ error }) => error));
    expect(refusals.map(({ error }) => error)).toEqual(
      Array.from({ length: 6 }, () => ({
        code: -32601,
        message: 'the client has not answered in time',
      })),
    );
  });

  it('get the place of a call whose session ends while it is asked #principal-share', async () => {
    const { legacy, host } = askingServer();
    const greedy = legacy({ elicitation: {} }, { id: 'token:greedy', role: 'r' });
    greedy.request('tools/call', call('ask'));
    await settled();
    const running = () => host.status().servers[0]?.inFlight;
    expect(running()).toBe(1);
    greedy.session.close();
    await settled();
    expect(running()).toBe(0);
  });
});

const call = (name: string) => ({ name: `s__${name}`, arguments: {} });

/** A server whose tool `ask` asks its client. */
function askingServer(config: object = {}) {
  const on = {
    'tools/call': ({ params, id }: Heard, child: ScriptedChild) => {
      if (params['name'] === 'quick') return text('quick');
      child.ask(`q${id}`, 'elicitation/create', { message: '?' });
      return undefined;
    },
  };
  const script = { tools: [tool('ask'), tool('quick')], on };
  const settings = { roles: { r: { allow: ['s/*'] } } };
  return newGateway({ s: script }, { config: { s: { concurrency: 8, ...config } }, settings });
}
