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
import { MemoryStore } from '../../../store/memory-store.ts';
import { isStoredSession } from '../legacy/kept-sessions.ts';
import type { HttpConfig } from '../listener.ts';

async function replicas(count = 2) {
  const server = new MemoryBusServer();
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const sessions = store.records('sessions', { durability: 'process', shape: isStoredSession });
  const made = Array.from({ length: count }, async (_, at) => {
    const bus = server.member();
    let accept: (connection: Duplex) => void = (connection) => connection.destroy();
    const tunnels = new Tunnels({
      bus,
      clock,
      subjects: 'hf.test',
      id: `${'abc'[at]}`.repeat(8),
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
    return { ...replica, kill, drain, tunnels };
  });
  return { replicas: await Promise.all(made), sessions, clock };
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
