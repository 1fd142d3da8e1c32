import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';
import type { CallObserver } from './call-observer.ts';

const script: Script = {
  tools: [tool('a', { annotations: { readOnlyHint: true } }), tool('bad')],
  on: { 'tools/call': ({ params }) => ({ ...text('done'), isError: params['name'] === 'bad' }) },
};

/** Writes down what it is told, one line for each word. */
function recorded(): CallObserver & { readonly heard: string[] } {
  const heard: string[] = [];
  return {
    heard,
    began: ({ request: { principal, server, operation } }) =>
      heard.push(`began ${principal.id} ${server} ${operation.method} ${operation.name}`),
    stage: (_call, stage) => heard.push(stage),
    ended: ({ attempts }, outcome, fault) =>
      heard.push(`ended ${outcome} ${fault?.code ?? '-'} ${attempts}`),
  };
}

describe('an observer of calls', () => {
  it('is notified of each stage of a call, with its principal', async () => {
    const { host, legacy } = newGateway({ s: script });
    const observer = recorded();
    using _subscription = host.observers.add(observer);
    legacy().request('tools/call', { name: 's__a' });
    await settled();
    expect(observer.heard).toEqual([
      'began local s tools/call a',
      'authorized',
      'admitted',
      'dispatched',
      'ended ok - 1',
    ]);
  });

  it('is notified that a call is repeated', async () => {
    let processes = 0;
    const dying: Script = {
      ...script,
      on: {
        'notifications/initialized': () => {
          processes += 1;
        },
        'tools/call': (_heard, child) => (processes > 1 ? text('done') : void child.exit()),
      },
    };
    const { host, legacy, clock } = newGateway({ s: dying }, { config: { s: { trusted: true } } });
    const observer = recorded();
    using _subscription = host.observers.add(observer);
    legacy().request('tools/call', { name: 's__a' });
    await settled();
    await clock.advanceAsync(10_000);
    await settled();
    expect(observer.heard.slice(3)).toEqual([
      'dispatched',
      'replayed',
      'dispatched',
      'ended ok - 2',
    ]);
  });

  it('is notified of denied calls, and of what the gateway answers itself', async () => {
    const { host, legacy } = newGateway({ s: script });
    const observer = recorded();
    using _subscription = host.observers.add(observer);
    const call = host.call('s', 'a', {}, { principal: { id: 'token:x', role: null } });
    await expect(call).rejects.toMatchObject({ code: 'denied' });
    legacy().request('tools/list');
    await settled();
    expect(observer.heard).toEqual([
      'began token:x s tools/call a',
      'ended denied denied 0',
      'began local null tools/list null',
      'ended ok - 0',
    ]);
  });

  it('that throws does not affect the call, and is reported #one-bad-neighbour', async () => {
    const { host, legacy, events } = newGateway({ s: script });
    const fail = () => {
      throw new Error('a defect');
    };
    const after = recorded();
    using _first = host.observers.add({ began: fail, stage: fail, ended: fail });
    using _second = host.observers.add(after);
    const call = legacy().request('tools/call', { name: 's__a' });
    await settled();
    expect(call.result).toMatchObject(text('done'));
    expect(after.heard).toHaveLength(5);
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'defect', handled: 'an observer of calls' }),
    );
  });

  it('that is disposed of is not notified any more', async () => {
    const { host, legacy } = newGateway({ s: script });
    const observer = recorded();
    host.observers.add(observer)[Symbol.dispose]();
    legacy().request('tools/call', { name: 's__a' });
    await settled();
    expect(observer.heard).toEqual([]);
  });
});

describe('the one count', () => {
  it('is what status, telemetry and events say #status #host-tools', async () => {
    const { host, legacy, events } = newGateway({ s: script });
    const peer = legacy();
    for (const name of ['s__a', 's__bad', 's__nothing', 's__a']) {
      peer.request('tools/call', { name });
      await settled();
    }
    peer.request('tools/list');
    await settled();
    const { calls } = host.status();
    const traffic = host.traffic.snapshot();
    expect(calls).toEqual({ total: 3, ok: 2, isError: 1, faults: 0, replays: 0 });
    expect(events.filter(({ kind }) => kind === 'call')).toHaveLength(calls.total);
    const count = (key: string) => traffic.methods.find(({ method }) => method === key)?.requests;
    expect([count('tools/call:s/a'), count('tools/call:s/bad')]).toEqual([2, 1]);
    expect([count('tools/call'), count('tools/list')]).toEqual([1, 1]);
    expect([traffic.requests, traffic.inFlight]).toEqual([5, 0]);
  });
});
