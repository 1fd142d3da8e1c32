// Open streams when their front is replaced: those that have no end of their own are ended in the way that tells the
// client to come again, and keep no former; the stream of the 2024 transport ends after the calls of its client.

import { describe, expect, it } from 'vitest';
import { result } from '../../../../test/support/fake-front.ts';
import { envelope, legacyHeaders, modernHeaders } from '../../../../test/support/http-front.ts';
import { calling } from '../../../../test/support/replica-fronts.ts';
import { type FrontProcess, rolloutFronts } from '../../../../test/support/rollout-fronts.ts';
import { until } from '../../../../test/support/until.ts';

const listening = {
  headers: modernHeaders('subscriptions/listen'),
  body: {
    ...{ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen' },
    params: { notifications: { toolsListChanged: true }, _meta: envelope },
  },
};

/** As the gateway does: the empty result is the end. */
function endsListenings({ front }: FrontProcess): void {
  front.onAsked = ({ method, message, reply }) => {
    if (method !== 'subscriptions/listen') return;
    const acknowledged = 'notifications/subscriptions/acknowledged';
    reply.send([JSON.stringify({ jsonrpc: '2.0', method: acknowledged, params: {} })]);
    const endListenings = () => reply.answer(result(message.id, { resultType: 'complete' }));
    Object.assign(front, { endListenings });
  };
}

describe('a stream, when its front is replaced', () => {
  it('of subscriptions ends with its result, and that of a session so that it can be resumed #rollout', async () => {
    const { first, roll } = await rolloutFronts();
    endsListenings(first);
    const session = await first.initialize();
    const modern = await first.stream(listening);
    expect(await modern.message()).toMatchObject({ method: /acknowledged/ });
    const legacy = await first.stream({ method: 'GET', headers: legacyHeaders(session) });
    const { id = '', retry } = await legacy.next();
    expect(retry).toBeDefined();
    const { former, now } = await roll();
    endsListenings(now);
    expect(await modern.message()).toMatchObject({ id: 'l', result: { resultType: 'complete' } });
    await Promise.all([modern.ended(), legacy.ended()]);
    expect(modern.response.complete && legacy.response.complete).toBe(true);
    await former.ended;
    const again = await now.stream(listening);
    expect(await again.message()).toMatchObject({ method: /acknowledged/ });
    const headers = { ...legacyHeaders(session), 'last-event-id': id };
    const resumed = await now.stream({ method: 'GET', headers });
    expect(resumed.status).toBe(200);
    again.drop();
    resumed.drop();
  });

  it('that a former has passed on does not keep it #rollout', async () => {
    const { first, roll } = await rolloutFronts();
    const session = await first.initialize();
    const { connect } = await import('node:net');
    const socket = connect({ port: first.port, host: '127.0.0.1' });
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk.toString();
    });
    const headers = Object.entries(legacyHeaders(session)).map(([k, v]) => `${k}: ${v}\r\n`);
    const text = `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers.join('')}\r\n`;
    await new Promise<void>((resolve) => void socket.write(text.slice(0, 30), () => resolve()));
    await first.ask({ method: 'GET', path: '/healthz' });
    const { former } = await roll();
    socket.write(text.slice(30));
    await until(() => got.includes('200 OK'), 'the stream');
    await former.ended;
    await until(() => got.endsWith('\r\n0\r\n\r\n'), 'its regular end');
    socket.destroy();
  });

  it('of the 2024 transport ends after the calls of its client #rollout', async () => {
    const { first, roll } = await rolloutFronts();
    const headers = { accept: 'text/event-stream' };
    const open = () => first.stream({ method: 'GET', path: '/sse', headers });
    const [idle, busy] = [await open(), await open()];
    const { data: path = '' } = await busy.next();
    const call = calling('', 5, 'tools/call');
    await first.ask({ path, ...call });
    const { reply } = await first.arrived('tools/call');
    const { former, now } = await roll();
    await idle.ended();
    expect(busy.isEnded).toBe(false);
    // What continues its work is passed on to it.
    expect((await now.ask({ path, ...calling('', 6, 'tools/call') })).status).toBe(202);
    await until(() => first.front.asked.length === 2, 'the second call');
    first.front.last().reply.answer(result(6));
    reply.answer(result(5));
    expect([(await busy.message()).id, (await busy.message()).id]).toEqual([6, 5]);
    await busy.ended();
    await former.ended;
  });
});
