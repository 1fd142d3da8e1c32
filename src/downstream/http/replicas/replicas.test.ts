// Several HTTP fronts on one store, with connections between them: a legacy session begun at one goes on at another,
// with its answers, streams and end; one that is gone or shuts down takes nothing with it.

import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { result } from '../../../../test/support/fake-front.ts';
import {
  httpFront,
  legacyHeaders,
  modernBody,
  modernHeaders,
} from '../../../../test/support/http-front.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { MemoryBusServer } from '../../../../test/support/memory-bus.ts';
import { until } from '../../../../test/support/until.ts';
import { Tunnels } from '../../../replicas/tunnel/tunnels.ts';
import type { Records } from '../../../store/contract/records.ts';
import { MemoryStore } from '../../../store/memory-store.ts';
import { StoreError } from '../../../store/store-error.ts';
import { isStoredSession } from '../legacy/kept-sessions.ts';
import type { HttpConfig } from '../listener.ts';

async function replicas(count = 2) {
  const server = new MemoryBusServer();
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const stored = store.records('sessions', { durability: 'process', shape: isStoredSession });
  /** While it is away nothing can be stored. */
  const storing = { isAway: false, reads: 0, slow: Promise.resolve() };
  const putIfAbsent = stored.putIfAbsent.bind(stored);
  const get = stored.get.bind(stored);
  const sessions: Records = Object.assign(stored, {
    get: async (key: string) => {
      storing.reads += 1;
      await storing.slow;
      return await get(key);
    },
    putIfAbsent: async (...args: Parameters<Records['putIfAbsent']>) => {
      if (storing.isAway) throw new StoreError('not_kept', 'it is away');
      return await putIfAbsent(...args);
    },
  });
  const made = Array.from({ length: count }, async (_, at) => {
    const bus = server.member();
    let accept: (connection: Duplex) => void = (connection) => connection.destroy();
    const tunnels = new Tunnels({
      bus,
      clock,
      subjects: 'hf.test',
      id: `${'abc'[at]}`.repeat(8),
      secret: Buffer.alloc(32, 'secret'),
      accepted: (connection) => accept(connection),
      caught: (error) => {
        throw error;
      },
    });
    const config = { auth: 'token' } as HttpConfig;
    const authenticator = { authenticate: () => ({ principal: { id: 'token:ann', role: 'all' } }) };
    const replica = await httpFront({ peers: tunnels, sessions, config, authenticator });
    tunnels.accept();
    accept = (connection) => replica.http.accept(connection);
    const kill = () => {
      bus.vanish();
      tunnels[Symbol.dispose]();
    };
    const drain = () => {
      tunnels.stopAccepting();
      replica.http.drain();
    };
    return { ...replica, kill, drain, tunnels, bus };
  });
  return { replicas: await Promise.all(made), sessions, clock, server, storing };
}

type Replica = Awaited<ReturnType<typeof replicas>>['replicas'][number];

const calling = (session: string, id: number, method = 'tools/list') => ({
  headers: legacyHeaders(session),
  body: { jsonrpc: '2.0', id, method, params: {} },
});

/** Lists are answered by this one, with its name. */
function answers(replica: Replica): void {
  replica.front.onAsked = ({ method, message, reply }) => {
    if (method === 'tools/list') reply.answer(result(message.id, { by: replica.tunnels.id }));
  };
}

describe('a legacy session', () => {
  it('begun at one replica goes on at another, which passes its requests on #replicas', async () => {
    const { replicas: all } = await replicas();
    const [one, other] = all as [Replica, Replica];
    all.forEach(answers);
    const session = await one.initialize();
    const answer = await other.ask(calling(session, 7));
    expect(answer.json).toEqual({ jsonrpc: '2.0', id: 7, result: { by: 'aaaaaaaa' } });
    expect(other.front.asked).toEqual([]);
  });

  it('is listened to at another replica, which passes on what comes, and its end #replicas', async () => {
    const { replicas: all } = await replicas();
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
    const { replicas: all } = await replicas(3);
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
    const { replicas: all } = await replicas();
    const [, other] = all as [Replica, Replica];
    expect((await other.ask(calling('never-given', 1))).status).toBe(404);
  });

  it('goes on elsewhere while its replica shuts down, also for requests that still come there #replicas', async () => {
    const { replicas: all } = await replicas();
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
    const { replicas: all } = await replicas();
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
    const { replicas: all } = await replicas();
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
    const { replicas: all, storing } = await replicas();
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
    const { replicas: all, server } = await replicas();
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
    const { replicas: all, sessions, storing } = await replicas();
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
    const { replicas: all } = await replicas();
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
    const { replicas: all } = await replicas();
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
    const { replicas: all } = await replicas();
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
    const { replicas: all } = await replicas();
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
    const { replicas: all, clock } = await replicas();
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
