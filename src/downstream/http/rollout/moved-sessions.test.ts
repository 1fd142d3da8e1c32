// Legacy sessions over a hand-over of the front: each goes on under its id at the successor with its client's next
// request, what was sent in it can still be resumed, and what continues work of the former reaches it there, along a row
// of formers too. With a store for sessions and without one.

import { describe, expect, it } from 'vitest';
import { note, result } from '../../../../test/support/fake-front.ts';
import { legacyHeaders, modernBody, modernHeaders } from '../../../../test/support/http-front.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { calling } from '../../../../test/support/replica-fronts.ts';
import { type FrontProcess, rolloutFronts } from '../../../../test/support/rollout-fronts.ts';
import { until } from '../../../../test/support/until.ts';
import { MemoryStore } from '../../../store/memory-store.ts';
import { StoreError } from '../../../store/store-error.ts';
import { isStoredSession } from '../legacy/kept-sessions.ts';
import { written } from './session-news.ts';

const answersAs = (one: FrontProcess, by: string) => {
  one.front.onAsked = ({ method, message, reply }) => {
    if (method !== 'tools/call') reply.answer(result(message.id, { by }));
  };
};

const ann = { id: 'token:ann', role: 'all' };

/** Fronts of one instance, with what they store sessions in. */
async function fronts(keeps: 'stored' | 'not stored') {
  const store = new MemoryStore({ clock: new ManualClock() });
  const sessions = store.records('sessions', { durability: 'process', shape: isStoredSession });
  const authenticator = { authenticate: () => ({ principal: ann }) };
  const limits = { primeMs: 0 };
  const made = await rolloutFronts(() => ({
    ...{ limits, authenticator, config: { auth: 'token' } as never },
    ...(keeps === 'stored' ? { sessions } : {}),
  }));
  answersAs(made.first, '0');
  const roll = async (by: string) => {
    const rolled = await made.roll();
    answersAs(rolled.now, by);
    return rolled;
  };
  return { ...made, roll, sessions };
}

const saying = (session: string, message: object) => ({
  headers: legacyHeaders(session),
  body: { jsonrpc: '2.0', ...message },
});

const heardBy = ({ front }: FrontProcess, at = 0) =>
  front.sessions[at]?.heard.map(({ kind, method = kind }) => method) ?? [];

describe.each(['stored', 'not stored'] as const)('a legacy session that is %s', (keeps) => {
  it('goes on at the successor with its next request, and at the next one #rollout', async () => {
    const { first, roll } = await fronts(keeps);
    const [session, unused] = [await first.initialize(), await first.initialize()];
    for (const by of ['1', '2', '3']) {
      const { now, former } = await roll(by);
      expect(await now.ask(calling(session, Number(by)))).toMatchObject({
        json: { result: { by } },
      });
      expect(heardBy(now)).toContain('initialize');
      await former.ended;
    }
    const { now } = await roll('4');
    expect(await now.ask(calling(unused, 9))).toMatchObject({ json: { result: { by: '4' } } });
    const { json } = await now.ask(calling('invented', 9));
    expect(json.error).toBeDefined();
  });

  it('goes on although nothing can be stored since, as on a full disk #rollout', async () => {
    const { first, roll, sessions } = await fronts(keeps);
    const session = await first.initialize();
    const full = async () => {
      throw new StoreError('full', 'the disk is full');
    };
    Object.assign(sessions, { put: full, putIfAbsent: full, compareAndSet: full });
    for (const by of ['1', '2']) {
      const { now, former } = await roll(by);
      for (const id of [1, 2]) {
        expect(await now.ask(calling(session, id))).toMatchObject({ json: { result: { by } } });
      }
      await former.ended;
    }
  });

  it('misses nothing of what was sent in it #rollout', async () => {
    const { first, roll } = await fronts(keeps);
    const session = await first.initialize();
    const headers = legacyHeaders(session);
    const stream = await first.stream({ method: 'GET', headers });
    const { outlet } = first.front.session;
    for (const at of [1, 2]) outlet.send(note('notifications/message', { data: at }));
    const { id = '' } = await stream.next();
    expect(JSON.parse((await stream.next()).data ?? '')).toMatchObject({ params: { data: 1 } });
    const seen = await stream.next();
    expect(JSON.parse(seen.data ?? '')).toMatchObject({ params: { data: 2 } });
    const { now, former } = await roll('1');
    await stream.ended();
    outlet.send(note('notifications/message', { data: 'late' }));
    const resumed = await now.stream({
      method: 'GET',
      headers: { ...headers, 'last-event-id': id },
    });
    const texts: unknown[] = [];
    while (!texts.includes('late')) texts.push((await resumed.message()).params?.data);
    expect(texts.filter((text) => text !== undefined)).toEqual([1, 2, 'late']);
    await former.ended;
    resumed.drop();
  });

  it('is ended by its client in every process that has a call of it #rollout', async () => {
    const { first, roll } = await fronts(keeps);
    const session = await first.initialize();
    const begun = async (one: FrontProcess, id: number) => {
      const stream = await one.stream(calling(session, id, 'tools/call'));
      await stream.next();
    };
    await begun(first, 1);
    const second = (await roll('1')).now;
    await begun(second, 2);
    const { now, ended } = await roll('2');
    const { status } = await now.ask({ method: 'DELETE', headers: legacyHeaders(session) });
    expect(status).toBe(204);
    const all = [first, second, now].map(({ front }) => front.session.isClosed);
    expect(all).toEqual([true, true, true]);
    expect(await now.ask(calling(session, 3))).toMatchObject({ status: 404 });
    await ended;
  });

  it('stays ended, whatever the former still says of it', async () => {
    const { first, roll } = await fronts(keeps);
    const session = await first.initialize();
    const { now, ended } = await roll('1');
    await now.ask({ method: 'DELETE', headers: legacyHeaders(session) });
    const setup = { initialize: '{"protocolVersion":"2025-11-25"}', subscriptions: [] };
    const late = { id: session, principal: { id: ann.id, role: ann.role }, setup };
    const sent = { life: '00000000', made: 0, abandoned: [], events: [] };
    const { head, payload } = written({ kind: 'session', session: { ...late, ...sent } });
    expect(now.http.heardOfSessions(JSON.parse(JSON.stringify(head)), payload)).toBe(true);
    expect(await now.ask(calling(session, 3))).toMatchObject({ status: 404 });
    await ended;
  });

  it('gets the answer to a call of the former, also after that has ended #rollout', async () => {
    const { first, roll } = await fronts(keeps);
    const session = await first.initialize();
    const broken = async () => {
      const stream = await first.stream(
        calling(session, 1 + first.front.asked.length, 'tools/call'),
      );
      const { id = '' } = await stream.next();
      stream.drop();
      return { method: 'GET', headers: { ...legacyHeaders(session), 'last-event-id': id } };
    };
    const [during, after] = [await broken(), await broken()];
    const calls = first.front.asked.filter(({ method }) => method === 'tools/call');
    const { former, ended } = await roll('1');
    const { now } = await roll('2');
    expect(await now.ask(calling(session, 77))).toMatchObject({ json: { result: { by: '2' } } });
    const resumed = await now.stream(during);
    for (const { message, reply } of calls) reply.answer(result(message.id, { done: message.id }));
    expect(await resumed.message()).toMatchObject({ id: 1, result: { done: 1 } });
    await resumed.ended();
    await former.ended;
    await ended;
    const late = await now.stream(after);
    expect(await late.message()).toMatchObject({ id: 2, result: { done: 2 } });
  });

  it('brings an answer and a cancellation to the call that they are for, along two formers #rollout', async () => {
    const { first, roll } = await fronts(keeps);
    const session = await first.initialize();
    const stream = await first.stream(calling(session, 1, 'tools/call'));
    const call = await first.arrived('tools/call');
    const second = await roll('1');
    expect((await second.now.ask(calling(session, 2))).json.result).toEqual({ by: '1' });
    const { now } = await roll('2');
    expect((await now.ask(calling(session, 3))).json.result).toEqual({ by: '2' });
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 1 } };
    expect((await now.ask(saying(session, { id: 5, result: {} }))).status).toBe(202);
    expect((await now.ask(saying(session, cancelled))).status).toBe(202);
    expect(heardBy(first).slice(-2)).toEqual(['result', 'notifications/cancelled']);
    call.reply.answer(result(1, { by: 'former' }));
    expect(await stream.message()).toMatchObject({ id: 1, result: { by: 'former' } });
  });

  it('that its client ends at the former is over at the successor #rollout', async () => {
    const { first, roll } = await fronts(keeps);
    const session = await first.initialize();
    const text = `DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nMcp-Session-Id: ${session}\r\n\r\n`;
    const { connect } = await import('node:net');
    const socket = connect({ port: first.port, host: '127.0.0.1' });
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk.toString();
    });
    await new Promise<void>((resolve) => void socket.write(text.slice(0, 30), () => resolve()));
    await first.ask(calling(session, 1));
    const { now } = await roll('1');
    socket.write(text.slice(30));
    await until(() => got.includes('204'), 'the session to end');
    expect((await now.ask(calling(session, 2))).status).toBe(404);
    socket.destroy();
  });
});

describe('a request that comes to a former', () => {
  it('is done by the successor if it is new, by whoever has what it continues if not #rollout', async () => {
    const { first, roll } = await fronts('not stored');
    Object.assign(first.front, { unfinished: 1 });
    const body = JSON.stringify(modernBody('tools/list', {}, 1));
    const lines = Object.entries(modernHeaders('tools/list')).map(([k, v]) => `${k}: ${v}\r\n`);
    const text = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}Content-Length: ${body.length}\r\n\r\n${body}`;
    const { connect } = await import('node:net');
    const socket = connect({ port: first.port, host: '127.0.0.1' });
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk.toString();
    });
    await new Promise<void>((resolve) => void socket.write(text.slice(0, 40), () => resolve()));
    await first.modern('tools/list');
    const { now } = await roll('1');
    socket.write(text.slice(40));
    await until(() => got.includes('"by"'), 'the answer');
    expect(got).toContain('"by":"1"');
    expect(got).toContain('Connection: close');
    const holderOf = () => first.tunnels.id;
    for (const { front } of [now, first]) Object.assign(front, { holderOf });
    expect((await now.modern('tools/list')).json.result).toEqual({ by: '0' });
    socket.destroy();
  });
});
