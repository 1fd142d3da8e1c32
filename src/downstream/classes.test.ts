// Several classes of clients in front of one server: what one of them does must not change what another
// sees, or cost more than its own share.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, type ScriptedChild, text, tool } from '../../test/support/scripted-server.ts';
import { scanMessage } from '../wire/scan.ts';

type Reply = { readonly answers: readonly string[]; readonly result: Record<string, unknown> };

const names = ({ result }: Reply) =>
  (result['tools'] as { name: string }[]).map(({ name }) => name).filter((name) => name[0] === 's');

function can(child: ScriptedChild, what: string): boolean {
  const [greeted] = child.heardAs('initialize');
  const { capabilities = {} } = (greeted?.params ?? {}) as { capabilities?: object };
  return what in capabilities;
}

/** Offers `b` beside `a` to whoever can be asked for sampling. */
const choosy: Script = {
  on: {
    'tools/list': (_heard, child) => ({
      tools: can(child, 'sampling') ? [tool('a'), tool('b')] : [tool('a')],
    }),
    'tools/call': () => text('done'),
  },
};

describe('two classes of clients', () => {
  it('that list at the same time, before anything is known, each see their own #classes', async () => {
    const { legacy } = newGateway({ s: choosy });
    const lists = [legacy({ sampling: {} }), legacy()].map((peer) => peer.request('tools/list'));
    await settled();
    expect(lists.map(names)).toEqual([['s__a', 's__b'], ['s__a']]);
  });

  it('are told apart however many others have looked meanwhile #classes', async () => {
    let answer: (() => void) | undefined;
    const slow: Script = {
      on: {
        'tools/list': (heard, child) => {
          answer ??= () => child.answer(heard, { tools: [tool('a')] });
          return undefined;
        },
      },
    };
    const { legacy, clock } = newGateway({ s: slow });
    const first = legacy();
    first.request('tools/list');
    await settled();
    for (let at = 0; at < 12; at++) {
      legacy({ extensions: { [`x/${at}`]: {} } }).request('tools/list');
      await settled();
    }
    answer?.();
    await settled();
    await clock.advanceAsync(20_000);
    const again = first.request('tools/list');
    await clock.advanceAsync(5_000);
    expect(names(again)).toEqual(['s__a']);
  });

  it('cannot open the circuit for each other by listing #classes', async () => {
    const fussy: Script = {
      ...choosy,
      on: {
        ...choosy.on,
        initialize: (heard, child) => {
          const { capabilities } = heard.params as { capabilities: object };
          if ('sampling' in capabilities) return void child.exit();
          const serverInfo = { name: 's', version: '1' };
          return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
        },
      },
    };
    const { legacy, clock, host } = newGateway({ s: fussy });
    const plain = legacy();
    plain.request('tools/list');
    await settled();
    const rich = legacy({ sampling: {} });
    for (let count = 0; count < 30; count++) {
      rich.request('tools/list');
      await clock.advanceAsync(3_000);
    }
    expect(host.find('s').supervisor.isEjected).toBe(false);
    const call = plain.request('tools/call', { name: 's__a' });
    await settled();
    expect(call.result).toEqual(text('done'));
  });
});

describe('a class for which nothing was read', () => {
  /** Offers `b` to whoever can do anything, and takes its time to greet those who fill in forms. */
  const slowToForms = (open: (() => void)[]): Script => ({
    on: {
      initialize: (heard, child) => {
        const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
        if (!('elicitation' in (heard.params['capabilities'] as object))) return result;
        open.push(() => child.answer(heard, result));
        return undefined;
      },
      'tools/list': (_heard, child) => ({
        tools:
          can(child, 'sampling') || can(child, 'elicitation')
            ? [tool('a'), tool('b')]
            : [tool('a')],
      }),
    },
  });
  const serverInfo = { name: 's', version: '1' };

  it('is told when its own list differs from what it was shown, though another has the same #classes', async () => {
    const open: (() => void)[] = [];
    const { legacy, clock } = newGateway({ s: slowToForms(open) });
    for (const capabilities of [{}, { sampling: {}, roots: {} }]) {
      legacy(capabilities).request('tools/list');
      await clock.advanceAsync(1_000);
    }
    const forms = legacy({ elicitation: {} });
    const borrowed = forms.request('tools/list');
    await clock.advanceAsync(3_000);
    expect([names(borrowed), forms.methods()]).toEqual([['s__a'], []]);
    for (const answer of open) answer();
    await clock.advanceAsync(1_000);
    expect(forms.methods()).toEqual(['notifications/tools/list_changed']);
    const own = forms.request('tools/list');
    await settled();
    expect(names(own)).toEqual(['s__a', 's__b']);
  });

  it('says nothing about whether the server treats classes alike #classes', async () => {
    const open: (() => void)[] = [];
    const { legacy, clock, host } = newGateway({ s: slowToForms(open) });
    const { facts } = host.find('s');
    legacy().request('tools/list');
    await clock.advanceAsync(1_000);
    const borrowed = legacy({ elicitation: {} }).request('tools/list');
    await clock.advanceAsync(3_000);
    expect([names(borrowed), facts.now.classes]).toEqual([['s__a'], undefined]);
    for (const answer of open) answer();
    await clock.advanceAsync(1_000);
    expect(facts.now.classes).toBe('differ');
  });

  it('starts no more servers at a time for its lists than the first class does #first-list', async () => {
    const scripts = Object.fromEntries(
      Array.from({ length: 7 }, (_, at) => [`s${at}`, slowToForms([])]),
    );
    const { legacy, clock, servers } = newGateway(scripts);
    const children = () => Object.values(servers).flatMap((server) => server.children);
    legacy().request('tools/list');
    await clock.advanceAsync(1_000);
    expect(children()).toHaveLength(7);
    legacy({ elicitation: {} }).request('tools/list');
    await clock.advanceAsync(1_000);
    // One processor has four places.
    expect(children()).toHaveLength(7 + 4);
  });
});

describe('a client that leaves while servers wait for their turn to start', () => {
  const hangs: Script = { on: { initialize: () => undefined } };
  const good: Script = { tools: [tool('a')] };
  // Four places are taken by servers that hang; the fifth waits for one of them.
  const scripts = { h1: hangs, h2: hangs, h3: hangs, h4: hangs, s: good };

  it('does not take the list from another that waits for the same #first-list', async () => {
    const { legacy, clock } = newGateway(scripts);
    const leaves = legacy();
    leaves.request('tools/list');
    await settled();
    const stays = legacy();
    const list = stays.request('tools/list');
    leaves.session.close();
    await clock.advanceAsync(12_000);
    expect(names(list)).toEqual(['s__a']);
  });

  it('starts nothing when their turn comes, and the next who asks is not told to wait #first-list', async () => {
    const { legacy, clock, servers } = newGateway(scripts);
    const leaves = legacy();
    leaves.request('tools/list');
    await settled();
    leaves.session.close();
    await clock.advanceAsync(12_000);
    expect(servers.s.children).toEqual([]);
    const list = legacy().request('tools/list');
    await clock.advanceAsync(12_000);
    expect(names(list)).toEqual(['s__a']);
  });
});

describe('clients of a server that asks', () => {
  it('that list and leave leave no process and no slot behind #classes', async () => {
    const { legacy, servers, host, clock } = newGateway({ s: choosy });
    const { slots } = host.find('s');
    const first = legacy({ sampling: {} });
    first.request('tools/call', { name: 's__a' });
    await settled();
    slots.foundAsking();
    const before = [...slots.all()];
    // Each of a class of its own: nothing was read for clients like it.
    for (let count = 0; count < 8; count++) {
      const peer = legacy({ extensions: { [`x/${count}`]: {} } });
      peer.request('tools/list');
      // Some leave before their list is read, the others when they have it.
      if (count % 2 === 1) await settled();
      peer.session.close();
      await clock.advanceAsync(1_000);
    }
    expect(servers.s.children.length).toBeGreaterThan(1);
    expect(servers.s.children.filter(({ isGone }) => !isGone)).toEqual([servers.s.children[0]]);
    expect([...slots.all()]).toEqual(before);
  });

  it('that leave take the connection with them that was theirs alone #classes', async () => {
    const { legacy, servers, host, clock } = newGateway({ s: choosy });
    const ann = legacy({ sampling: {} });
    ann.request('tools/list');
    ann.request('tools/call', { name: 's__a' });
    await settled();
    host.find('s').slots.foundAsking();
    ann.session.close();
    await clock.advanceAsync(1_000);
    expect(servers.s.children.map(({ isGone }) => isGone)).toEqual([true]);
  });

  it('are not told what another of them says', async () => {
    const { legacy, servers, host } = newGateway({ s: choosy });
    const ann = legacy({ sampling: {} });
    ann.request('tools/call', { name: 's__a' });
    await settled();
    host.find('s').slots.foundAsking();
    const bob = legacy({ sampling: {} });
    const said = Buffer.from('{"jsonrpc":"2.0","method":"notifications/own","params":{}}');
    bob.session.receive(scanMessage(said), undefined);
    await settled();
    expect(servers.s.children.flatMap((child) => child.heardAs('notifications/own'))).toEqual([]);
  });
});

describe('a server that asks for roots only inside calls', () => {
  it('does not hold up the first call of later starts for long #roots', async () => {
    const asks: Script = {
      tools: [tool('a')],
      on: { 'tools/call': (_heard, child) => void child.ask('r', 'roots/list') },
    };
    const { legacy, clock, host } = newGateway({ s: asks });
    legacy({ roots: {} }).request('tools/call', { name: 's__a' });
    await clock.advanceAsync(10_000);
    expect(host.find('s').facts.now.asksAtStart).toBe(false);
    await host.stop('s');
    legacy({ roots: {} }).request('tools/call', { name: 's__a' });
    await clock.advanceAsync(10_000);
    expect(host.find('s').facts.now.asksAtStart).toBe(false);
  });
});

describe('modern clients of one principal in front of a legacy server that asks', () => {
  const rooted: Script = {
    tools: [tool('a')],
    on: {
      'notifications/initialized': (_heard, child) => child.ask('start', 'roots/list'),
      'notifications/roots/list_changed': (_heard, child) => child.ask('later', 'roots/list'),
      'tools/call': (_heard, child) => {
        const known = child.heard.some(({ result }) =>
          JSON.stringify(result ?? {}).includes('file'),
        );
        return text(known ? 'known' : 'unknown');
      },
    },
  };

  it('are asked inside their calls, never in a list, and get every answer #roots #one-answer', async () => {
    const { modern, clock } = newGateway({ s: rooted });
    const peer = modern({ roots: {} });
    const list = peer.request('tools/list');
    await clock.advanceAsync(3_000);
    expect(list.result['resultType']).toBe('complete');
    const call = peer.request('tools/call', { name: 's__a' });
    await clock.advanceAsync(100);
    expect(call.result).toMatchObject({ resultType: 'input_required' });
    const [[key]] = Object.entries(call.result['inputRequests'] as object) as [[string, unknown]];
    const again = peer.request('tools/call', {
      name: 's__a',
      inputResponses: { [key]: { roots: [{ uri: 'file:///x' }] } },
      requestState: call.result['requestState'],
    });
    await clock.advanceAsync(3_000);
    expect(again.result).toMatchObject(text('known'));
  });

  it.each(['alike', 'differ'] as const)(
    'that have no roots do not use those of another program of the same principal: %s #own-roots',
    async (classes) => {
      const { modern, clock, host } = newGateway({ s: rooted });
      host.find('s').facts.learn({ modern: false, legacy: true, classes });
      host.find('s').slots.foundAsking();
      const peer = modern({ roots: {} });
      const call = peer.request('tools/call', { name: 's__a' });
      await clock.advanceAsync(100);
      const [[key]] = Object.entries(call.result['inputRequests'] as object) as [[string, unknown]];
      const again = peer.request('tools/call', {
        name: 's__a',
        inputResponses: { [key]: { roots: [{ uri: 'file:///x' }] } },
        requestState: call.result['requestState'],
      });
      await clock.advanceAsync(3_000);
      expect(again.result).toMatchObject(text('known'));
      for (const time of ['first', 'second']) {
        const other = modern().request('tools/call', { name: 's__a', arguments: { time } });
        await clock.advanceAsync(3_000);
        expect(other.result).toMatchObject(text('unknown'));
      }
    },
  );

  it('that can do different things do not use each other’s connections #classes', async () => {
    const { modern, servers, host, clock } = newGateway({ s: choosy });
    host.find('s').facts.learn({ modern: false, legacy: true });
    host.find('s').slots.foundAsking();
    const [plain, rich] = [modern(), modern({ sampling: {} })];
    plain.request('tools/call', { name: 's__a' });
    await clock.advanceAsync(3_000);
    const call = rich.request('tools/call', { name: 's__b' });
    await clock.advanceAsync(3_000);
    expect(call.result).toMatchObject(text('done'));
    expect(servers.s.children.filter((child) => can(child, 'sampling')).length).toBeGreaterThan(0);
  });
});
