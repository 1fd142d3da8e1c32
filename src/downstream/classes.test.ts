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

describe('clients of a server that asks', () => {
  it('that list and leave leave no process behind #classes', async () => {
    const { legacy, servers, host, clock } = newGateway({ s: choosy });
    const first = legacy({ sampling: {} });
    first.request('tools/call', { name: 's__a' });
    await settled();
    host.find('s').seats.foundAsking();
    for (let count = 0; count < 5; count++) {
      const peer = legacy({ sampling: {} });
      servers.s.child.note('notifications/tools/list_changed');
      peer.request('tools/list');
      peer.session.close();
      await clock.advanceAsync(1_000);
    }
    await clock.advanceAsync(10_000);
    expect(servers.s.children.filter(({ isGone }) => !isGone).length).toBeLessThanOrEqual(1);
    expect([...host.find('s').seats.all()].length).toBeLessThanOrEqual(2);
  });

  it('are not told what another of them says', async () => {
    const { legacy, servers, host } = newGateway({ s: choosy });
    const ann = legacy({ sampling: {} });
    ann.request('tools/call', { name: 's__a' });
    await settled();
    host.find('s').seats.foundAsking();
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
    expect(host.find('s').facts.now.asksAtStart).toBe(true);
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

  it('that can do different things do not use each other’s connections #classes', async () => {
    const { modern, servers, host, clock } = newGateway({ s: choosy });
    host.find('s').facts.learn({ modern: false, legacy: true });
    host.find('s').seats.foundAsking();
    const [plain, rich] = [modern(), modern({ sampling: {} })];
    plain.request('tools/call', { name: 's__a' });
    await clock.advanceAsync(3_000);
    const call = rich.request('tools/call', { name: 's__b' });
    await clock.advanceAsync(3_000);
    expect(call.result).toMatchObject(text('done'));
    expect(servers.s.children.filter((child) => can(child, 'sampling')).length).toBeGreaterThan(0);
  });
});
