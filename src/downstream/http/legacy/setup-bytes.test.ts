// What clients of both legacy transports say to set their sessions up is bounded for each owner, where sessions are
// not stored, too, and however many requests come at once.

import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { FakeFront, result } from '../../../../test/support/fake-front.ts';
import { manualClock, settled } from '../../../../test/support/manual-clock.ts';
import { Deadlines } from '../../../kernel/deadlines.ts';
import type { Principal } from '../../../policy/principal.ts';
import { scanMessage } from '../../../wire/scan.ts';
import { OutgoingBudget } from '../../outgoing/outgoing-budget.ts';
import { defaultLimits } from '../http-limits.ts';
import { PassingOn } from '../replicas/passing-on.ts';
import { LegacyEndpoint } from './legacy-endpoint.ts';
import { Sessions } from './sessions.ts';
import { OldTransport } from './sse-2024.ts';

const ann: Principal = { id: 'token:ann', role: 'r' };
const bob: Principal = { id: 'token:bob', role: 'r' };

/** A response that takes everything, and what was written to it. */
class FakeResponse extends EventEmitter {
  closed = false;
  readonly destroyed = false;
  readonly headersSent = false;
  readonly writableLength = 0;
  readonly socket = null;
  text = '';
  session = '';

  writeHead(_status: number, head: readonly string[] = []): void {
    this.session = head[head.indexOf('Mcp-Session-Id') + 1] ?? '';
  }

  write(piece: string | Buffer): boolean {
    this.text += piece;
    return true;
  }

  end(piece: string | Buffer = ''): void {
    this.text += piece;
  }

  cork(): void {}
  uncork(): void {}
  flushHeaders(): void {}

  close(): void {
    this.closed = true;
    this.emit('close');
  }
}

/** Room for 8,000 bytes, of which one owner may have 6,000. */
function newFront() {
  const clock = manualClock();
  const front = new FakeFront();
  const edge = {
    ...{ front, clock, report: () => {}, inform: () => {} },
    limits: { ...defaultLimits, setupBytesOfAll: 8_000 },
    deadlines: new Deadlines(clock),
    outgoing: new OutgoingBudget(clock),
  };
  const sessions = new Sessions(edge);
  const passing = new PassingOn(edge, sessions);
  const old = new OldTransport(edge, sessions, passing);
  const endpoint = new LegacyEndpoint(edge, sessions, passing);
  let nextId = 1;
  const context = (principal: Principal, headers: object, body: object, url = '') => ({
    req: {
      headers: { accept: 'text/event-stream, application/json', ...headers },
    } as IncomingMessage,
    ...{ principal, url, parameter: undefined, body: Buffer.from(JSON.stringify(body)) },
  });
  const messageOf = (method: string, params: object) => ({
    ...{ jsonrpc: '2.0', id: nextId++, method, params },
  });
  /** A client of the transport of 2024; what it sends is said on its stream. */
  const stream = (principal: Principal) => {
    const res = new FakeResponse();
    old.open({ ...context(principal, {}, {}), res: res as unknown as ServerResponse });
    const [, url = ''] = /data: (\S+)/.exec(res.text) ?? [];
    const send = async (method: string, params: object) => {
      const from = res.text.length;
      const posted = new FakeResponse() as unknown as ServerResponse;
      old.post({ ...context(principal, {}, messageOf(method, params), url), res: posted });
      await settled();
      return res.text.slice(from);
    };
    return { send, close: () => res.close() };
  };
  /** One of the later transport. */
  const session = async (principal: Principal, bytes: number) => {
    let id: string | undefined;
    const send = async (method: string, params: object) => {
      const res = new FakeResponse();
      const headers = id === undefined ? {} : { 'mcp-session-id': id };
      const message = messageOf(method, params);
      const request = context(principal, headers, message);
      endpoint.post(scanMessage(request.body), {
        ...request,
        res: res as unknown as ServerResponse,
      });
      await settled();
      return res;
    };
    id = (await send('initialize', setUp(bytes))).session;
    return { send: async (...said: Parameters<typeof send>) => (await send(...said)).text };
  };
  /** All that was asked is answered well. */
  const answerAll = async () => {
    for (const { reply, message } of front.asked.splice(0)) reply.answer(result(message.id));
    await settled();
  };
  return { front, sessions, stream, session, answerAll };
}

/** Parameters with about so many bytes. */
const setUp = (bytes: number) => ({
  ...{ protocolVersion: '2024-11-05', clientInfo: { name: 'c', version: '1' } },
  capabilities: { experimental: { x: 'x'.repeat(Math.max(0, bytes - 120)) } },
});
const uri = (at: number) => ({ uri: `x://${at}/${'a'.repeat(1_450)}` });
const tooMuch = /end others first/;

describe('what clients of the transport of 2024 say to set their sessions up', () => {
  it('is bounded for each owner, with what its sessions of the other transport have said #no-growth #principal-share', async () => {
    const { stream, session, answerAll, sessions } = newFront();
    await session(ann, 1_500);
    const [client, other] = [stream(ann), stream(bob)];
    expect(await client.send('initialize', setUp(1_500))).toContain('"result"');
    for (const at of [1, 2]) {
      expect(await client.send('resources/subscribe', uri(at))).toBe('');
      await answerAll();
    }
    expect(await client.send('resources/subscribe', uri(3))).toMatch(tooMuch);
    expect(await other.send('initialize', setUp(1_500))).toContain('"result"');
    await client.send('resources/unsubscribe', uri(1));
    await answerAll();
    expect(await client.send('resources/subscribe', uri(3))).toBe('');
    expect(sessions.setups.isBeyondShare(ann, 1_500)).toBe(true);
    client.close();
    await answerAll();
    expect(sessions.setups.isBeyondShare(ann, 4_400)).toBe(false);
  });

  it('is refused where there is no room, after idle sessions were ended for it #no-growth #principal-share', async () => {
    const { stream, session, sessions } = newFront();
    for (let time = 0; time < 3; time += 1) await session(ann, 1_900);
    expect(sessions.size).toBe(3);
    const clients = [stream(ann), stream(ann), stream(ann), stream(ann)];
    const answers: string[] = [];
    for (const client of clients) answers.push(await client.send('initialize', setUp(1_900)));
    expect(sessions.size).toBe(0);
    expect(answers.map((text) => tooMuch.test(text))).toEqual([false, false, false, true]);
  });
});

describe.each(['the transport of 2024', 'sessions that are not stored'])('%s', (transport) => {
  /** A client that is set up. */
  async function begun() {
    const made = newFront();
    if (transport !== 'the transport of 2024') {
      return { ...made, client: await made.session(ann, 1_500) };
    }
    const client = made.stream(ann);
    await client.send('initialize', setUp(1_500));
    return { ...made, client };
  }

  it('count what is asked for before it is answered, and not if it fails #no-growth', async () => {
    const { client, front, answerAll } = await begun();
    for (const at of [1, 2, 3]) {
      expect(await client.send('resources/subscribe', uri(at))).not.toMatch(tooMuch);
    }
    expect(await client.send('resources/subscribe', uri(4))).toMatch(tooMuch);
    expect(front.asked).toHaveLength(3);
    const [failed] = front.asked.splice(0, 1);
    failed?.reply.answer(result(failed.message.id), -32602);
    await answerAll();
    expect(await client.send('resources/subscribe', uri(4))).not.toMatch(tooMuch);
    expect(await client.send('resources/subscribe', uri(5))).toMatch(tooMuch);
    const [withdrawn] = front.asked.splice(0, 1);
    withdrawn?.reply.withdrawn?.();
    expect(await client.send('resources/subscribe', uri(5))).not.toMatch(tooMuch);
  });
});
