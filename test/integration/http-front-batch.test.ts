// JSON-RPC batches, which only the revision 2025-03-26 has.

import { describe, expect, it } from 'vitest';
import { note, result } from '../support/fake-front.ts';
import { httpFront, legacyHeaders } from '../support/http-front.ts';

const request = (method: string, id: unknown) => ({ jsonrpc: '2.0', id, method });

async function opened(version = '2025-03-26') {
  const gate = await httpFront();
  const session = await gate.initialize(version);
  const { 'mcp-protocol-version': _, ...headers } = legacyHeaders(session);
  return {
    gate,
    headers,
    ask: (body: unknown) => gate.ask({ headers, body }),
    stream: (body: unknown) => gate.stream({ headers, body }),
  };
}

describe('a batch', () => {
  it('is answered with one list of answers', async () => {
    const { gate, ask } = await opened();
    const answer = ask([
      request('tools/list', 1),
      { jsonrpc: '2.0', method: 'notifications/x' },
      request('prompts/list', 2),
    ]);
    const second = await gate.arrived('prompts/list');
    second.reply.answer(result(2, { prompts: [] }));
    gate.front.last('tools/list').reply.answer(result(1, { tools: [] }));
    const { status, json, headers, text } = await answer;
    expect(status).toBe(200);
    expect(json).toHaveLength(2);
    expect(json).toContainEqual({ jsonrpc: '2.0', id: 1, result: { tools: [] } });
    expect(json).toContainEqual({ jsonrpc: '2.0', id: 2, result: { prompts: [] } });
    expect(headers['content-length']).toBe(String(text.length));
    const heard = gate.front.session.heard.map(({ method }) => method);
    expect(heard).toEqual(['initialize', 'tools/list', 'notifications/x', 'prompts/list']);
  });

  it('is answered to the end although one of its messages cannot be handled #one-bad-neighbour', async () => {
    const { gate, ask } = await opened();
    gate.front.onAsked = ({ message, method, reply }) => {
      if (method === 'tools/list') throw new Error('a defect');
      reply.answer(result(message.id));
      // An error after the answer does not answer it twice.
      if (method === 'prompts/list') throw new Error('another');
    };
    const answer = await ask([
      request('ping', 1),
      request('tools/list', 2),
      request('prompts/list', 3),
      request('ping', 4),
    ]);
    expect(answer.json).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32603 } },
      { id: 3, result: {} },
      { id: 4, result: {} },
    ]);
    expect(gate.front.defects).toHaveLength(2);
  });

  it('of one request is answered with a list of one', async () => {
    const { gate, ask } = await opened();
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    expect((await ask([request('ping', 1)])).json).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  it('becomes a stream when something comes before an answer', async () => {
    const { gate, stream } = await opened();
    const posted = stream([request('tools/list', 1), request('tools/call', 2)]);
    const second = await gate.arrived('tools/call');
    gate.front.last('tools/list').reply.answer(result(1));
    second.reply.send(note('notifications/progress'));
    const events = await posted;
    expect(await events.message()).toMatchObject({ id: 1 });
    expect(await events.message()).toMatchObject({ method: 'notifications/progress' });
    second.reply.answer(result(2));
    expect(await events.message()).toMatchObject({ id: 2 });
    await events.ended();
  });

  it('without a request is accepted without an answer', async () => {
    const { gate, ask } = await opened();
    const answer = await ask([
      { jsonrpc: '2.0', method: 'notifications/x' },
      { jsonrpc: '2.0', id: 1, result: {} },
    ]);
    expect(answer).toMatchObject({ status: 202, text: '' });
    expect(gate.front.session.heard).toHaveLength(3);
  });

  it.each(['2025-11-25', '2025-06-18', '2024-11-05'])(
    'is refused in a session of %s',
    async (version) => {
      const { gate, ask } = await opened(version);
      const answer = await ask([request('tools/list', 1)]);
      expect(answer).toMatchObject({ status: 400, json: { id: null, error: { code: -32600 } } });
      expect(gate.front.asked).toEqual([]);
    },
  );

  it.each([
    ['is empty', []],
    ['contains initialize', [request('tools/list', 1), request('initialize', 2)]],
    ['contains something that is no message', [request('tools/list', 1), 5]],
    ['contains a batch', [[request('tools/list', 1)]]],
    [
      'contains a modern request',
      [
        {
          ...request('tools/list', 1),
          params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
        },
      ],
    ],
    ['is too long', Array.from({ length: 1025 }, (_, id) => request('tools/list', id))],
  ])('that %s is refused as a whole', async (_, body) => {
    const { gate, ask } = await opened();
    const answer = await ask(body);
    expect(answer).toMatchObject({ status: 400, json: { error: { code: -32600 } } });
    expect(gate.front.asked).toEqual([]);
  });

  it('of broken JSON is broken JSON', async () => {
    const { ask } = await opened();
    expect((await ask('[{"jsonrpc":"2.0"},')).json.error.code).toBe(-32700);
  });

  it('belongs to a session', async () => {
    const { gate } = await opened();
    const answer = await gate.ask({ headers: legacyHeaders(), body: [request('tools/list', 1)] });
    expect(answer.status).toBe(400);
  });
});
