import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';

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
    for (let count = 0; count < 6; count++) {
      legacy({}, greedy).request('tools/call', call('greedy'));
    }
    await settled();
    legacy({}, { id: 'token:modest', role: 'r' }).request('tools/call', call('modest'));
    await settled();
    for (let count = 0; count < 2; count++) await endOne();
    expect(working().slice(2)).toContain('modest');
  });
});
