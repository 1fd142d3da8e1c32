// A front is replaced by another one at the same address while clients use it: nobody is refused, no connection is
// reset, and each request is done once.

import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { result } from '../../../../test/support/fake-front.ts';
import { modernBody, modernHeaders } from '../../../../test/support/http-front.ts';
import { diceFrom, PipeliningClient } from '../../../../test/support/pipelining-client.ts';
import { type FrontProcess, rolloutFronts } from '../../../../test/support/rollout-fronts.ts';
import { until } from '../../../../test/support/until.ts';

const answersAs = (one: FrontProcess, by: string) => {
  one.front.onAsked = ({ message, reply }) => reply.answer(result(message.id, { by }));
};

/** What a client sends and gets as text. */
function rawClient(port: number) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const got = { text: '', ended: '' };
  socket.on('data', (chunk) => {
    got.text += chunk.toString();
  });
  socket.on('error', (error) => {
    got.ended = error.message;
  });
  socket.on('end', () => {
    got.ended ||= 'end';
  });
  return { socket, got, has: (text: string) => until(() => got.text.includes(text), text) };
}

const request = (id: string) => {
  const body = JSON.stringify(modernBody('tools/list', {}, id));
  const headers = Object.entries(modernHeaders('tools/list'));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body}`;
};

describe('a front that is replaced', () => {
  it('loses no request of clients that send at any moment, over 50 hand-overs #rollout', async () => {
    const dice = diceFrom(14);
    const done = new Map<string, number>();
    const turns = (count: number, then: () => void): void => {
      if (count === 0) then();
      else setImmediate(() => turns(count - 1, then));
    };
    const answering = (one: FrontProcess, by: string) => {
      one.front.onAsked = ({ message, reply }) => {
        const id = String(message.id);
        done.set(id, (done.get(id) ?? 0) + 1);
        turns(dice(30), () => reply.answer(result(message.id, { by })));
      };
    };
    const { first, port, roll } = await rolloutFronts();
    answering(first, '0');
    const clients = Array.from(
      { length: 8 },
      (_, at) => new PipeliningClient(port, `c${at}`, dice),
    );
    let isOver = false;
    const sending = clients.map(async (client) => {
      while (!isOver && client.findings.length === 0) {
        await client.send(1 + dice(4));
        if (dice(4) > 0) await client.done();
        await new Promise((resolve) => turns(dice(20), () => resolve(undefined)));
      }
      await client.done();
    });
    const endings: Promise<void>[] = [];
    for (let at = 1; at <= 50; at += 1) {
      const { ended, now } = await roll(
        () => new Promise((resolve) => turns(dice(10), resolve as () => void)),
      );
      answering(now, String(at));
      endings.push(ended);
      // There are at most four formers.
      await endings[at - 4];
      await new Promise((resolve) => turns(dice(40), () => resolve(undefined)));
    }
    isOver = true;
    await Promise.all(sending);
    expect(clients.flatMap(({ findings }) => findings)).toEqual([]);
    const answered = clients.flatMap(({ answers }) => [...answers.keys()]);
    expect(answered.length).toBeGreaterThan(500);
    expect(answered.filter((id) => done.get(id) !== 1)).toEqual([]);
    expect(done.size).toBe(answered.length);
    await Promise.all(endings);
    for (const client of clients) client.end();
  });

  it('gives an idle connection away, and also one that becomes idle #rollout', async () => {
    const { first, port, roll } = await rolloutFronts();
    answersAs(first, 'first');
    const [idle, fresh, busy] = [rawClient(port), rawClient(port), rawClient(port)];
    idle.socket.write(request('i1'));
    await idle.has('"by":"first"');
    first.front.onAsked = undefined;
    busy.socket.write(request('b1'));
    const call = await first.arrived('tools/list');
    await until(() => first.front.asked.length === 2, 'the request');
    const { former, now } = await roll();
    answersAs(now, 'second');
    for (const one of [idle, fresh]) one.socket.write(request('2'));
    for (const one of [idle, fresh]) await one.has('"by":"second"');
    first.front.last('tools/list').reply.answer(result('b1', { by: 'first' }));
    await busy.has('"by":"first"');
    await former.ended;
    busy.socket.write(request('b2'));
    await busy.has('"by":"second"');
    expect(call).toBeDefined();
    for (const { socket, got } of [idle, fresh, busy]) {
      expect(got.ended).toBe('');
      expect(got.text.toLowerCase()).not.toContain('connection: close');
      socket.destroy();
    }
  });

  it('serves a request whose head the fence has cut, and closes the connection with the answer #rollout', async () => {
    const { first, port, roll } = await rolloutFronts();
    const cut = rawClient(port);
    const text = request('cut');
    await new Promise<void>((resolve) => void cut.socket.write(text.slice(0, 20), () => resolve()));
    const other = rawClient(port);
    answersAs(first, 'first');
    other.socket.write(request('o'));
    await other.has('"by":"first"');
    const { former, now } = await roll();
    answersAs(now, 'second');
    cut.socket.write(text.slice(20));
    await cut.has('"by":');
    expect(cut.got.text).toContain('Connection: close');
    await until(() => cut.got.ended !== '', 'the end');
    expect(cut.got.ended).toBe('end');
    expect(cut.got.text.startsWith('HTTP/1.1 200')).toBe(true);
    await former.ended;
    other.socket.destroy();
  });

  it('leaves a kept connection the time that it had, and closes it when that is over #rollout', async () => {
    const limits = { headersMs: 100, requestMs: 200, lateCheckMs: 20, keepAliveMs: 600 };
    const { first, port, roll } = await rolloutFronts(() => ({ limits }));
    answersAs(first, 'first');
    const kept = rawClient(port);
    kept.socket.write(request('1'));
    await kept.has('"by":"first"');
    const { now } = await roll();
    answersAs(now, 'second');
    const silent = rawClient(port);
    await until(() => silent.got.ended !== '', 'a connection without any request to be closed');
    expect(silent.got.text).toContain('408');
    kept.socket.write(request('2'));
    await kept.has('"by":"second"');
    const { former } = await roll();
    await former.ended;
    await until(() => kept.got.ended !== '', 'the kept connection to be closed');
    expect(kept.got.text).not.toContain('408');
  });
});
