import { describe, expect, it } from 'vitest';
import { Fault } from '../../kernel/fault.ts';
import { Bridge } from './bridge.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
type Json = any;

function opened() {
  const client: Json[] = [];
  const instances: Json[][] = [];
  const bridge = new Bridge({ toClient: (line) => client.push(JSON.parse(String(line))) });
  const join = (keepsKeys = true) => {
    const heard: Json[] = [];
    instances.push(heard);
    bridge.joined((line) => void heard.push(JSON.parse(String(line))), keepsKeys);
    return heard;
  };
  const say = (message: unknown) => bridge.fromClient(Buffer.from(JSON.stringify(message)));
  const answer = (message: unknown) => bridge.fromInstance(Buffer.from(JSON.stringify(message)));
  return { bridge, client, join, say, answer };
}

const request = (id: unknown, method: string, params: object = {}) => ({
  ...{ jsonrpc: '2.0', id, method, params },
});
const result = (id: unknown, value: object = {}) => ({ jsonrpc: '2.0', id, result: value });
const greeting = request(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** A legacy session that has begun. */
function begun(protocolVersion = '2025-11-25', keepsKeys = true) {
  const all = opened();
  const first = all.join(keepsKeys);
  const hello = { ...greeting, params: { ...greeting.params, protocolVersion } };
  all.say(hello);
  all.answer(result(0));
  all.say(initialized);
  expect(first).toEqual([hello, initialized]);
  all.client.length = 0;
  return { ...all, first };
}

describe('the bridge of connect', () => {
  it('carries every line unchanged, also those it cannot read', () => {
    const lines: string[] = [];
    const bridge = new Bridge({ toClient: (line) => lines.push(String(line)) });
    const heard: string[] = [];
    bridge.joined((line) => heard.push(String(line)), true);
    const odd = ['{"id": 1.50, "jsonrpc":"2.0","method" : "x"}', 'nonsense', '[]', '{"a":1,"a":2}'];
    for (const line of odd) bridge.fromClient(Buffer.from(line));
    expect(heard).toEqual(odd);
    for (const line of odd) bridge.fromInstance(Buffer.from(line));
    expect(lines).toEqual(odd);
  });

  it('keeps what is said before there is an instance, in its order', () => {
    const { bridge, join, say } = opened();
    say(greeting);
    say(request(1, 'tools/list'));
    expect(bridge.isIdle).toBe(false);
    expect(join()).toEqual([greeting, request(1, 'tools/list')]);
  });

  it('begins the session anew with another instance, and the client notices only changed lists', () => {
    const { bridge, client, join, say, answer } = begun();
    say(request(1, 'logging/setLevel', { level: 'debug' }));
    answer(result(1));
    say(request(2, 'resources/subscribe', { uri: 'a' }));
    say(request(3, 'resources/subscribe', { uri: 'b' }));
    say(request(4, 'resources/unsubscribe', { uri: 'a' }));
    for (const id of [2, 3, 4]) answer(result(id));
    client.length = 0;
    bridge.lost();
    const second = join();
    expect(second).toEqual([{ ...greeting, id: 'holdfast-connect-1' }]);
    say(request(5, 'tools/list'));
    expect(second).toHaveLength(1);
    answer(result('holdfast-connect-1', { protocolVersion: '2025-11-25' }));
    expect(second.slice(1)).toEqual([
      initialized,
      request(5, 'tools/list'),
      { ...request('holdfast-connect-2', 'logging/setLevel', { level: 'debug' }) },
      { ...request('holdfast-connect-3', 'resources/subscribe', { uri: 'b' }) },
    ]);
    for (const id of ['holdfast-connect-2', 'holdfast-connect-3']) answer(result(id));
    answer(result(5, { tools: [] }));
    expect(client.map(({ method, id }) => method ?? id)).toEqual([
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      // Of what it watches, it may have missed a change.
      'notifications/resources/updated',
      5,
    ]);
    expect(bridge.isIdle).toBe(true);
  });

  it('never repeats a call that may have run, and says so #never-twice', () => {
    const { bridge, client, join, say, answer } = begun();
    say(request(1, 'tools/call', { name: 'pay' }));
    say(request(2, 'tools/list'));
    say(request(3, 'something/unknown'));
    const meta = { _meta: { 'holdfast/idempotencyKey': 'k' } };
    say(request(4, 'tools/call', { name: 'pay', ...meta }));
    bridge.lost();
    expect(client).toHaveLength(2);
    const [call, other] = client;
    expect(call?.id).toBe(1);
    expect(call?.result).toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': { code: 'outcome_unknown', dispatched: 'maybe' } },
    });
    expect(other).toMatchObject({
      id: 3,
      error: { code: -32603, data: { code: 'outcome_unknown' } },
    });
    const second = join();
    answer(result('holdfast-connect-1'));
    const sent = second.slice(2).map(({ id }) => id);
    expect(sent).toEqual([2, 4]);
  });

  it('sends a call with a key again only from and to instances that keep keys #never-twice', () => {
    const keyed = request(1, 'tools/call', {
      ...{ name: 'pay', _meta: { 'holdfast/idempotencyKey': 'k' } },
    });
    for (const [before, after] of [
      [true, true],
      [true, false],
      [false, true],
    ] as const) {
      const { bridge, client, join, say, answer } = begun(undefined, before);
      say(keyed);
      bridge.lost();
      const second = join(after);
      answer(result('holdfast-connect-1'));
      const isSent = second.some(({ id }) => id === 1);
      const isAnswered = client.some(({ id }) => id === 1);
      expect([before, after, isSent, isAnswered]).toEqual([
        before,
        after,
        before && after,
        !(before && after),
      ]);
    }
  });

  it('gives up a request that three instances have ended with', () => {
    const { bridge, client, join, say, answer } = begun();
    say(request(1, 'resources/read', { uri: 'x' }));
    for (let times = 1; times <= 2; times += 1) {
      bridge.lost();
      join();
      answer(result(`holdfast-connect-${times}`));
      expect(bridge.isIdle).toBe(false);
    }
    bridge.lost();
    expect(client.at(-1)).toMatchObject({ id: 1, error: { data: { code: 'outcome_unknown' } } });
    expect(bridge.isIdle).toBe(true);
  });

  it('is idle while a client only listens, and does not track a batch that will be refused', () => {
    const { bridge, client, say } = begun();
    say(request(1, 'subscriptions/listen'));
    say([request(2, 'ping'), request(3, 'ping')]);
    expect(bridge.isIdle).toBe(true);
    bridge.tooLarge(5);
    expect(client.at(-1)).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it('sends what no instance has had, also a call', () => {
    const { bridge, client, join, say, answer } = begun();
    bridge.lost();
    say(request(1, 'tools/call', { name: 'pay' }));
    bridge.lost();
    const second = join();
    answer(result('holdfast-connect-1'));
    expect(second.at(-1)).toEqual(request(1, 'tools/call', { name: 'pay' }));
    answer(result(1));
    expect(client.at(-1)).toEqual(result(1));
  });

  it('forgets what is cancelled: it is neither answered nor sent again', () => {
    const { bridge, client, join, say, answer, first } = begun();
    const cancel = (requestId: number) => ({
      ...{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
    });
    say(request(1, 'tools/call', { name: 'pay' }));
    say(cancel(1));
    expect(first.at(-1)).toEqual(cancel(1));
    bridge.lost();
    expect(client).toEqual([]);
    say(request(2, 'tools/call', { name: 'pay' }));
    say(cancel(2));
    const second = join();
    answer(result('holdfast-connect-1'));
    expect(second.some(({ id }) => id === 2)).toBe(false);
    expect(bridge.isIdle).toBe(true);
  });

  it('withdraws the questions of an instance that has ended, and drops late answers to them #right-answer', () => {
    const { bridge, client, join, say, answer } = begun();
    answer(request(7, 'roots/list'));
    bridge.lost();
    expect(client.at(-1)).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: 7 },
    });
    say(result(7, { roots: [] }));
    const second = join();
    answer(result('holdfast-connect-1'));
    say(result(7, { roots: [] }));
    expect(second.filter(({ id }) => id === 7)).toEqual([]);
    answer(request(8, 'roots/list'));
    say(result(8, { roots: [] }));
    expect(second.at(-1)).toEqual(result(8, { roots: [] }));
  });

  it('serves a modern client without a handshake, and answers it in its own form', () => {
    const { bridge, client, join, say } = opened();
    const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
    join();
    say(request(1, 'tools/call', { name: 'pay', ...meta }));
    bridge.lost();
    expect(client).toMatchObject([{ id: 1, result: { resultType: 'complete', isError: true } }]);
    say(request(2, 'tools/list', meta));
    expect(join()).toEqual([request(2, 'tools/list', meta)]);
  });

  it('knows the requests of a batch', () => {
    const { bridge, client, say } = begun('2025-03-26');
    say([request(1, 'tools/call', { name: 'pay' }), request(2, 'ping')]);
    bridge.lost();
    expect(client.map(({ id }) => id)).toEqual([1]);
  });

  it('does not say of a call that waits again that it was not sent, if no instance can be had #true-dispatched', () => {
    const { bridge, client, say } = begun();
    const meta = { _meta: { 'holdfast/idempotencyKey': 'k' } };
    say(request(1, 'tools/call', { name: 'pay', ...meta }));
    bridge.lost();
    say(request(2, 'tools/call', { name: 'pay', ...meta }));
    bridge.refuseWaiting(new Fault('unavailable', 'no instance can be started'));
    const faults = client.map(({ id, result: { _meta } }) => [id, _meta['holdfast/fault']]);
    expect(faults).toMatchObject([
      [1, { code: 'outcome_unknown', dispatched: 'maybe', server: 'holdfast' }],
      [2, { code: 'unavailable', dispatched: 'no', server: 'holdfast' }],
    ]);
  });

  it('answers everything that waits if no instance can be had, and takes only so much', () => {
    const { bridge, client, say } = begun();
    bridge.lost();
    for (let id = 1; id <= 4_100; id += 1) say(request(id, 'tools/call', { name: 'pay' }));
    expect(client.map(({ result: { _meta } }) => _meta['holdfast/fault'].code)).toEqual(
      Array(4).fill('overloaded'),
    );
    client.length = 0;
    bridge.refuseWaiting(new Fault('unavailable', 'no instance can be started'));
    expect(client).toHaveLength(4_096);
    expect(client[0]).toMatchObject({ id: 1, result: { isError: true } });
    expect(bridge.isIdle).toBe(true);
  });
});
