// Several classes of clients in front of one server of the modern era, such as another Holdfast: one connection serves
// all of them, and every list is asked for with the capabilities of the clients that it is for.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Heard, type Script, text, tool } from '../../test/support/scripted-server.ts';

type Reply = { readonly result: Record<string, unknown> };

const names = ({ result }: Reply, list = 'tools') =>
  (result[list] as { name: string }[]).map(({ name }) => name);

function declaredIn({ params }: Heard): object {
  const meta = params['_meta'] as Record<string, object>;
  return meta['io.modelcontextprotocol/clientCapabilities'] ?? {};
}

const classesIn = (heard: readonly Heard[]) =>
  heard.map((one) => Object.keys(declaredIn(one)).join()).sort();

/** Offers `more` beside `all` to whoever can be asked for sampling, and the prompt `p` as well. */
function choosy(more: () => readonly string[] = () => ['b'], all = () => ['a']): Script {
  const isRich = (heard: Heard) => 'sampling' in declaredIn(heard);
  return {
    era: 'modern',
    instructions: 'be kind',
    on: {
      'tools/list': (heard) => ({
        tools: [...all(), ...(isRich(heard) ? more() : [])].map((name) => tool(name)),
      }),
      'prompts/list': (heard) => ({ prompts: isRich(heard) ? [{ name: 'p' }] : [] }),
      'tools/call': (heard) => text(Object.keys(declaredIn(heard)).join()),
    },
  };
}

const rich = { sampling: {} };

/** Its one tool is safe to repeat; what is open is not answered: the list for those who can be asked for sampling, calls. */
function halting() {
  const tools = [tool('a', { annotations: { readOnlyHint: true } })];
  const isOpen = { list: false, call: false };
  const script: Script = {
    era: 'modern',
    on: {
      'tools/list': (heard) =>
        isOpen.list && 'sampling' in declaredIn(heard) ? undefined : { tools },
      'tools/call': () => (isOpen.call ? undefined : text('done')),
    },
  };
  const gateway = newGateway({ s: script }, { config: { s: { trusted: true } } });
  return { ...gateway, tools, isOpen };
}

describe('classes of clients of a modern server', () => {
  it.each(['modern', 'legacy'] as const)(
    'of the %s era each see their own lists, on one connection #classes',
    async (era) => {
      const { servers, modern, [era]: client } = newGateway({ s: choosy() });
      const [able, plain] = [client(rich), client({})];
      for (const _again of [1, 2]) {
        const lists = [able, plain].map((peer) => peer.request('tools/list'));
        await settled();
        expect(lists.map((list) => names(list))).toEqual([['s__a', 's__b'], ['s__a']]);
      }
      const prompts = [able, plain].map((peer) => peer.request('prompts/list'));
      await settled();
      expect(prompts.map((list) => names(list, 'prompts'))).toEqual([['s__p'], []]);
      expect(servers.s.children).toHaveLength(1);
      const discovered = [modern(rich), modern()].map((peer) => peer.request('server/discover'));
      await settled();
      for (const { result } of discovered) expect(result['instructions']).toContain('be kind');
    },
  );

  it('see another list than the tools of their own, though they ask for that first #classes', async () => {
    const { modern } = newGateway({ s: choosy() });
    modern().request('tools/list');
    await settled();
    const prompts = modern(rich).request('prompts/list');
    await settled();
    expect(names(prompts, 'prompts')).toEqual(['s__p']);
  });

  it('share one connection where the operator wants that, and see their own lists #classes', async () => {
    const { modern } = newGateway({ s: choosy() }, { config: { s: { isolation: 'shared' } } });
    const lists = [modern(rich), modern()].map((peer) => peer.request('tools/list'));
    await settled();
    expect(lists.map((list) => names(list))).toEqual([['s__a', 's__b'], ['s__a']]);
  });

  it('call what their own class is listed, without having listed it #classes', async () => {
    const { modern, servers } = newGateway({ s: choosy() });
    modern().request('tools/list');
    await settled();
    const [able, plain] = [modern(rich).call('s__b'), modern().call('s__b')];
    await settled();
    expect(able.result['content']).toEqual([{ type: 'text', text: 'sampling' }]);
    expect(plain.answered.error?.message).toContain('Unknown tool');
    expect(servers.s.heard('tools/call')).toHaveLength(1);
  });

  it('are each listened for, and all of their lists are read again after a change #classes #list-news', async () => {
    let [all, more] = [['a'], ['b']];
    const script = choosy(
      () => more,
      () => all,
    );
    const { modern, servers, clock } = newGateway({ s: script });
    const [able, plain] = [modern(rich), modern()];
    for (const peer of [able, plain]) peer.request('tools/list');
    await settled();
    const { child } = servers.s;
    expect(classesIn(child.heardAs('subscriptions/listen'))).toEqual(['', 'sampling']);
    [all, more] = [['d'], ['c']];
    child.note('notifications/tools/list_changed');
    await clock.advanceAsync(1_000);
    const lists = [plain, able].map((peer) => peer.request('tools/list'));
    await settled();
    expect(lists.map((list) => names(list))).toEqual([['s__d'], ['s__d', 's__c']]);
  });

  it('decide by what the new process lists to their own class after a crash #classes', async () => {
    let more = ['b'];
    const { modern, servers, clock } = newGateway({ s: choosy(() => more) });
    const [able, plain] = [modern(rich), modern()];
    for (const peer of [plain, able]) peer.request('tools/list');
    await settled();
    more = [];
    servers.s.child.exit();
    await clock.advanceAsync(10_000);
    const first = plain.call('s__a');
    await settled();
    expect(first.result['content']).toEqual([{ type: 'text', text: '' }]);
    const gone = able.call('s__b');
    await settled();
    expect(gone.answered.error?.message).toContain('Unknown tool');
    expect(servers.s.child.heardAs('tools/call')).toHaveLength(1);
  });

  it('know whether a call may be repeated, though their list is still being read when it is made #classes #read-survives', async () => {
    const { modern, servers, clock, tools, isOpen } = halting();
    const [able, plain] = [modern(rich), modern()];
    for (const peer of [plain, able]) {
      peer.request('tools/list');
      await settled();
    }
    isOpen.list = true;
    servers.s.child.exit();
    await clock.advanceAsync(10_000);
    plain.call('s__a');
    await settled();
    const { child } = servers.s;
    isOpen.call = true;
    const called = able.call('s__a');
    await settled();
    expect(child.heardAs('tools/call')).toHaveLength(1);
    const [, list] = child.heardAs('tools/list');
    if (list) child.answer(list, { tools });
    await settled();
    expect(child.heardAs('tools/call')).toHaveLength(2);
    Object.assign(isOpen, { list: false, call: false });
    child.exit();
    await clock.advanceAsync(10_000);
    expect(called.result['content']).toEqual([{ type: 'text', text: 'done' }]);
  });

  it('have a call repeated, though the server is lost again while their list is read #classes #read-survives', async () => {
    const { modern, servers, clock, isOpen } = halting();
    const [able, plain] = [modern(rich), modern()];
    for (const peer of [plain, able]) {
      peer.request('tools/list');
      await settled();
    }
    isOpen.call = true;
    const called = able.call('s__a');
    await settled();
    isOpen.list = true;
    servers.s.child.exit();
    await clock.advanceAsync(2_000);
    expect(servers.s.children).toHaveLength(2);
    Object.assign(isOpen, { list: false, call: false });
    servers.s.child.exit();
    await clock.advanceAsync(10_000);
    expect(called.result['content']).toEqual([{ type: 'text', text: 'done' }]);
  });

  it('are each listened for on a new connection, and told if their lists are others, though they ask for nothing #classes #list-news', async () => {
    let more = ['b'];
    const { modern, servers, clock } = newGateway({ s: choosy(() => more) });
    const [able, plain] = [modern(rich, { key: 'able' }), modern({}, { key: 'plain' })];
    for (const peer of [plain, able]) {
      peer.request('tools/list');
      await settled();
    }
    const notifications = { toolsListChanged: true };
    const listening = able.request('subscriptions/listen', { notifications });
    await clock.advanceAsync(5_000);
    const before = listening.sent.length;
    more = ['c'];
    servers.s.child.exit();
    await clock.advanceAsync(10_000);
    plain.call('s__a');
    await clock.advanceAsync(5_000);
    const { child } = servers.s;
    expect(servers.s.children).toHaveLength(2);
    expect(classesIn(child.heardAs('subscriptions/listen'))).toEqual(['', 'sampling']);
    expect(classesIn(child.heardAs('tools/list'))).toEqual(['', 'sampling']);
    expect(listening.sent.slice(before)).toEqual([
      expect.stringContaining('notifications/tools/list_changed'),
    ]);
  });

  it('that make room for others are not listened for any more, and those that stay are #classes #no-growth', async () => {
    const { modern, servers, clock } = newGateway({ s: choosy() });
    const strange = (at: number) => ({ extensions: { [`x/${at}`]: {} } });
    const list = async (capabilities: object) => {
      modern(capabilities).request('tools/list');
      await clock.advanceAsync(3_000);
    };
    await list({});
    for (let at = 0; at < 7; at += 1) await list(strange(at));
    // The oldest is used all the time, and the last is not.
    for (let minute = 0; minute < 25; minute += 1) {
      for (let at = 0; at < 6; at += 1) modern(strange(at)).request('tools/list');
      modern().call('s__a');
      await clock.advanceAsync(30_000);
    }
    await list(rich);
    expect(servers.s.children).toHaveLength(1);
    const { child } = servers.s;
    const over = new Set(
      child.heardAs('notifications/cancelled').map(({ params }) => params['requestId']),
    );
    const open = child.heardAs('subscriptions/listen').filter(({ id }) => !over.has(id));
    const classes = open.map((heard) => JSON.stringify(declaredIn(heard))).sort();
    const kept = [{}, rich, ...[0, 1, 2, 3, 4, 5].map(strange)];
    expect(classes).toEqual(kept.map((one) => JSON.stringify(one)).sort());
  });

  it('are not shown what was listed to one client alone, though its connection became its own meanwhile #classes #own-roots', async () => {
    const open: Heard[] = [];
    const script = choosy(() => ['secret']);
    const held: Script = {
      ...script,
      on: {
        ...script.on,
        'tools/list': (heard, child) => {
          const isHeld = 'sampling' in declaredIn(heard) && open.length === 0;
          if (isHeld) open.push(heard);
          return isHeld ? undefined : script.on?.['tools/list']?.(heard, child);
        },
      },
    };
    const world = newGateway({ s: held }, { config: { s: { isolation: 'client' } } });
    const { modern, servers, host } = world;
    modern().request('tools/list');
    await settled();
    const list = modern(rich).request('tools/list');
    await settled();
    modern().call('s__a');
    await settled();
    for (const heard of open) servers.s.child.answer(heard, { tools: [tool('secret')] });
    await settled();
    expect([...host.find('s').offerings.sharedKeys('tools')]).toEqual(['a']);
    expect(names(list)).toEqual(['s__a', 's__secret']);
  });

  it('are shown their own lists by a later run, before the server is started #classes', async () => {
    const before = newGateway({ s: choosy() });
    for (const peer of [before.modern(rich), before.modern()]) peer.request('tools/list');
    await settled();
    const later = newGateway({ s: choosy() }, { store: before.store });
    const lists = [later.modern(rich), later.modern()].map((peer) => peer.request('tools/list'));
    await settled();
    expect(lists.map((list) => names(list))).toEqual([['s__a', 's__b'], ['s__a']]);
    expect(later.servers.s.children).toEqual([]);
  });

  it('are bounded: a further one is served as the nearest #classes #no-growth', async () => {
    const { modern, servers, host, clock } = newGateway({ s: choosy() });
    const strange = (at: number) => ({ extensions: { [`x/${at}`]: {} } });
    const list = async (capabilities: object) => {
      const reply = modern(capabilities).request('tools/list');
      await clock.advanceAsync(3_000);
      return names(reply);
    };
    await list({});
    await list(rich);
    for (let at = 0; at < 20; at += 1) expect(await list(strange(at))).toEqual(['s__a']);
    expect(await list(rich)).toEqual(['s__a', 's__b']);
    const lists = servers.s.heard('tools/list');
    const asked = new Set(lists.map((heard) => JSON.stringify(declaredIn(heard))));
    expect(asked.size).toBe(8);
    // And of them the lists are not read again.
    expect(servers.s.heard('tools/list')).toHaveLength(8);
    expect(servers.s.heard('subscriptions/listen')).toHaveLength(8);
    // Those that nobody uses any more make room.
    await clock.advanceAsync(600_000);
    await list({ ...rich, elicitation: {} });
    expect(host.find('s').offerings.definitions('tools')).toHaveLength(2);
    expect(classesIn(servers.s.heard('tools/list'))).toContain('sampling,elicitation');
  });
});
