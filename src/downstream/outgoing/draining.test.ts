import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { type Heard, type Script, text, tool } from '../../../test/support/scripted-server.ts';
import { Fault } from '../../kernel/fault.ts';
import { drainedFault } from './draining-faults.ts';

const script: Script = { tools: [tool('do')], on: { 'tools/call': () => undefined } };
const call = { name: 's__do', arguments: {} };
const able = { elicitation: {} };

function newWorld(config: object = {}, settings: Record<string, unknown> = {}) {
  return newGateway({ s: script }, { config: { s: config }, settings });
}

/** Whether a promise has settled by now. */
function watched(promise: Promise<unknown>): { isDone: boolean } {
  const seen = { isDone: false };
  void promise.then(() => {
    seen.isDone = true;
  });
  return seen;
}

const faultOf = (result: Record<string, unknown>) =>
  (result['_meta'] as Record<string, unknown>)['holdfast/fault'];

describe('a gateway that shuts down', () => {
  it('ends at once if there is nothing to do', async () => {
    const { gateway } = newWorld();
    await gateway.drain(10_000);
    expect(gateway.isAccepting).toBe(false);
  });

  it('refuses new requests, in the form of each method, and its own tools still work #drain', async () => {
    const { gateway, legacy, modern, servers } = newWorld({}, { hostTools: true });
    const [old, young] = [legacy(), modern()];
    old.request('tools/call', call);
    await settled();
    void gateway.drain(10_000);
    const [late, later] = [old.request('tools/call', call), young.call('s__do')];
    for (const { result } of [late, later]) {
      expect(result).toMatchObject({ isError: true });
      expect(faultOf(result)).toMatchObject({ code: 'draining', dispatched: 'no' });
    }
    const unlisted = young.call('s__unknown');
    const list = old.request('tools/list');
    expect(list.answered.error).toMatchObject({ code: -32603, data: { code: 'draining' } });
    expect(faultOf(unlisted.result)).toMatchObject({ code: 'draining' });
    expect(old.request('ping').result).toEqual({});
    const { result } = young.call('holdfast__health_snapshot', { render: 'json' });
    expect(result['structuredContent']).toMatchObject({ ready: false });
    expect(servers.s.heard('tools/call').length).toBe(1);
  });

  it('waits for what is under way, and no longer #drain', async () => {
    const { gateway, legacy, modern, servers } = newWorld();
    const calls = [legacy().request('tools/call', call), modern().call('s__do')];
    await settled();
    const drained = watched(gateway.drain(10_000));
    const [first, second] = servers.s.heard('tools/call');
    if (!first || !second) throw new Error('the calls did not arrive');
    const answer = (heard: Heard, words: string) =>
      servers.s.children
        .find((child) => child.heardAs('tools/call').includes(heard))
        ?.answer(heard, text(words));
    answer(first, 'one');
    await settled();
    expect(drained.isDone).toBe(false);
    answer(second, 'two');
    await settled();
    expect(drained.isDone).toBe(true);
    expect(calls.map(({ result }) => result['content'])).toEqual(
      ['one', 'two'].map((words) => text(words).content),
    );
  });

  it('answers the rest at the deadline: what may have run, and what never left #drain', async () => {
    const { gateway, clock, legacy, modern, servers } = newWorld({ concurrency: 1 });
    const [sent, waiting] = [legacy().request('tools/call', call), modern().call('s__do')];
    await settled();
    const drained = watched(gateway.drain(1000));
    await clock.advanceAsync(999);
    await settled();
    expect([sent.answers.length, waiting.answers.length, drained.isDone]).toEqual([0, 0, false]);
    await clock.advanceAsync(1);
    await settled();
    expect(faultOf(sent.result)).toMatchObject({
      ...{ code: 'outcome_unknown', dispatched: 'maybe', server: 's', tool: 'do' },
      retryable: false,
    });
    expect(faultOf(waiting.result)).toMatchObject({
      ...{ code: 'draining', dispatched: 'no', server: 's', tool: 'do' },
      retryable: true,
    });
    await clock.advanceAsync(0);
    expect(drained.isDone).toBe(true);
    expect(servers.s.heard('notifications/cancelled').length).toBe(1);
    await gateway[Symbol.asyncDispose]();
    expect([sent.answers.length, waiting.answers.length]).toEqual([1, 1]);
  });

  it('answers a list that still waits for its server #drain', async () => {
    const slow: Script = {
      on: { initialize: () => undefined, 'server/discover': () => undefined },
    };
    const { gateway, clock, legacy } = newGateway({ s: slow });
    const list = legacy().request('tools/list');
    await settled();
    void gateway.drain(1000);
    await clock.advanceAsync(1000);
    await clock.advanceAsync(0);
    expect(list.answered.error).toMatchObject({ data: { code: 'draining', dispatched: 'no' } });
  });

  it('tells a client that has come back to a parked call what became of it #drain', async () => {
    const { gateway, clock, modern, servers } = newWorld();
    const client = modern(able);
    const first = client.call('s__do');
    await settled();
    servers.s.child.ask('q', 'elicitation/create', { message: '?' });
    await settled();
    const { requestState } = first.result;
    const inputResponses = { q1: { action: 'accept' } };
    const again = client.call('s__do', {}, { requestState, inputResponses });
    await settled();
    void gateway.drain(1000);
    await clock.advanceAsync(1000);
    await settled();
    await clock.advanceAsync(0);
    expect(faultOf(again.result)).toMatchObject({ code: 'outcome_unknown' });
  });

  it('tells a client whose question was open that the call may have run #drain', async () => {
    const form = {
      mode: 'form',
      message: 'x',
      requestedSchema: { type: 'object', properties: {} },
    };
    const asking: Script = {
      era: 'modern',
      tools: [tool('do')],
      on: {
        'tools/call': () => ({
          resultType: 'input_required',
          inputRequests: { q: { method: 'elicitation/create', params: form } },
          requestState: 's',
        }),
      },
    };
    const { gateway, legacy, clock } = newGateway({ s: asking });
    const reply = legacy(able).request('tools/call', call);
    await settled();
    expect(reply.messages).toMatchObject([{ method: 'elicitation/create' }]);
    const drained = gateway.drain(100);
    await clock.advanceAsync(100);
    await drained;
    const expected = { code: 'outcome_unknown', dispatched: 'yes', server: 's', tool: 'do' };
    expect(faultOf(reply.result)).toMatchObject(expected);
  });

  it('that is shut down again has less time, never more #drain', async () => {
    const { gateway, clock, legacy } = newWorld();
    const sent = legacy().request('tools/call', call);
    await settled();
    void gateway.drain(10_000);
    void gateway.drain(500);
    void gateway.drain(60_000);
    await clock.advanceAsync(500);
    await settled();
    expect(faultOf(sent.result)).toMatchObject({ code: 'outcome_unknown' });
  });
});

describe('a call that was cut off at the end', () => {
  it('keeps the fault that it ended with by itself', () => {
    const own = new Fault('timeout', 'too late', { dispatched: 'maybe' });
    expect(drainedFault(own)).toBe(own);
  });
});
