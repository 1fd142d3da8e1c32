import { describe, expect, it } from 'vitest';
import { newGateway, newHost } from '../../test/support/fake-gateway.ts';
import { settled } from '../../test/support/manual-clock.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import { Fault } from '../kernel/fault.ts';

const once = { idempotencyKey: 'order-1' };

function newWorld(script: Script = {}, config: object = {}) {
  const tools = [tool('pay'), tool('other')];
  const world = newHost({ s: { tools, ...script } }, { config: { s: config } });
  const pay = (options: object = {}, args: object = {}) =>
    world.host.call('s', 'pay', args as Record<string, unknown>, options).catch(asFault);
  const payments = () => world.servers.s.heard('tools/call').length;
  return { ...world, pay, payments };
}

function asFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  throw thrown;
}

const silent = { on: { 'tools/call': () => undefined } };
const answering = { on: { 'tools/call': () => text('paid') } };

describe('a call with an idempotency key whose caller gives up', () => {
  it('before it began runs nothing, and leaves the key free #idempotency-key', async () => {
    const { pay, payments, servers } = newWorld(answering);
    const signal = AbortSignal.abort();
    expect(await pay({ ...once, signal })).toMatchObject({ code: 'cancelled', dispatched: 'no' });
    expect(servers.s.children).toEqual([]);
    expect(await pay(once, { amount: 2 })).toMatchObject(text('paid'));
    expect(payments()).toBe(1);
  });

  it('while its server starts runs nothing, and leaves the key free #idempotency-key', async () => {
    const script = { ...answering, on: { ...answering.on, initialize: () => undefined } };
    const { pay, payments, servers, host, clock } = newWorld(script);
    const giveUp = new AbortController();
    const call = pay({ ...once, signal: giveUp.signal });
    await settled();
    expect(servers.s.children.length).toBe(1);
    giveUp.abort();
    expect(await call).toMatchObject({ code: 'cancelled', dispatched: 'no' });
    servers.s.script = { tools: [tool('pay')], ...answering };
    await host.stop('s');
    await clock.advanceAsync(60_000);
    expect(payments()).toBe(0);
    expect(host.parts.keys.running).toBe(0);
    expect(await pay(once)).toMatchObject(text('paid'));
    expect(payments()).toBe(1);
  });

  it('while it waits in the queue runs nothing, and leaves the key free #idempotency-key', async () => {
    const { pay, payments, host } = newWorld(silent, { concurrency: 1 });
    void host.call('s', 'other', {}).catch(() => {});
    await settled();
    const giveUp = new AbortController();
    const call = pay({ ...once, signal: giveUp.signal });
    await settled();
    giveUp.abort();
    expect(await call).toMatchObject({ code: 'cancelled', dispatched: 'no' });
    await settled();
    expect([payments(), host.parts.keys.running, host.find('s').admission.queued]).toEqual([
      1, 0, 0,
    ]);
  });

  it('after it was sent goes on, and its answer is kept for the next use of the key #idempotency-key', async () => {
    const { pay, payments, servers, host } = newWorld(silent);
    const giveUp = new AbortController();
    const call = pay({ ...once, signal: giveUp.signal });
    await settled();
    giveUp.abort();
    expect(await call).toMatchObject({ code: 'cancelled', dispatched: 'maybe' });
    await settled();
    expect(servers.s.heard('notifications/cancelled')).toEqual([]);
    expect(host.parts.keys.running).toBe(1);
    const { child } = servers.s;
    child.answer(child.last('tools/call'), text('paid'));
    await settled();
    expect(host.parts.keys.running).toBe(0);
    expect(await pay(once)).toMatchObject(text('paid'));
    expect(payments()).toBe(1);
  });

  it('goes on for another who uses the key at the same time', async () => {
    const { pay, payments, servers } = newWorld(
      { on: { 'tools/call': () => text('paid'), initialize: () => undefined } },
      {},
    );
    const giveUp = new AbortController();
    const first = pay({ ...once, signal: giveUp.signal });
    const second = pay({ ...once, signal: new AbortController().signal });
    await settled();
    giveUp.abort();
    expect(await first).toMatchObject({ code: 'cancelled', dispatched: 'maybe' });
    const { child } = servers.s;
    child.answer(child.last('initialize'), {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 's', version: '1' },
    });
    expect(await second).toMatchObject(text('paid'));
    expect(payments()).toBe(1);
  });

  it('does not end whoever uses the key in the moment in which it is called off', async () => {
    const { pay, payments } = newWorld(answering);
    const giveUp = new AbortController();
    const first = pay({ ...once, signal: giveUp.signal });
    giveUp.abort();
    const second = pay({ ...once, signal: new AbortController().signal });
    expect(await first).toMatchObject({ code: 'cancelled', dispatched: 'no' });
    expect(await second).toMatchObject(text('paid'));
    expect(payments()).toBe(1);
  });
});

describe('what is under an idempotency key', () => {
  it('runs again after an answer that says that it has not run, and not after another #idempotency-key', async () => {
    const answers = ['no', 'maybe'].map((dispatched) => ({
      ...text('refused'),
      isError: true,
      _meta: { 'holdfast/fault': { code: 'draining', dispatched } },
    }));
    const { pay, payments } = newWorld({ on: { 'tools/call': () => answers.shift() } });
    const asked: unknown[] = [];
    for (let times = 0; times < 3; times += 1) asked.push(await pay(once));
    const ends = ['no', 'maybe', 'maybe'].map((dispatched) => ({
      _meta: { 'holdfast/fault': { dispatched } },
    }));
    expect(asked).toMatchObject(ends);
    expect(payments()).toBe(2);
  });

  it.each([[1], [null], [{}], [['k']], [''], ['k'.repeat(256)]])(
    'is not run if the key is %j: that is refused #idempotency-key',
    async (idempotencyKey: unknown) => {
      const { pay, payments } = newWorld(answering);
      expect(await pay({ idempotencyKey })).toMatchObject({ code: 'invalid_request' });
      expect(payments()).toBe(0);
      const { legacy, modern, servers } = newGateway({ s: { tools: [tool('pay')] } });
      const _meta = { 'holdfast/idempotencyKey': idempotencyKey };
      const params = { name: 's__pay', arguments: {} };
      const replies = [
        legacy().request('tools/call', { ...params, _meta }),
        modern().request('tools/call', params, _meta),
      ];
      await settled();
      for (const reply of replies) {
        const fault = { code: 'invalid_request', server: 's', dispatched: 'no' };
        expect(reply.result).toMatchObject({ isError: true, _meta: { 'holdfast/fault': fault } });
      }
      expect(servers.s.heard('tools/call')).toEqual([]);
    },
  );

  it('is another request if any parameter differs, of a prompt too #idempotency-key', async () => {
    const prompt = (heard: { params: object }) => ({
      messages: [],
      description: JSON.stringify(heard.params),
    });
    const { legacy, servers } = newGateway({
      s: {
        prompts: [{ name: 'p' }],
        tools: [tool('t')],
        on: { 'prompts/get': prompt, 'tools/call': () => text('') },
      },
    });
    const peer = legacy();
    const ask = async (method: string, params: object, key: string) => {
      const _meta = { 'holdfast/idempotencyKey': key, progressToken: Math.random() };
      const reply = peer.request(method, { ...params, _meta });
      await settled();
      return reply.answered;
    };
    const get = (who: string) => ask('prompts/get', { name: 's__p', arguments: { who } }, 'k');
    const ann = await get('ann');
    expect(ann.result).toMatchObject({ description: expect.stringContaining('ann') });
    expect((await get('ann')).result).toEqual(ann.result);
    expect((await get('bob')).error?.data).toMatchObject({ code: 'conflict' });
    expect(servers.s.heard('prompts/get').length).toBe(1);
    const call = (more: object) => ask('tools/call', { name: 's__t', arguments: {}, ...more }, 't');
    await call({});
    expect((await call({ other: { ttl: 1 } })).result).toMatchObject({
      _meta: { 'holdfast/fault': { code: 'conflict' } },
    });
    expect(servers.s.heard('tools/call').length).toBe(1);
  });
});

describe('the time a caller gives its call', () => {
  it.each([Number.NaN, -1, 0, '5', null])('is refused if it is %s #deadline', async (timeoutMs) => {
    const { pay, payments, host } = newWorld(answering);
    expect(await pay({ timeoutMs })).toMatchObject({ code: 'invalid_request' });
    expect(payments()).toBe(0);
    const deadlineMs = timeoutMs as number;
    await expect(host.discover({ deadlineMs })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each([2 ** 31, 1e300, Number.POSITIVE_INFINITY])(
    'does not end a call at once if it is %s #deadline',
    async (timeoutMs) => {
      const { pay, servers, clock } = newWorld(silent);
      const call = pay({ timeoutMs });
      await settled();
      expect(clock.longest).toBeLessThanOrEqual(2 ** 31 - 1);
      const { child } = servers.s;
      child.answer(child.last('tools/call'), text('paid'));
      expect(await call).toMatchObject(text('paid'));
    },
  );
});
