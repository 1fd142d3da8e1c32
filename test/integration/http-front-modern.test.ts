// Modern requests: each stands for itself, is answered with JSON or a stream of its own, and is
// cancelled by closing its connection.

import { describe, expect, it } from 'vitest';
import { frame, note, result } from '../support/fake-front.ts';
import { httpFront, modernBody, modernHeaders } from '../support/http-front.ts';
import { manualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

const call = (name = 'x', id: unknown = 1) => ({
  headers: modernHeaders('tools/call', name),
  body: modernBody('tools/call', { name }, id),
});

const error = (id: unknown, code: number) =>
  frame({ jsonrpc: '2.0', id, error: { code, message: 'no' } });

describe('a modern answer', () => {
  it('that comes first is JSON, to the byte', async () => {
    const gate = await httpFront();
    const odd = '{"jsonrpc":"2.0","id":1,"result":{"big":9007199254740993,"text":"é\\u0041"}}';
    gate.front.onAsked = ({ reply }) =>
      reply.answer([odd.slice(0, 20), Buffer.from(odd.slice(20))]);
    const answer = await gate.ask(call());
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toBe(odd);
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(odd)));
    expect(answer.headers['mcp-session-id']).toBeUndefined();
  });

  it('of five megabytes in pieces arrives whole', async () => {
    const gate = await httpFront();
    const large = Buffer.alloc(5_000_000, 'x');
    gate.front.onAsked = ({ reply }) =>
      reply.answer(['{"jsonrpc":"2.0","id":1,"result":"', large, 'é"}']);
    const answer = await gate.ask(call());
    expect(answer.json.result).toHaveLength(5_000_001);
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.text)));
  });

  it.each([
    [-32601, 404],
    [-32600, 400],
    [-32021, 400],
    [-32602, 200],
    [-32603, 200],
  ])('with the error %i has the status %i', async (code, status) => {
    const gate = await httpFront();
    gate.front.onAsked = ({ message, reply }) => reply.answer(error(message.id, code), code);
    expect((await gate.ask(call())).status).toBe(status);
  });

  it('is given once, and nothing after it', async () => {
    const gate = await httpFront();
    gate.front.onAsked = ({ message, reply }) => {
      reply.answer(result(message.id, { n: 1 }));
      reply.answer(result(message.id, { n: 2 }));
      reply.send(note('late'));
    };
    expect((await gate.ask(call())).json.result).toEqual({ n: 1 });
    expect((await gate.ask(call())).json.result).toEqual({ n: 1 });
    expect(gate.reports).toEqual([]);
  });

  it('becomes a stream when something comes before it', async () => {
    const clock = manualClock();
    const gate = await httpFront({ clock });
    const stream = gate.stream(call());
    const { message, reply } = await gate.arrived('tools/call');
    reply.send(note('notifications/progress', { progress: 1 }));
    const events = await stream;
    expect(events.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    expect(await events.message()).toMatchObject({ params: { progress: 1 } });
    reply.send(note('notifications/progress', { progress: 2 }));
    expect(await events.message()).toMatchObject({ params: { progress: 2 } });
    reply.answer(error(message.id, -32601), -32601);
    expect(await events.message()).toMatchObject({ id: 1, error: { code: -32601 } });
    await events.ended();
    expect(events.events.every(({ id }) => id === undefined)).toBe(true);
    expect(gate.front.last().isCancelled).toBe(false);
    await clock.advanceAsync(60_000);
    expect(clock.pending).toBe(0);
  });

  it('that takes long becomes a stream with a sign of life', async () => {
    const clock = manualClock();
    const gate = await httpFront({ clock });
    const stream = gate.stream(call());
    const { message, reply } = await gate.arrived('tools/call');
    clock.advance(15_000);
    const events = await stream;
    expect(events.response.headers['content-type']).toBe('text/event-stream');
    expect((await events.next()).comment).toBeDefined();
    clock.advance(15_000);
    expect((await events.next()).comment).toBe('keep-alive');
    clock.advance(15_000);
    expect((await events.next()).comment).toBe('keep-alive');
    reply.answer(result(message.id));
    expect(await events.message()).toMatchObject({ id: 1, result: {} });
    await events.ended();
    await gate.http.close();
    expect(clock.pending).toBe(0);
  });

  it('is JSON in any case for a client that reads nothing else', async () => {
    const clock = manualClock();
    const gate = await httpFront({ clock });
    const headers = { ...call().headers, accept: 'application/json' };
    const answer = gate.ask({ ...call(), headers });
    const { message, reply } = await gate.arrived('tools/call');
    reply.send(note('notifications/progress'));
    clock.advance(60_000);
    reply.answer(result(message.id, { ok: true }));
    expect((await answer).json.result).toEqual({ ok: true });
  });
});

describe('a modern client', () => {
  it('that closes the connection before the answer has cancelled the request', async () => {
    const gate = await httpFront({ clock: manualClock() });
    const request = gate.send(call(), () => {});
    request.on('error', () => {});
    const asked = await gate.arrived('tools/call');
    expect(asked.isCancelled).toBe(false);
    request.destroy();
    await until(() => asked.isCancelled, 'the cancellation');
    asked.reply.send(note('late'));
    asked.reply.answer(result(1));
    expect(gate.reports).toEqual([]);
  });

  it('that closes its stream has cancelled the request', async () => {
    const gate = await httpFront();
    const stream = gate.stream(call());
    const asked = await gate.arrived('tools/call');
    asked.reply.send(note('first'));
    const events = await stream;
    await events.next();
    events.drop();
    await until(() => asked.isCancelled, 'the cancellation');
  });

  it('that has its answer has not cancelled anything by leaving', async () => {
    const gate = await httpFront();
    gate.front.onAsked = ({ message, reply }) =>
      setImmediate(() => reply.answer(result(message.id)));
    await gate.ask(call());
    await gate.http.close();
    expect(gate.front.last().isCancelled).toBe(false);
  });

  it('that reads too slowly is cut off, and its request cancelled', async () => {
    const gate = await httpFront({ limits: { streamBytes: 1_000_000 } });
    const stream = gate.stream(call());
    const asked = await gate.arrived('tools/call');
    asked.reply.send(note('first'));
    const { response } = await stream;
    response.pause();
    const text = 'x'.repeat(100_000);
    let sent = 0;
    await until(() => {
      if (!asked.isCancelled) asked.reply.send(note('more', { text }));
      sent += 1;
      return asked.isCancelled;
    }, 'the stream to be cut');
    expect(sent).toBeLessThan(1000);
  });

  it('that stops reading is cut off at the second heartbeat', async () => {
    const clock = manualClock();
    const gate = await httpFront({ clock });
    const stream = gate.stream(call());
    const asked = await gate.arrived('tools/call');
    asked.reply.send(note('first'));
    const { response } = await stream;
    response.pause();
    asked.reply.send(note('large', { text: 'x'.repeat(7_000_000) }));
    clock.advance(15_000);
    expect(asked.isCancelled).toBe(false);
    clock.advance(15_000);
    await until(() => asked.isCancelled, 'the stream to be cut');
  });

  it('may send the same ids as others at the same time', async () => {
    const gate = await httpFront();
    gate.front.onAsked = ({ message, reply }) => {
      const { params } = JSON.parse(message.bytes.toString());
      setImmediate(() => reply.answer(result(message.id, { name: params.name })));
    };
    const names = Array.from({ length: 64 }, (_, n) => `tool-${n}`);
    const answers = await Promise.all(names.map((name) => gate.ask(call(name, 0))));
    expect(answers.map(({ json }) => json.result.name)).toEqual(names);
  });
});

describe('a modern message', () => {
  it('that is a notification is accepted without an answer, a cancellation without effect', async () => {
    const gate = await httpFront();
    const send = (method: string) => {
      const { id: _, ...body } = modernBody(method);
      return gate.ask({ headers: modernHeaders(method), body });
    };
    expect(await send('notifications/x')).toMatchObject({ status: 202, text: '' });
    expect(await send('notifications/cancelled')).toMatchObject({ status: 202, text: '' });
    expect(gate.front.notified_.map(({ method }) => method)).toEqual(['notifications/x']);
  });

  it.each([
    ['no envelope', { params: {} }, -32602],
    ['no params', { params: undefined }, -32602],
    ['another method', { method: 'tools/list' }, -32020],
  ])('with %s is refused with its id', async (_, change, code) => {
    const gate = await httpFront();
    const answer = await gate.ask({ ...call(), body: { ...call().body, id: 'my id', ...change } });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ id: 'my id', error: { code } });
    expect(gate.front.asked).toEqual([]);
  });

  it('of another version gets the supported one', async () => {
    const gate = await httpFront();
    const { body, headers } = call();
    const version = 'v999.0.0';
    const _meta = {
      ...body.params._meta,
      'io.modelcontextprotocol/protocolVersion': version,
    };
    const answer = await gate.ask({
      headers: { ...headers, 'mcp-protocol-version': version },
      body: { ...body, params: { ...body.params, _meta } },
    });
    expect(answer.status).toBe(400);
    expect(answer.json.error).toMatchObject({
      code: -32022,
      data: { supported: ['2026-07-28'], requested: version },
    });
  });

  it('must repeat marked arguments in headers', async () => {
    const gate = await httpFront();
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    gate.front.schemas.set('x', {
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    });
    const { headers } = call();
    const body = modernBody('tools/call', { name: 'x', arguments: { region: 'eu' } });
    const ask = (more: object, text?: string) =>
      gate.ask({ headers: { ...headers, ...more }, body: text ?? body });
    expect((await ask({ 'Mcp-Param-Region': 'eu' })).status).toBe(200);
    expect(await ask({})).toMatchObject({ status: 400, json: { id: 1, error: { code: -32020 } } });
    const twice = JSON.stringify(body).replace('"region":"eu"', '"region":"eu","region":"us"');
    expect(await ask({ 'mcp-param-region': 'eu' }, twice)).toMatchObject({
      status: 400,
      json: { id: 1, error: { code: -32600 } },
    });
    expect(gate.front.asked).toHaveLength(1);
  });

  it.each(['GET', 'DELETE'])('is never a %s', async (method) => {
    const gate = await httpFront();
    const { 'content-type': _, ...headers } = call().headers;
    const answer = await gate.ask({ method, headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('POST');
  });

  it('is not part of a batch', async () => {
    const gate = await httpFront();
    const answer = await gate.ask({ ...call(), body: [call().body] });
    expect(answer).toMatchObject({ status: 400, json: { id: null, error: { code: -32600 } } });
    expect(gate.front.asked).toEqual([]);
  });
});
