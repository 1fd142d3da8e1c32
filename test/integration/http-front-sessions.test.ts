// Legacy sessions over Streamable HTTP: their beginning and end, and what is said in them.

import { describe, expect, it } from 'vitest';
import { openTokens } from '../../src/downstream/http/access/tokens.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { frame, note, result } from '../support/fake-front.ts';
import { httpFront, legacyHeaders } from '../support/http-front.ts';
import { manualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

/** Nothing unexpected is expected here. */
const fail = (error: unknown) => {
  throw error;
};

const request = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method });
const listen = (session: string, more: Record<string, string> = {}) => ({
  method: 'GET',
  headers: { accept: 'text/event-stream', 'mcp-session-id': session, ...more },
});

type Gate = Awaited<ReturnType<typeof httpFront>>;

async function opened(options: Parameters<typeof httpFront>[0] = {}, version = '2025-11-25') {
  const gate = await httpFront({ clock: manualClock(), ...options });
  const session = await gate.initialize(version);
  const ask = (body: object, more: Record<string, string> = {}) =>
    gate.ask({ headers: { ...legacyHeaders(session, version), ...more }, body });
  return { gate, session, ask };
}

/** A stream that is listened on, once the session has it. */
async function listening(gate: Gate, session: string, more: Record<string, string> = {}) {
  const stream = await gate.stream(listen(session, more));
  expect(stream.status).toBe(200);
  return stream;
}

describe('a legacy session', () => {
  it('begins with initialize, and is named by a header', async () => {
    const { gate, session, ask } = await opened();
    expect(session).toMatch(/^[\x21-\x7e]{22,}$/);
    expect((await ask({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id, { tools: [] }));
    const answer = await ask(request('tools/list', 'a'));
    expect(answer).toMatchObject({ status: 200, json: { id: 'a', result: { tools: [] } } });
    expect(answer.headers['content-type']).toBe('application/json');
    expect(gate.front.sessions).toHaveLength(1);
    const heard = gate.front.session.heard.map(({ method }) => method);
    expect(heard).toEqual(['initialize', 'notifications/initialized', 'tools/list']);
  });

  it('accepts the answers of its client without an answer', async () => {
    const { gate, ask } = await opened();
    const answer = await ask({ jsonrpc: '2.0', id: 5, result: { action: 'accept' } });
    expect(answer).toMatchObject({ status: 202, text: '' });
    expect(gate.front.session.heard.at(-1)).toMatchObject({ kind: 'result', id: 5 });
  });

  it('must be named: none is 400, an unknown one 404', async () => {
    const { gate } = await opened();
    const ask = (more: Record<string, string>, method = 'POST') => {
      const headers = { ...legacyHeaders(), ...more };
      return gate.ask({ method, headers, ...(method === 'POST' && { body: request('ping', 3) }) });
    };
    for (const method of ['POST', 'GET', 'DELETE']) {
      expect((await ask({}, method)).status, method).toBe(400);
      expect((await ask({ 'mcp-session-id': 'nobody' }, method)).status, method).toBe(404);
    }
    expect((await ask({})).json).toMatchObject({ id: 3, error: { code: -32600 } });
    expect((await ask({ 'mcp-session-id': 'x' })).json).toMatchObject({ id: 3 });
  });

  it('is initialized once', async () => {
    const { gate, ask } = await opened();
    const again = { ...request('initialize', 9), params: { protocolVersion: '2025-11-25' } };
    expect(await ask(again)).toMatchObject({
      status: 400,
      json: { id: 9, error: { code: -32600 } },
    });
    const elsewhere = await ask(again, { 'mcp-session-id': 'gone' });
    expect(elsewhere.status).toBe(404);
    expect(gate.front.sessions).toHaveLength(1);
  });

  it('that could not be initialized is none', async () => {
    const gate = await httpFront();
    const answer = await gate.ask({ headers: legacyHeaders(), body: request('initialize') });
    expect(answer).toMatchObject({ status: 200, json: { error: { code: -32602 } } });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(gate.front.session.isClosed).toBe(true);
  });

  it('may have any of the known versions in its header, or none', async () => {
    const { gate, session } = await opened();
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    const status = async (version: string | undefined) => {
      const { 'mcp-protocol-version': _, ...headers } = legacyHeaders(session);
      const more = version === undefined ? {} : { 'mcp-protocol-version': version };
      return (await gate.ask({ headers: { ...headers, ...more }, body: request('ping') })).status;
    };
    expect(await status('2025-11-25')).toBe(200);
    expect(await status('2024-11-05')).toBe(200);
    expect(await status(undefined)).toBe(200);
    expect(await status('1999-01-01')).toBe(400);
    expect(await status('2026-07-28')).toBe(400);
  });

  it('ends with DELETE, and what is under way in it', async () => {
    const { gate, session, ask } = await opened();
    const waiting = ask(request('tools/call'));
    await gate.arrived('tools/call');
    const stream = await listening(gate, session);
    const end = await gate.ask({ method: 'DELETE', headers: legacyHeaders(session) });
    expect(end.status).toBe(204);
    expect(gate.front.session.isClosed).toBe(true);
    expect((await waiting).status).toBe(404);
    await stream.ended();
    expect((await ask(request('ping'))).status).toBe(404);
  });

  it('belongs to no other principal #sessions', async () => {
    const store = new MemoryStore({ clock: systemClock, claims: 'durable' });
    const records = store.records('tokens', { durability: 'durable' });
    const own = store.records('own', { durability: 'durable' });
    const sources = { local: records, own, isOperator: () => false };
    const { makeFirst } = await openTokens(sources, systemClock, fail);
    const { secret: mine = '' } = (await makeFirst()) ?? {};
    const { createHash } = await import('node:crypto');
    const hash = createHash('sha256').update('theirs').digest('hex');
    const record = { id: 'b', hash, name: 'b', role: 'r', createdAt: 0, expiresAt: null };
    await own.put('b', record);
    const { tokens } = await openTokens(sources, systemClock, fail);
    const config = {
      listen: '127.0.0.1:0',
      auth: 'token' as const,
      allowedHosts: [],
      allowedOrigins: [],
    };
    const gate = await httpFront({ tokens, config });
    const session = await gate.initialize('2025-11-25', { authorization: `Bearer ${mine}` });
    const stolen = { ...legacyHeaders(session), authorization: 'Bearer theirs' };
    const body = request('ping');
    expect((await gate.ask({ headers: stolen, body })).status).toBe(404);
    expect((await gate.ask({ method: 'GET', headers: stolen })).status).toBe(404);
    expect((await gate.ask({ method: 'DELETE', headers: stolen })).status).toBe(404);
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    const good = { ...stolen, authorization: `Bearer ${mine}` };
    expect((await gate.ask({ headers: good, body })).status).toBe(200);
  });

  it('expires after half an hour without a request and without an open stream #sessions', async () => {
    const clock = manualClock();
    const { gate, session, ask } = await opened({ clock });
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    const stream = await listening(gate, session);
    await clock.advanceAsync(100 * 60_000);
    expect((await ask(request('ping'))).status).toBe(200);
    stream.drop();
    await until(() => {
      clock.advance(30 * 60_000);
      return gate.front.session.isClosed;
    }, 'the session to expire once its stream is gone');
    expect((await ask(request('ping'))).status).toBe(404);
  });

  it('is refused when the table is full of sessions in use', async () => {
    const { gate, session } = await opened({ limits: { sessions: 1 } });
    await listening(gate, session);
    const params = { protocolVersion: '2025-11-25' };
    const body = { ...request('initialize'), params };
    const answer = await gate.ask({ headers: legacyHeaders(), body });
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBeDefined();
  });

  it('that is ended to make room is told to the operator once a minute, with a count #no-growth', async () => {
    const clock = manualClock();
    const gate = await httpFront({ clock, limits: { sessions: 4 } });
    for (let count = 0; count < 24; count += 1) await gate.initialize();
    const line = 'http: 4 sessions are open; the one idle longest was ended to make room';
    expect(gate.reports).toEqual([line]);
    clock.advance(60_000);
    await gate.initialize();
    expect(gate.reports).toEqual([line, `${line}; 19 more since the line before`]);
  });

  it('that its client did not wait for ends at once', async () => {
    const gate = await httpFront();
    const { openSession } = gate.front;
    gate.front.openSession = (principal, outlet) => {
      const session = openSession.call(gate.front, principal, outlet);
      session.receive = () => undefined;
      return session;
    };
    const body = { ...request('initialize'), params: { protocolVersion: '2025-11-25' } };
    const sent = gate.send({ headers: legacyHeaders(), body }, () => {});
    sent.on('error', () => {});
    await until(() => gate.front.sessions.length > 0, 'the session');
    sent.destroy();
    await until(() => gate.front.session.isClosed, 'the end of the session');
  });
});

describe('what is said in a session', () => {
  it('beside requests goes to exactly one of the streams that are listened on', async () => {
    const { gate, session } = await opened();
    const [one, other] = [await listening(gate, session), await listening(gate, session)];
    for (const n of [1, 2, 3]) gate.front.session.outlet.send(note('hello', { n }));
    for (const n of [1, 2, 3]) expect(await other.message()).toMatchObject({ params: { n } });
    other.drop();
    await until(() => {
      gate.front.session.outlet.send(note('later'));
      return one.events.some(({ data }) => data?.includes('later'));
    }, 'the other stream to be used');
    expect(one.events.some(({ data }) => data?.includes('hello'))).toBe(false);
  });

  it('while no stream is open waits, up to a bound', async () => {
    const { gate, session } = await opened({ limits: { keptEvents: 3 } });
    for (const n of [1, 2, 3, 4, 5]) gate.front.session.outlet.send(note('hello', { n }));
    const stream = await listening(gate, session);
    for (const n of [3, 4, 5]) expect(await stream.message()).toMatchObject({ params: { n } });
    const second = await listening(gate, session);
    gate.front.session.outlet.send(note('hello', { n: 6 }));
    expect(await second.message()).toMatchObject({ params: { n: 6 } });
  });

  it('is forgotten first where it was idle longest, when all together keep too much', async () => {
    const { gate, session: first } = await opened({ limits: { keptBytesOfAll: 800 } });
    const [firstCore] = gate.front.sessions;
    const second = await gate.initialize();
    const long = note('long', { text: 'y'.repeat(200) });
    firstCore?.outlet.send(long);
    gate.front.session.outlet.send(long);
    expect(await (await listening(gate, second)).message()).toMatchObject({ method: 'long' });
    const stream = await listening(gate, first);
    firstCore?.outlet.send(note('short'));
    expect(await stream.message()).toMatchObject({ method: 'short' });
  });

  it('on a stream shows a sign of life', async () => {
    const clock = manualClock();
    const { gate, session } = await opened({ clock }, '2025-06-18');
    const stream = await listening(gate, session);
    clock.advance(15_000);
    expect((await stream.next()).comment).toBe('keep-alive');
  });

  it('needs a client that reads events', async () => {
    const { gate, session } = await opened();
    const answer = await gate.ask(listen(session, { accept: 'application/json' }));
    expect(answer.status).toBe(406);
  });

  it('ends the oldest of too many streams', async () => {
    const { gate, session } = await opened({ limits: { streamsPerSession: 2 } });
    const streams = [];
    for (let n = 0; n < 3; n += 1) streams.push(await listening(gate, session));
    await streams[0]?.ended();
    expect(streams.map(({ isEnded }) => isEnded)).toEqual([true, false, false]);
  });

  it('before an answer makes it a stream, with the answer last', async () => {
    const { gate, session } = await opened({}, '2025-06-18');
    const headers = legacyHeaders(session, '2025-06-18');
    const post = gate.stream({ headers, body: request('tools/call', 4) });
    const { reply } = await gate.arrived('tools/call');
    reply.send(frame({ jsonrpc: '2.0', id: 's1', method: 'elicitation/create' }));
    const stream = await post;
    expect(stream.response.headers['content-type']).toBe('text/event-stream');
    expect(await stream.message()).toMatchObject({ id: 's1' });
    reply.answer(result(4, { done: true }));
    expect(await stream.message()).toEqual({ jsonrpc: '2.0', id: 4, result: { done: true } });
    await stream.ended();
    expect(stream.events.every(({ retry }) => retry === undefined)).toBe(true);
  });

  it('before an answer goes to the listening stream of a client that reads only JSON', async () => {
    const { gate, session, ask } = await opened();
    const stream = await listening(gate, session);
    const answer = ask(request('tools/call', 4), { accept: 'application/json' });
    const { reply } = await gate.arrived('tools/call');
    reply.send(note('notifications/progress'));
    expect(await stream.message()).toMatchObject({ method: 'notifications/progress' });
    reply.answer(result(4));
    expect((await answer).json).toMatchObject({ id: 4 });
  });

  it('is nothing after a request was cancelled: its POST ends, and the session is idle #sessions', async () => {
    const { gate, ask } = await opened({ limits: { sessions: 1 } });
    for (const accept of ['application/json', 'application/json, text/event-stream']) {
      const answer = ask(request('tools/call'), { accept });
      const { reply } = await gate.arrived('tools/call');
      gate.front.asked.length = 0;
      reply.withdrawn?.();
      expect(await answer).toMatchObject({ status: 202, text: '' });
    }
    // The table has room for one: a session that counted as busy would not make way.
    const [first] = gate.front.sessions;
    await gate.initialize();
    expect([first?.isClosed, gate.front.sessions.length]).toEqual([true, 2]);
  });

  it('is nothing more on the stream of a request that was cancelled, nor when its client comes back', async () => {
    const { gate, session } = await opened();
    const headers = legacyHeaders(session);
    const posted = gate.stream({ headers, body: request('tools/call', 7) });
    const { reply } = await gate.arrived('tools/call');
    reply.send(note('notifications/progress'));
    const stream = await posted;
    expect(await stream.message()).toMatchObject({ method: 'notifications/progress' });
    reply.withdrawn?.();
    await stream.ended();
    const first = stream.events.find(({ id }) => id !== undefined)?.id ?? '';
    const again = { ...headers, 'last-event-id': first };
    expect((await gate.ask({ method: 'GET', headers: again })).status).toBe(405);
  });

  it('is an error of the legacy era with the status 200', async () => {
    const { gate, ask } = await opened();
    gate.front.onAsked = ({ message, reply }) => {
      const error = { code: -32601, message: 'no' };
      reply.answer(frame({ jsonrpc: '2.0', id: message.id, error }), -32601);
    };
    expect(await ask(request('nonsense'))).toMatchObject({
      status: 200,
      json: { error: { code: -32601 } },
    });
  });
});
