// Roots that a client tells late: since it was asked, others may have come to the connection. Whom they
// may be told to is decided when they come. Real gateway and host, scripted servers, manual clock.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { rooted, rootsOf, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import {
  type Heard,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';
import { resultBytes } from '../host/call/answer.ts';
import { toolCall } from '../host/call/operation.ts';
import { localUser } from '../policy/principal.ts';

const ann = { id: 'token:ann', role: null };
const bob = { id: 'token:bob', role: null };
/** Longer than a call waits for the answer to the first question. */
const tooLate = 4;

function newClients(script: Script) {
  const world = newGateway({ s: script });
  world.host.setGuard(() => ({ allow: true }));
  const anns = world.legacy({ roots: {} }, ann);
  const bobs = world.legacy({ roots: {} }, bob);
  return { ...world, anns, bobs };
}

describe('roots that a client tells after another has called on the same connection', () => {
  it('are not sent to it, and the client has a connection of its own from then on #own-roots', async () => {
    const { anns, clock, host, servers } = newClients(rooted);
    const nobodys = () =>
      host.carry({ principal: localUser, server: 's', operation: toolCall('a', '{}') });
    const first = anns.request('tools/call', { name: 's__a' });
    await seconds(0.3, clock);
    // Somebody who cannot be asked does not wait for roots.
    const second = nobodys();
    await seconds(0.1, clock);
    expect(servers.s.children).toHaveLength(1);
    await seconds(3, clock, rootsOf(anns, 'file:///ann', first));
    const third = nobodys();
    await seconds(3, clock);
    for (const carried of [second, third]) {
      expect(resultBytes(await carried).toString()).toContain('none');
    }
    expect(servers.s.children[0]?.answerTo('start').result).toEqual({ roots: [] });
    const again = anns.request('tools/call', { name: 's__a' });
    await seconds(3, clock, rootsOf(anns, 'file:///ann', again));
    expect(JSON.stringify(again.result)).toContain('file:///ann');
    expect(JSON.stringify(servers.s.children[0]?.heard)).not.toContain('file:///ann');
  });

  it('do not reach the call of the other that is under way #own-roots', async () => {
    const open: [Heard, ScriptedChild][] = [];
    const hold = (heard: Heard, child: ScriptedChild) => void open.push([heard, child]);
    const slow: Script = { ...rooted, on: { ...rooted.on, 'tools/call': hold } };
    const { anns, bobs, clock } = newClients(slow);
    const first = anns.request('tools/call', { name: 's__a' });
    await seconds(tooLate, clock);
    const second = bobs.request('tools/call', { name: 's__a' });
    await seconds(tooLate, clock);
    expect(open).toHaveLength(2);
    await seconds(1, clock, rootsOf(anns, 'file:///ann', first));
    for (const [heard, child] of open) child.answer(heard, text(rootsTold(child)));
    await seconds(1, clock);
    expect(JSON.stringify(second.result)).toContain('none');
  });

  it('are not sent either when the request came in the middle of a call #own-roots', async () => {
    const curious: Script = {
      tools: [tool('look'), tool('tell')],
      on: {
        'tools/call': ({ params }, child) => {
          if (params['name'] === 'look') child.ask('look', 'roots/list');
          return text(rootsTold(child));
        },
      },
    };
    const { anns, bobs, clock, servers } = newClients(curious);
    const looked = anns.request('tools/call', { name: 's__look' });
    await seconds(0.9, clock);
    expect(looked.messages).toMatchObject([{ method: 'roots/list' }]);
    bobs.request('tools/call', { name: 's__tell' });
    await seconds(1, clock);
    await seconds(1, clock, rootsOf(anns, 'file:///ann', looked));
    expect(servers.s.children).toHaveLength(1);
    expect(servers.s.child.answerTo('look').result).toEqual({ roots: [] });
  });

  it('are sent if the client is still the only one', async () => {
    const { anns, bobs, clock, servers } = newClients(rooted);
    const first = anns.request('tools/call', { name: 's__a' });
    await seconds(tooLate, clock);
    await seconds(1, clock, rootsOf(anns, 'file:///ann', first));
    const second = bobs.request('tools/call', { name: 's__a' });
    await seconds(3, clock);
    const again = anns.request('tools/call', { name: 's__a' });
    await seconds(1, clock);
    expect(JSON.stringify(second.result)).toContain('none');
    expect(JSON.stringify(again.result)).toContain('file:///ann');
    expect(servers.s.children).toHaveLength(2);
  });
});

describe('roots that wait for a list which does not come', () => {
  const unlisted: Script = {
    ...rooted,
    on: { ...rooted.on, 'prompts/list': () => undefined },
  };

  it('reach the server before the call, however long their client has thought #own-roots', async () => {
    const { anns, clock } = newClients(unlisted);
    const call = anns.request('tools/call', { name: 's__a' });
    await seconds(1.5, clock);
    await seconds(2, clock, rootsOf(anns, 'file:///ann', call));
    expect(JSON.stringify(call.result)).toContain('file:///ann');
  });

  it('do not wait where it is for their client only #own-roots', async () => {
    const { anns, clock, servers } = newClients(unlisted);
    const call = anns.request('tools/call', { name: 's__a' });
    await seconds(2, clock, rootsOf(anns, 'file:///ann', call));
    expect(rootsTold(servers.s.child)).toContain('file:///ann');
    anns.note('notifications/roots/list_changed');
    await settled();
    rootsOf(anns, 'file:///new')();
    await settled();
    expect(rootsTold(servers.s.child)).toContain('file:///new');
  });
});

describe('a client that leaves before it has told its roots', () => {
  it('leaves the server to the next one, which is asked for its own #roots', async () => {
    const { anns, bobs, clock, servers } = newClients(rooted);
    anns.request('tools/list');
    await seconds(0.3, clock);
    anns.session.close();
    await seconds(3, clock);
    const call = bobs.request('tools/call', { name: 's__a' });
    await seconds(3, clock, rootsOf(bobs, 'file:///bob', call));
    expect(JSON.stringify(call.result)).toContain('file:///bob');
    expect(servers.s.children).toHaveLength(1);
  });
});

describe('a server that is busy with the roots it was told', () => {
  it('is sent the first call when it answers again #roots', async () => {
    const busy: Script = { ...rooted, on: { ...rooted.on, ping: () => undefined } };
    const { anns, clock, servers } = newClients(busy);
    const call = anns.request('tools/call', { name: 's__a' });
    await seconds(0.5, clock, rootsOf(anns, 'file:///ann', call));
    const { child } = servers.s;
    expect(rootsTold(child)).toContain('file:///ann');
    expect(child.heardAs('tools/call')).toHaveLength(0);
    child.answer(child.last('ping'), {});
    await settled();
    expect(child.heardAs('tools/call')).toHaveLength(1);
  });
});
