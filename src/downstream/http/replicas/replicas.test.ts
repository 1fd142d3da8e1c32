// Several HTTP fronts on one store, with connections between them: a legacy session begun at one goes on at another,
// with its answers, streams and end; one that is gone or shuts down takes nothing with it.

import { describe, expect, it } from 'vitest';
import { result } from '../../../../test/support/fake-front.ts';
import { legacyHeaders, modernBody, modernHeaders } from '../../../../test/support/http-front.ts';
import {
  answers,
  calling,
  type Replica,
  replicaFronts,
} from '../../../../test/support/replica-fronts.ts';
import { until } from '../../../../test/support/until.ts';

describe('a legacy session', () => {
  it('begun at one replica goes on at another, which passes its requests on #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const answer = await other.ask(calling(session, 7));
    expect(answer.json).toEqual({ jsonrpc: '2.0', id: 7, result: { by: 'aaaaaaaa' } });
    expect(other.front.asked).toEqual([]);
  });

  it('is listened to at another replica, which passes on what comes, and its end #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const stream = await other.stream({ method: 'GET', headers: legacyHeaders(session) });
    one.front.sessions.at(-1)?.outlet.send(['{"jsonrpc":"2.0","method":"notifications/x"}']);
    expect(await stream.message()).toMatchObject({ method: 'notifications/x' });
    const ended = await other.ask({ method: 'DELETE', headers: legacyHeaders(session) });
    expect(ended.status).toBe(204);
    await stream.ended();
    expect((await one.ask(calling(session, 8))).status).toBe(404);
    expect((await other.ask(calling(session, 8))).status).toBe(404);
  });

  it('is taken over when its replica is gone #replicas', async () => {
    const { replicas: all } = await replicaFronts(3);
    const [one, other, third] = all as [Replica, Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    one.kill();
    const byOther = { json: { result: { by: 'bbbbbbbb' } } };
    expect(await other.ask(calling(session, 9))).toMatchObject(byOther);
    expect(await third.ask(calling(session, 10))).toMatchObject(byOther);
    expect(third.front.asked).toEqual([]);
  });

  it('that never was is nowhere #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [, other] = all as [Replica, Replica];
    expect((await other.ask(calling('never-given', 1))).status).toBe(404);
  });

  it('goes on elsewhere while its replica shuts down, also for requests that still come there #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const running = one.ask(calling(session, 1, 'tools/call'));
    const call = await one.arrived('tools/call');
    one.drain();
    const byOther = { json: { result: { by: 'bbbbbbbb' } } };
    expect(await one.ask(calling(session, 2))).toMatchObject(byOther);
    expect(await other.ask(calling(session, 3))).toMatchObject(byOther);
    // What was begun here ends here.
    call.reply.answer(result(1));
    expect((await running).status).toBe(200);
  });
});

describe('a session that was taken over from a replica which still runs', () => {
  it('is let go when the bus is back: its streams end, its calls may end, the rest is passed on #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const stream = await one.stream({ method: 'GET', headers: legacyHeaders(session) });
    const running = one.ask(calling(session, 1, 'tools/call'));
    const call = await one.arrived('tools/call');
    one.bus.lose();
    const byOther = { json: { result: { by: 'bbbbbbbb' } } };
    expect(await other.ask(calling(session, 2))).toMatchObject(byOther);
    // Nobody can say that it is another's now.
    expect(await one.ask(calling(session, 3))).toMatchObject({
      json: { result: { by: 'aaaaaaaa' } },
    });
    one.bus.comeBack();
    expect(await one.ask(calling(session, 4))).toMatchObject(byOther);
    await stream.ended();
    call.reply.answer(result(1));
    // It may have become a stream by now.
    expect((await running).text).toContain('"id":1,"result"');
  });

  it('is let go without a request, for clients that only listen #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const stream = await one.stream({ method: 'GET', headers: legacyHeaders(session) });
    one.bus.lose();
    await other.ask(calling(session, 2));
    one.bus.comeBack();
    await stream.ended();
    expect(one.front.sessions.at(-1)?.isClosed).toBe(true);
  });

  it('is not used before that is known #replicas', async () => {
    const { replicas: all, storing } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    one.bus.lose();
    await other.ask(calling(session, 2));
    let goOn: () => void = () => {};
    storing.slow = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    storing.reads = 0;
    one.bus.comeBack();
    const asked = one.ask(calling(session, 3));
    await until(() => storing.reads === 2, 'the session to be looked up for the request, too');
    goOn();
    expect(await asked).toMatchObject({ json: { result: { by: 'bbbbbbbb' } } });
  });

  it('is let go by one that only stood still, because it is told #replicas', async () => {
    const { replicas: all, server } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const stream = await one.stream({ method: 'GET', headers: legacyHeaders(session) });
    server.drops = (subject) => subject === 'hf.test.open.aaaaaaaa';
    const byOther = { json: { result: { by: 'bbbbbbbb' } } };
    expect(await other.ask(calling(session, 2))).toMatchObject(byOther);
    await stream.ended();
    server.drops = () => false;
    expect(await one.ask(calling(session, 3))).toMatchObject(byOther);
  });

  it('stays where it is if nobody has taken it, also one that could not be stored #replicas', async () => {
    const { replicas: all, sessions, storing } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    one.bus.lose();
    storing.isAway = true;
    const late = await one.initialize();
    expect(await sessions.entries()).toHaveLength(1);
    storing.isAway = false;
    one.bus.comeBack();
    const byOne = { json: { result: { by: 'aaaaaaaa' } } };
    for (const id of [session, late]) {
      expect(await one.ask(calling(id, 1))).toMatchObject(byOne);
      expect(await other.ask(calling(id, 2))).toMatchObject(byOne);
    }
  });
});

describe('a client', () => {
  it('of the transport of 2024 may send its messages to any replica #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const headers = { accept: 'text/event-stream' };
    const stream = await one.stream({ method: 'GET', path: '/sse', headers });
    const { data: path = '' } = await stream.next();
    const { headers: posted, body } = calling('', 5);
    expect((await other.ask({ path, headers: posted, body })).status).toBe(202);
    expect(await stream.message()).toMatchObject({ id: 5, result: { by: 'aaaaaaaa' } });
    const elsewhere = path.replace(/sessionId=[^.]+/, 'sessionId=invented');
    expect((await other.ask({ path: elsewhere, headers: posted, body })).status).toBe(404);
  });

  it('of the transport of 2024 comes to another replica while this one shuts down, after its calls #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one] = all as [Replica, Replica];
    all.forEach(answers);
    const headers = { accept: 'text/event-stream' };
    const listening = () => one.stream({ method: 'GET', path: '/sse', headers });
    const [idle, busy] = [await listening(), await listening()];
    const { data: path = '' } = await busy.next();
    const { headers: posted, body } = calling('', 5, 'tools/call');
    await one.ask({ path, headers: posted, body });
    const call = await one.arrived('tools/call');
    one.drain();
    await idle.ended();
    const next = await listening();
    const { data: elsewhere = '' } = await next.next();
    expect(elsewhere).toContain('.bbbbbbbb');
    const list = calling('', 6);
    expect((await one.ask({ path: elsewhere, ...list })).status).toBe(202);
    expect(await next.message()).toMatchObject({ id: 6, result: { by: 'bbbbbbbb' } });
    expect(busy.isEnded).toBe(false);
    call.reply.answer(result(5));
    expect(await busy.message()).toMatchObject({ id: 5, result: {} });
    await busy.ended();
  });

  it('of either era begins at another replica while this one shuts down #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one] = all as [Replica, Replica];
    all.forEach(answers);
    one.drain();
    const session = await one.initialize();
    expect(session).not.toBe('undefined');
    const byOther = { json: { result: { by: 'bbbbbbbb' } } };
    expect(await one.ask(calling(session, 2))).toMatchObject(byOther);
    const headers = modernHeaders('tools/list');
    expect(await one.ask({ headers, body: modernBody('tools/list') })).toMatchObject(byOther);
  });

  it('that goes away ends its request where it runs #replicas', async () => {
    const { replicas: all } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    one.drain();
    const headers = modernHeaders('tools/call', 'x');
    const request = one.send({ headers, body: modernBody('tools/call', { name: 'x' }) }, () => {});
    request.on('error', () => {});
    const call = await other.arrived('tools/call');
    request.destroy();
    await until(() => call.isCancelled, 'the call to be cancelled');
  });

  it('is told that the outcome is unknown if the replica is lost in the middle #replicas', async () => {
    const { replicas: all, clock } = await replicaFronts();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const asked = other.ask(calling(session, 1, 'tools/call'));
    await one.arrived('tools/call');
    one.kill();
    clock.advance(2_000);
    const { json } = await asked;
    expect(json.result.isError).toBe(true);
    expect(json.result._meta['holdfast/fault']).toMatchObject({
      code: 'outcome_unknown',
      dispatched: 'maybe',
    });
  });
});
