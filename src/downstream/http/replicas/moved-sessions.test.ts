// A legacy session that goes on at another replica while calls of it still run at the one that had it: what continues
// these calls reaches them, wherever its client sends it; and what is not known is not taken for gone.

import { describe, expect, it } from 'vitest';
import { result } from '../../../../test/support/fake-front.ts';
import { legacyHeaders } from '../../../../test/support/http-front.ts';
import {
  answers,
  calling,
  type Replica,
  replicaFronts,
} from '../../../../test/support/replica-fronts.ts';
import { until } from '../../../../test/support/until.ts';
import { StoreError } from '../../../store/store-error.ts';

const byOne = { json: { result: { by: 'aaaaaaaa' } } };
const byOther = { json: { result: { by: 'bbbbbbbb' } } };
/** A call becomes a stream at once. */
const atOnce = { limits: { primeMs: 0 } };

async function started(count = 2) {
  const made = await replicaFronts(count, atOnce);
  const [one, other, third = other] = made.replicas as [Replica, Replica, Replica?];
  made.replicas.forEach(answers);
  const session = await one.initialize();
  return { ...made, one, other, third, session };
}

/** A call whose client was disconnected after the first event. */
async function brokenCall({ one, session }: { readonly one: Replica; readonly session: string }) {
  const stream = await one.stream(calling(session, 1, 'tools/call'));
  const { id = '' } = await stream.next();
  const call = await one.arrived('tools/call');
  stream.drop();
  const headers = { ...legacyHeaders(session), 'last-event-id': id };
  return { call, resuming: { method: 'GET', headers } };
}

const saying = (session: string, message: object) => ({
  headers: legacyHeaders(session),
  body: { jsonrpc: '2.0', ...message },
});

const heardBy = ({ front }: Replica, at = 0) =>
  front.sessions[at]?.heard.map(({ kind, method = kind }) => method) ?? [];

describe('a client that comes back for the answer to a call', () => {
  it('gets it from the replica that shuts down, wherever it comes #replicas', async () => {
    const { one, other, session } = await started();
    const calls = [await brokenCall({ one, session }), await brokenCall({ one, session })];
    one.drain();
    for (const [at, { call, resuming }] of calls.entries()) {
      const resumed = await [other, one][at]?.stream(resuming);
      if (resumed === undefined) throw new Error('there is none');
      call.reply.answer(result(1, { done: true }));
      expect(await resumed.message()).toMatchObject({ id: 1, result: { done: true } });
    }
    expect(other.front.sessions).toEqual([]);
  });

  it('gets it from there also when the session has moved, and when the call ended meanwhile #replicas', async () => {
    const { one, other, third, session } = await started(3);
    const running = await brokenCall({ one, session });
    const ended = await brokenCall({ one, session });
    one.drain();
    expect(await other.ask(calling(session, 2))).toMatchObject(byOther);
    ended.call.reply.answer(result(3, { done: 'before' }));
    expect(await (await third.stream(ended.resuming)).message()).toMatchObject({ id: 3 });
    for (const at of [one, other]) {
      const stream = await at.stream(running.resuming);
      if (at === one) stream.drop();
      else {
        running.call.reply.answer(result(1, { done: true }));
        expect(await stream.message()).toMatchObject({ id: 1, result: { done: true } });
      }
    }
  });

  it('is not told to send the call again where nobody knows of it any more #replicas', async () => {
    const { one, other, session } = await started();
    const { resuming } = await brokenCall({ one, session });
    one.kill();
    const { status, json } = await other.ask(resuming);
    expect(status).toBe(400);
    expect(json.error.message).toContain('it is not known what came of its request');
  });
});

describe('an answer or a cancellation for a call', () => {
  it('reaches it at the replica that had the session, also by way of a third #replicas', async () => {
    const { one, other, third, session } = await started(3);
    const { call } = await brokenCall({ one, session });
    one.drain();
    expect(await other.ask(calling(session, 2))).toMatchObject(byOther);
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 1 } };
    for (const at of [other, third, one]) {
      expect((await at.ask(saying(session, { id: 77, result: {} }))).status).toBe(202);
      expect((await at.ask(saying(session, cancelled))).status).toBe(202);
    }
    const both = ['result', 'notifications/cancelled'];
    expect(heardBy(one).slice(-6)).toEqual([...both, ...both, ...both]);
    // It may be of the replica that has the session now.
    expect(heardBy(other).slice(-2)).toEqual(both);
    call.reply.answer(result(1));
  });

  it('is taken by the one that has the session alone when the other is gone, or has nothing of it #replicas', async () => {
    const { one, other, session } = await started();
    one.drain();
    expect(await other.ask(calling(session, 2))).toMatchObject(byOther);
    await until(() => one.front.sessions[0]?.isClosed === true, 'the session to be let go');
    expect((await other.ask(saying(session, { id: 77, result: {} }))).status).toBe(202);
    one.kill();
    expect((await other.ask(saying(session, { id: 78, result: {} }))).status).toBe(202);
    expect(heardBy(one)).not.toContain('result');
    expect(heardBy(other).slice(-2)).toEqual(['result', 'result']);
  });
});

describe('a replica whose session another one has', () => {
  it('lets its calls end when it learns that as it stores something #replicas', async () => {
    const { one, other, session, server } = await started();
    const running = one.ask(calling(session, 1, 'tools/call'));
    const call = await one.arrived('tools/call');
    const lost = new Set(['hf.test.open.aaaaaaaa', 'hf.test.taken.aaaaaaaa']);
    server.drops = (subject) => lost.has(subject);
    expect(await other.ask(calling(session, 2))).toMatchObject(byOther);
    one.front.onAsked = ({ message, reply }) => reply.answer(result(message.id, {}));
    await one.ask({
      headers: legacyHeaders(session),
      body: { jsonrpc: '2.0', id: 3, method: 'logging/setLevel', params: { level: 'error' } },
    });
    expect(await one.ask(calling(session, 4))).toMatchObject(byOther);
    call.reply.answer(result(1));
    expect((await running).text).toContain('"id":1,"result"');
  });

  it('is told also if the other one has not heard that it was stored #replicas', async () => {
    const { one, other, session, server, sessions } = await started();
    const stream = await one.stream({ method: 'GET', headers: legacyHeaders(session) });
    server.drops = (subject) => subject === 'hf.test.open.aaaaaaaa';
    const compareAndSet = sessions.compareAndSet.bind(sessions);
    const unheard: typeof compareAndSet = async (...args) => {
      await compareAndSet(...args);
      Object.assign(sessions, { compareAndSet });
      throw new StoreError('not_kept', 'no answer came');
    };
    Object.assign(sessions, { compareAndSet: unheard });
    expect((await other.ask(calling(session, 2))).status).toBe(503);
    expect(await other.ask(calling(session, 3))).toMatchObject(byOther);
    await stream.ended();
  });

  it('goes on with its sessions while only the store is away, unless it was told #replicas', async () => {
    const { one, session, server, storing } = await started();
    one.bus.lose();
    storing.isUnreadable = true;
    one.bus.comeBack();
    expect(await one.ask(calling(session, 2))).toMatchObject(byOne);
    server.deliver('hf.test.taken.aaaaaaaa', new Uint8Array(), () => {});
    await new Promise((resolve) => setImmediate(resolve));
    expect((await one.ask(calling(session, 3))).status).toBe(503);
    storing.isUnreadable = false;
    expect(await one.ask(calling(session, 4))).toMatchObject(byOne);
  });
});

describe('a replica that may only be out of reach', () => {
  it('is not taken for gone just after the bus has come back #replicas', async () => {
    const { other, one, session, clock } = await started();
    for (const { bus } of [one, other]) bus.lose();
    other.bus.comeBack();
    const refused = await other.ask(calling(session, 2));
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    one.bus.comeBack();
    expect(await other.ask(calling(session, 3))).toMatchObject(byOne);
    one.bus.lose();
    clock.advance(6_000);
    expect(await other.ask(calling(session, 4))).toMatchObject(byOther);
  });

  it.each(['late', 'unknown'])(
    'is not taken for gone by what continues something there: %s #replicas',
    async (why) => {
      const { one, other, server } = await started();
      const headers = { accept: 'text/event-stream' };
      const stream = await one.stream({ method: 'GET', path: '/sse', headers });
      const { data: path = '' } = await stream.next();
      if (why === 'late') server.drops = (subject) => subject === 'hf.test.open.aaaaaaaa';
      else other.bus.lose();
      const { headers: posted, body } = calling('', 5);
      const { status, headers: answered } = await other.ask({ path, headers: posted, body });
      expect([status, answered['retry-after']]).toEqual([503, '5']);
      Object.assign(other.front, { holderOf: () => 'aaaaaaaa' });
      expect((await other.modern('tools/list')).status).toBe(503);
      Object.assign(other.front, { holderOf: () => 'dddddddd' });
      if (why === 'late') expect(await other.modern('tools/list')).toMatchObject(byOther);
    },
  );

  it('does not keep new work from the next one #replicas', async () => {
    const { one, server } = await started();
    one.drain();
    let late = 2;
    server.drops = (subject) => subject === 'hf.test.open' && late-- > 0;
    expect(await one.modern('tools/list')).toMatchObject(byOther);
    expect(late).toBeLessThan(0);
  });
});
