import { describe, expect, it } from 'vitest';
import { newGateway, type RecordedReply, settled } from '../../../test/support/fake-gateway.ts';
import { type ScriptedChild, text, tool } from '../../../test/support/scripted-server.ts';
import { scanMessage } from '../../wire/scan.ts';
import { clientCancel } from '../client-cancel.ts';

const elicitation = {
  message: 'really?',
  requestedSchema: { type: 'object', properties: {} },
  _meta: { progressToken: 1 },
};

/** A legacy server whose tool asks, behind a modern client; the test plays the rest. */
async function asking(capabilities: object = { elicitation: {} }, logLevel?: string) {
  const world = newGateway({
    s: { tools: [tool('ask'), tool('other')], on: { 'tools/call': () => undefined } },
  });
  const peer = world.modern(capabilities, logLevel === undefined ? {} : { logLevel });
  const params = { name: 's__ask', arguments: { n: 1 } };
  const reply = peer.request('tools/call', params, { progressToken: 'one' });
  await settled();
  const { child } = world.servers.s;
  const ask = (id: number, method = 'elicitation/create', params: object = elicitation) =>
    child.ask(id, method, params);
  const again = (state: unknown, inputResponses: object, from = peer, args: object = { n: 1 }) =>
    from.call('s__ask', args, { requestState: state, inputResponses });
  return { ...world, peer, reply, child, ask, again };
}

const stateOf = ({ result }: RecordedReply) => result['requestState'];
const yes = { action: 'accept', content: {} };
const callOf = (child: ScriptedChild) => child.last('tools/call');

describe('a legacy server that asks a modern client', () => {
  it('has its question embedded in the result, and the answer carries the call on', async () => {
    const { reply, child, ask, again, gateway } = await asking();
    ask(50);
    await settled();
    expect(reply.result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        q1: {
          method: 'elicitation/create',
          params: { message: 'really?', requestedSchema: elicitation.requestedSchema },
        },
      },
      requestState: expect.any(String),
    });
    const next = again(stateOf(reply), { q1: yes });
    await settled();
    expect(child.answerTo(50).result).toEqual(yes);
    child.answer(callOf(child), text('done'));
    await settled();
    expect(next.result).toEqual({ ...text('done'), resultType: 'complete' });
    expect(child.heardAs('tools/call').length).toBe(1);
    expect(gateway.host.traffic.snapshot().inFlight).toBe(0);
  });

  it('has what it asks at once shown at once, and what it asks later in another round', async () => {
    const { reply, child, ask, again } = await asking({ elicitation: {}, sampling: {} });
    ask(50);
    ask(51, 'sampling/createMessage', { messages: [] });
    await settled();
    expect(Object.keys(reply.result['inputRequests'] as object)).toEqual(['q1', 'q2']);
    const second = again(stateOf(reply), { q1: yes, q2: { role: 'assistant' } });
    await settled();
    expect(child.answerTo(51).result).toEqual({ role: 'assistant' });
    expect(second.answers).toEqual([]);
    ask(52);
    await settled();
    expect(Object.keys(second.result['inputRequests'] as object)).toEqual(['q3']);
    const third = again(stateOf(second), { q3: yes });
    await settled();
    child.answer(callOf(child), text('done'));
    await settled();
    expect(third.result).toMatchObject(text('done'));
  });

  it('executes once for a state that is sent twice, and both get the one outcome #state-once', async () => {
    const { reply, child, ask, again } = await asking();
    ask(50);
    await settled();
    const one = again(stateOf(reply), { q1: yes });
    const two = again(stateOf(reply), { q1: { action: 'decline' } });
    await settled();
    expect(child.heard.filter(({ id, method }) => id === 50 && !method).length).toBe(1);
    expect(child.answerTo(50).result).toEqual(yes);
    child.answer(callOf(child), text('once'));
    await settled();
    const late = again(stateOf(reply), { q1: yes });
    await settled();
    for (const { result } of [one, two, late]) expect(result).toMatchObject(text('once'));
    expect(child.heardAs('tools/call').length).toBe(1);
  });

  it('gives the next question again to one that comes with an old state', async () => {
    const { reply, ask, again } = await asking();
    ask(50);
    await settled();
    const one = again(stateOf(reply), { q1: yes });
    await settled();
    ask(51);
    await settled();
    const two = again(stateOf(reply), { q1: yes });
    await settled();
    expect(two.result['inputRequests']).toEqual(one.result['inputRequests']);
    expect(two.result['requestState']).toEqual(one.result['requestState']);
  });

  it('asks again if not everything was answered, and carries nothing on', async () => {
    const { reply, child, ask, again } = await asking();
    ask(50);
    ask(51);
    await settled();
    const half = again(stateOf(reply), { q1: yes });
    const none = again(stateOf(reply), {});
    await settled();
    for (const { result } of [half, none]) {
      expect(result).toMatchObject({ resultType: 'input_required' });
      expect(Object.keys(result['inputRequests'] as object)).toEqual(['q1', 'q2']);
    }
    expect(() => child.answerTo(50)).toThrow();
    again(stateOf(half), { q1: yes, q2: yes });
    await settled();
    expect([child.answerTo(50).result, child.answerTo(51).result]).toEqual([yes, yes]);
  });

  it('refuses answers that can be read in two ways, and stays as it is', async () => {
    const { reply, child, ask, again, peer } = await asking();
    ask(50);
    await settled();
    const state = JSON.stringify(stateOf(reply));
    const twice = peer.request(
      'tools/call',
      `"name":"s__ask","arguments":{"n":1},"requestState":${state},"inputResponses":{"q1":{},"q1":{}}`,
    );
    expect(twice.answered.error?.code).toBe(-32600);
    again(stateOf(reply), { q1: yes });
    await settled();
    expect(child.answerTo(50).result).toEqual(yes);
  });

  it('refuses a state of another person, of other arguments, of another tool, or none of ours #state-once', async () => {
    const { reply, child, ask, again, peer, gateway, host, modern } = await asking();
    host.setGuard(() => ({ allow: true }));
    ask(50);
    await settled();
    const state = stateOf(reply) as string;
    const stranger = modern({ elicitation: {} }, { principal: { id: 'token:x', role: null } });
    const refused = [
      again(state, { q1: yes }, stranger),
      again(state, { q1: yes }, peer, { n: 2 }),
      peer.call('s__other', { n: 1 }, { requestState: state, inputResponses: { q1: yes } }),
      again(`${state.slice(0, -2)}xx`, { q1: yes }),
      again('made up', { q1: yes }),
      again(5, { q1: yes }),
    ];
    await settled();
    expect(refused.map(({ answered }) => answered.error?.code)).toEqual(Array(6).fill(-32602));
    expect(() => child.answerTo(50)).toThrow();
    expect([child.heardAs('tools/call').length, gateway.host.traffic.snapshot().inFlight]).toEqual([
      1, 1,
    ]);
  });

  it('shows its question again for the same key, and not to another person with that key #own-answers-only', async () => {
    const { child, ask, peer, host, modern } = await asking();
    host.setGuard(() => ({ allow: true }));
    child.answer(callOf(child), text('done'));
    const keyed = (from: typeof peer) => {
      const params = { name: 's__ask', arguments: { n: 1 } };
      return from.request('tools/call', params, { 'holdfast/idempotencyKey': 'k' });
    };
    const first = keyed(peer);
    await settled();
    ask(50);
    await settled();
    expect(first.result).toMatchObject({ resultType: 'input_required' });
    const principal = { id: 'token:x', role: null };
    const [same, other] = [
      keyed(peer),
      keyed(modern({ elicitation: {} }, { principal, key: 'x' })),
    ];
    await settled();
    expect(same.result).toMatchObject({ resultType: 'input_required' });
    expect(other.answers).toEqual([]);
  });

  it('is notified when the client never returns', async () => {
    const { reply, child, ask, again, clock, gateway } = await asking();
    ask(50);
    await settled();
    await clock.advanceAsync(600_000);
    expect(child.answerTo(50).error).toBeDefined();
    expect(child.last('notifications/cancelled').params['requestId']).toBe(callOf(child).id);
    const late = again(stateOf(reply), { q1: yes });
    await clock.advanceAsync(60_000);
    expect(late.answers.length).toBe(1);
    expect(gateway.host.traffic.snapshot().inFlight).toBe(0);
  });

  it('is notified when the client cancels the request with which it returned', async () => {
    const { reply, child, ask, again } = await asking();
    ask(50);
    await settled();
    const next = again(stateOf(reply), { q1: yes });
    await settled();
    next.underway?.cancel();
    await settled();
    expect(child.last('notifications/cancelled').params['requestId']).toBe(callOf(child).id);
    expect(next.answers).toEqual([]);
  });

  it('hears what the last client said that cancelled it', async () => {
    const { reply, child, ask, again } = await asking();
    ask(50);
    await settled();
    const waiting = [1, 2].map(() => again(stateOf(reply), { q1: yes }));
    await settled();
    for (const [at, { underway }] of waiting.entries()) {
      const params = { requestId: at, reason: `words of ${at}` };
      const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params };
      underway?.cancel(clientCancel(scanMessage(Buffer.from(JSON.stringify(note)))));
    }
    await settled();
    const { params } = child.last('notifications/cancelled');
    expect(params).toEqual({ requestId: callOf(child).id, reason: 'words of 1' });
  });

  it('goes on while one of two that sent the same state still waits', async () => {
    const { reply, child, ask, again } = await asking();
    ask(50);
    await settled();
    const one = again(stateOf(reply), { q1: yes });
    const two = again(stateOf(reply), { q1: yes });
    one.underway?.cancel();
    await settled();
    expect(child.heardAs('notifications/cancelled')).toEqual([]);
    child.answer(callOf(child), text('done'));
    await settled();
    expect([one.answers.length, two.answers.length]).toEqual([0, 1]);
  });

  it('may end its call without the answer; the client finds the outcome, and no question stays open', async () => {
    const { reply, child, ask, again } = await asking();
    ask(50);
    await settled();
    child.answer(callOf(child), text('never mind'));
    await settled();
    expect(child.answerTo(50).error).toBeDefined();
    const next = again(stateOf(reply), { q1: yes });
    await settled();
    expect(next.result).toMatchObject(text('never mind'));
  });

  it('has a call that fails while the client thinks end in that fault', async () => {
    const { reply, child, ask, again } = await asking();
    ask(50);
    await settled();
    child.exit();
    await settled();
    const next = again(stateOf(reply), { q1: yes });
    await settled();
    expect(next.result).toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': { code: 'outcome_unknown' } },
    });
  });

  it('that withdraws its question before it is shown has not asked', async () => {
    const { reply, child, ask } = await asking();
    ask(50);
    child.note('notifications/cancelled', { requestId: 50 });
    await settled();
    expect(reply.answers).toEqual([]);
    child.answer(callOf(child), text('done'));
    await settled();
    expect(reply.result).toMatchObject(text('done'));
  });

  it('keeps an outcome for a minute and then nothing', async () => {
    const { reply, child, ask, again, clock, gateway } = await asking();
    ask(50);
    await settled();
    again(stateOf(reply), { q1: yes });
    await settled();
    child.answer(callOf(child), text('done'));
    await clock.advanceAsync(59_999);
    const inTime = again(stateOf(reply), { q1: yes });
    await settled();
    expect(inTime.result).toMatchObject(text('done'));
    await clock.advanceAsync(1);
    const late = again(stateOf(reply), { q1: yes });
    expect(late.answered.error?.code).toBe(-32602);
    await gateway[Symbol.asyncDispose]();
  });

  it('is refused at once what the client has not declared or cannot be asked', async () => {
    const { reply, child, ask } = await asking({ elicitation: {} });
    ask(50, 'sampling/createMessage', {});
    ask(51, 'vendor/ask', {});
    ask(52, 'elicitation/create', { mode: 'url', url: 'https://x', message: '?' });
    await settled();
    for (const id of [50, 51, 52]) {
      expect(child.answerTo(id).error).toMatchObject({ code: -32601 });
    }
    expect(reply.answers).toEqual([]);
  });

  it('reports progress and log lines to the request that waits now', async () => {
    const { reply, child, ask, peer } = await asking({ elicitation: {} }, 'info');
    ask(50);
    await settled();
    const second = peer.request(
      'tools/call',
      {
        name: 's__ask',
        arguments: { n: 1 },
        requestState: stateOf(reply),
        inputResponses: { q1: yes },
      },
      { progressToken: 'two' },
    );
    await settled();
    child.note('notifications/progress', { progressToken: callOf(child).id, progress: 1 });
    child.note('notifications/message', { level: 'error', data: 'x' });
    child.note('notifications/message', { level: 'debug', data: 'too much' });
    await settled();
    expect(second.messages).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'two' } },
      { method: 'notifications/message', params: { data: 'x' } },
    ]);
    expect(reply.sent).toEqual([]);
  });
});

describe('a gateway that goes down', () => {
  it('gives up what is parked', async () => {
    const { gateway, ask, child } = await asking();
    ask(50);
    await settled();
    await gateway[Symbol.asyncDispose]();
    await settled();
    expect(child.answerTo(50).error).toBeDefined();
    expect(child.heardAs('notifications/cancelled').length).toBe(1);
  });
});
