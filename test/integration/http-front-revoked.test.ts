// The access of a principal ends while it has requests, streams and sessions of every kind: all of them end
// at once, those of others go on. A real front before a fake gateway.

import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { isStoredSession } from '../../src/downstream/http/legacy/kept-sessions.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type Principal, verifiedPrincipal } from '../../src/policy/principal.ts';
import type { Records } from '../../src/store/contract/records.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { type Asked, result } from '../support/fake-front.ts';
import { dial } from '../support/front-door.ts';
import { httpFront, legacyHeaders, modernBody, modernHeaders } from '../support/http-front.ts';
import { until } from '../support/until.ts';

const config = {
  listen: '127.0.0.1:0',
  auth: 'token' as const,
  allowedHosts: [],
  allowedOrigins: [],
};
const principal = (name: string) => verifiedPrincipal(`token:${name}`, 'r', () => false);
const known: readonly Principal[] = [principal('ann'), principal('bob')];

function sessionRecords(): Records {
  const store = new MemoryStore({ clock: systemClock });
  return store.records('sessions', { durability: 'process', shape: isStoredSession });
}

/** A front for two principals, with a stream or a request of each kind for both. */
async function world(people = known, sessions = sessionRecords()) {
  const valid = new Set(people);
  const tokens = {
    verify: (bearer: string) => [...valid].find(({ id }) => id === `token:${bearer}`),
    hasExpired: () => false,
  };
  const gate = await httpFront({ tokens, config, sessions });
  const as = (name: string) => ({ authorization: `Bearer ${name}` });
  const revoke = (name: string) => {
    for (const one of valid) if (one.id === `token:${name}`) valid.delete(one);
    gate.http.endAccess(new Set([`token:${name}`]));
  };
  return { gate, as, revoke, sessions };
}

const call = (name: string) => ({
  headers: modernHeaders('tools/call', name),
  body: modernBody('tools/call', { name }),
});

/** Whatever becomes of it. */
async function outcome(work: Promise<{ readonly status: number }>): Promise<number | 'broken'> {
  return await work.then(
    ({ status }) => status,
    () => 'broken' as const,
  );
}

describe('when the access of a principal ends', () => {
  it('its requests end and are cancelled, and the next one is refused #revoked', async () => {
    const { gate, as, revoke } = await world();
    const ask = (name: string) =>
      gate.ask({ ...call(name), headers: { ...call(name).headers, ...as(name) } });
    const [ann, bob] = [ask('ann'), ask('bob')];
    await until(() => gate.front.asked.length === 2, 'both calls to arrive');
    const [one, two] = gate.front.asked.toSorted((a, b) =>
      a.principal.id < b.principal.id ? -1 : 1,
    );
    revoke('ann');
    expect(await outcome(ann)).toBe('broken');
    await until(() => one?.isCancelled === true, 'the call to be cancelled');
    // A late answer has nowhere to go, and is no defect.
    one?.reply.answer(result(1));
    expect(two?.isCancelled).toBe(false);
    two?.reply.answer(result(1));
    expect(await outcome(bob)).toBe(200);
    expect(await outcome(ask('ann'))).toBe(401);
    expect(gate.front.ended).toEqual(['token:ann']);
    expect(gate.front.defects).toEqual([]);
  });

  it('its streams end: those that listen, those of a session, those of 2024 #revoked', async () => {
    const { gate, as, revoke } = await world();
    const open = async (name: string) => {
      const session = await gate.initialize('2025-11-25', as(name));
      const listen = gate.stream({
        headers: { ...modernHeaders('subscriptions/listen'), ...as(name) },
        body: modernBody('subscriptions/listen'),
      });
      const isIts = ({ principal: { id } }: Asked) => id === `token:${name}`;
      await until(() => gate.front.asked.some(isIts), 'it to listen');
      gate.front.last().reply.send(['{"jsonrpc":"2.0","method":"x"}']);
      const streams = [
        await listen,
        await gate.stream({ method: 'GET', headers: { ...legacyHeaders(session), ...as(name) } }),
        await gate.stream({
          method: 'GET',
          path: '/sse',
          headers: { accept: 'text/event-stream', ...as(name) },
        }),
      ];
      expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
      return { streams, session };
    };
    const [ann, bob] = [await open('ann'), await open('bob')];
    const sessionsOf = (name: string) =>
      gate.front.sessions.filter(({ principal: { id } }) => id === `token:${name}`);
    revoke('ann');
    for (const stream of ann.streams) await stream.ended();
    expect(sessionsOf('ann').map(({ isClosed }) => isClosed)).toEqual([true, true]);
    expect(sessionsOf('bob').map(({ isClosed }) => isClosed)).toEqual([false, false]);
    expect(bob.streams.map(({ isEnded }) => isEnded)).toEqual([false, false, false]);
    const again = { method: 'GET', headers: { ...legacyHeaders(ann.session), ...as('ann') } };
    expect((await gate.ask(again)).status).toBe(401);
    expect(gate.front.defects).toEqual([]);
  });

  it('a request of its session ends, and so does the session, also in the store #revoked', async () => {
    const { gate, as, revoke, sessions } = await world();
    const ids = { ann: await gate.initialize('2025-11-25', as('ann')), bob: '' };
    ids.bob = await gate.initialize('2025-11-25', as('bob'));
    expect(await sessions.entries()).toHaveLength(2);
    const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'x' } };
    const waiting = gate.ask({ headers: { ...legacyHeaders(ids.ann), ...as('ann') }, body });
    await gate.arrived('tools/call');
    revoke('ann');
    // The fake gateway has no last answer to it.
    expect(await outcome(waiting)).toBe(404);
    await until(async () => (await sessions.entries()).length === 1, 'it to be forgotten');
    expect(await sessions.entries()).toMatchObject([{ value: { principal: known[1] } }]);
    expect(gate.front.defects).toEqual([]);
  });

  it('a stored session that nobody has asked for yet is forgotten #revoked', async () => {
    const records = sessionRecords();
    const first = await world(known, records);
    await first.gate.initialize('2025-11-25', first.as('ann'));
    await first.gate.http.close();
    expect(await records.entries()).toHaveLength(1);
    const second = await world(known, records);
    second.revoke('ann');
    await until(async () => (await records.entries()).length === 0, 'it to be forgotten');
  });

  it('a session that is being looked up is not begun again #revoked', async () => {
    const records = sessionRecords();
    const first = await world(known, records);
    const session = await first.gate.initialize('2025-11-25', first.as('ann'));
    await first.gate.http.close();
    let found = () => {};
    const isFound = new Promise<void>((resolve) => {
      found = resolve;
    });
    let asked = 0;
    const late = new Proxy(records, {
      get: (target, name: keyof Records) =>
        name === 'get'
          ? async (key: string) => {
              asked += 1;
              await isFound;
              return await target.get(key);
            }
          : (target[name] as (...given: unknown[]) => unknown).bind(target),
    });
    const second = await world(known, late);
    const headers = { ...legacyHeaders(session), ...second.as('ann') };
    const waiting = second.gate.ask({ headers, body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
    const ended = outcome(waiting);
    await until(() => asked === 1, 'the store to be asked');
    second.revoke('ann');
    found();
    expect(await ended).toBe('broken');
    await until(async () => (await records.entries()).length === 0, 'it to be forgotten');
    expect(second.gate.front.sessions).toEqual([]);
  });

  it('a request whose body is still coming is not served #revoked', async () => {
    const { gate, revoke } = await world();
    const body = JSON.stringify(call('x').body);
    const headers = Object.entries(call('x').headers).map(([name, value]) => `${name}: ${value}`);
    const socket = dial(gate.port);
    await once(socket, 'connect');
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ann\r\n${headers.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    // Another request on another connection is served after the first has been admitted.
    expect((await gate.ask({ method: 'GET', path: '/healthz' })).status).toBe(200);
    const closed = once(socket, 'close');
    revoke('ann');
    socket.write(body.slice(5));
    await closed;
    expect(gate.front.asked).toEqual([]);
    expect(socket.heard).toBe('');
  });
});
