// Clients that do not read what they are sent, of every kind there is over HTTP: what waits for all of
// them together is bounded, those who take nothing pay for it, and who reads is served on.

import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OutgoingBudget, outgoingPolicy } from '../../src/downstream/outgoing/outgoing-budget.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { note, result } from '../support/fake-front.ts';
import { httpFront, legacyHeaders, modernBody, modernHeaders } from '../support/http-front.ts';
import { until } from '../support/until.ts';

const maxBytes = 4_000_000;
const long = 'x'.repeat(1_000_000);
const request = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method });

async function tightFront() {
  const policy = { ...outgoingPolicy, maxBytes };
  const outgoing = new OutgoingBudget(systemClock, () => {}, policy);
  const gate = await httpFront({ outgoing });
  return { gate, outgoing };
}

/** Asks, and never reads a byte of the answer. */
function neverRead(port: number, method: string, headers: object, body?: unknown): Socket {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = Object.entries({
    host: 'localhost',
    ...headers,
    'content-length': Buffer.byteLength(text),
  });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`${method} HTTP/1.1\r\n${head}\r\n${text}`);
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe('a client that never reads', () => {
  it('the stream of its modern request is cut off, and the request cancelled #slow-client', async () => {
    const { gate, outgoing } = await tightFront();
    const headers = modernHeaders('tools/call', 'x');
    neverRead(gate.port, 'POST /mcp', headers, modernBody('tools/call', { name: 'x' }));
    const asked = await gate.arrived('tools/call');
    await until(() => {
      asked.reply.send(note('notifications/progress', { long }));
      return asked.isCancelled;
    }, 'the request to be cancelled');
    expect([outgoing.closed, outgoing.bytes < maxBytes]).toEqual([1, true]);
  });

  it('the stream of its legacy request has that cancelled too, and no other #slow-client', async () => {
    const { gate, outgoing } = await tightFront();
    const headers = legacyHeaders(await gate.initialize());
    const other = gate.ask({ headers, body: request('tools/list', 2) });
    const kept = await gate.arrived('tools/list');
    neverRead(gate.port, 'POST /mcp', headers, request('tools/call'));
    const asked = await gate.arrived('tools/call');
    await until(() => {
      asked.reply.send(note('notifications/progress', { long }));
      return asked.isCancelled;
    }, 'the request to be cancelled');
    expect(kept.isCancelled).toBe(false);
    kept.reply.answer(result(2));
    expect((await other).text).toContain('"id":2');
    expect([outgoing.closed, gate.front.session.isClosed]).toEqual([1, false]);
  });

  it('its stream of 2024 is gone, with its session #slow-client', async () => {
    const { gate } = await tightFront();
    neverRead(gate.port, 'GET /sse', { accept: 'text/event-stream' });
    await until(() => gate.front.sessions.length > 0, 'the session');
    const { session } = gate.front;
    await until(() => {
      session.outlet.send(note('notifications/message', { long }));
      return session.isClosed;
    }, 'the session to end');
  });

  it('a whole answer is cut off when others need the room #slow-client', async () => {
    const { gate, outgoing } = await tightFront();
    gate.front.onAsked = ({ message, reply }) =>
      reply.answer(result(message.id, { text: long.repeat(8) }));
    const body = modernBody('tools/list');
    // The kernel takes several megabytes for each connection before anything waits with us.
    const sockets = Array.from({ length: 4 }, () =>
      neverRead(gate.port, 'POST /mcp', modernHeaders('tools/list'), body),
    );
    await until(() => gate.front.asked.length === sockets.length, 'the requests to arrive');
    await until(() => outgoing.closed >= 2, 'connections to be closed');
    expect(outgoing.bytes).toBeLessThanOrEqual(maxBytes);
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id, { ok: true }));
    expect((await gate.modern('tools/list')).json.result).toEqual({ ok: true });
  });

  it('is notified of a changed list once, however often it changed #slow-client', async () => {
    const { gate } = await tightFront();
    const session = await gate.initialize();
    const stream = await gate.stream({ method: 'GET', headers: legacyHeaders(session) });
    await stream.next();
    stream.response.pause();
    const { outlet } = gate.front.session;
    // Until the connection takes no more.
    for (let n = 0; n < 3; n += 1) outlet.send(note('notifications/message', { long, n }));
    const changed = 'notifications/tools/list_changed';
    for (let n = 0; n < 1000; n += 1) outlet.send(note(changed), changed);
    stream.response.resume();
    const messages = () => stream.events.flatMap(({ data }) => (data ? [JSON.parse(data)] : []));
    await until(() => messages().some(({ method }) => method === changed), 'the news');
    outlet.send(note('last'));
    await until(() => messages().at(-1)?.method === 'last', 'the last message');
    const told = messages().filter(({ method }) => method === changed);
    expect(told.length).toBeLessThanOrEqual(1);
  });

  it('is notified of a changed list when it listens again #slow-client', async () => {
    const { gate } = await tightFront();
    const session = await gate.initialize();
    const { outlet } = gate.front.session;
    const changed = 'notifications/tools/list_changed';
    for (let n = 0; n < 1000; n += 1) outlet.send(note(changed), changed);
    const stream = await gate.stream({ method: 'GET', headers: legacyHeaders(session) });
    outlet.send(note('last'));
    expect((await stream.message()).method).toBe(changed);
    expect((await stream.message()).method).toBe('last');
  });
});
