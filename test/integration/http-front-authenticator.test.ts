// Who asks may be known only later: what happens to a request meanwhile, and when nobody ever says.

import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Authentication, Credential } from '../../src/downstream/http/access/authenticator.ts';
import type { HttpRoute, RequestContext } from '../../src/downstream/http/route-table.ts';
import { localUser, type Principal } from '../../src/policy/principal.ts';
import { result } from '../support/fake-front.ts';
import { dial, frontDoor, LateAuthenticator } from '../support/front-door.ts';
import { httpFront, modernBody, modernHeaders } from '../support/http-front.ts';
import { manualClock, settled } from '../support/manual-clock.ts';
import { collectGarbage } from '../support/memory.ts';
import { until } from '../support/until.ts';

const config = {
  listen: '127.0.0.1:0',
  auth: 'token' as const,
  allowedHosts: [],
  allowedOrigins: [],
};
const alice: Principal = { id: 'jwt:alice', role: null };
const call = {
  headers: modernHeaders('tools/call', 'x'),
  body: modernBody('tools/call', { name: 'x' }),
};
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;

async function guarded(options: Parameters<typeof httpFront>[0] = {}) {
  const authenticator = new LateAuthenticator();
  const gate = await httpFront({ authenticator, config, ...options });
  gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
  return { gate, authenticator };
}

/** A table with a route of each access; what its handlers are called with. */
function madeUp() {
  const served: RequestContext<Principal | undefined>[] = [];
  const handle = (context: RequestContext<Principal | undefined>) => {
    served.push(context);
    context.res.end('done');
  };
  const routes: readonly HttpRoute[] = [
    { path: '/open', access: 'public', methods: { GET: { handle } } },
    { path: '/own', access: 'principal', methods: { GET: { handle } } },
    { path: '/own/:name', access: 'principal', methods: { GET: { handle } } },
    { path: '/control', access: 'operator', methods: { GET: { handle } } },
    { path: '/silent', access: 'public', methods: { GET: { handle: () => {} } } },
  ];
  return { served, routes };
}

describe('an authenticator that answers later', () => {
  it('is waited for, and then the request is served as the principal it found #late-principal', async () => {
    const { gate, authenticator } = await guarded();
    const headers = { ...call.headers, authorization: 'Bearer s3cret' };
    const answer = gate.ask({ ...call, headers });
    const { credential, answer: know } = await authenticator.question(1);
    expect(credential).toEqual({ token: 's3cret', remoteAddress: '127.0.0.1' });
    expect(gate.front.asked).toEqual([]);
    know({ principal: alice });
    expect((await answer).status).toBe(200);
    expect(gate.front.last().principal).toBe(alice);
  });

  it('distinguishes a token, another credential, and none', async () => {
    const { gate, authenticator } = await guarded();
    const challenge = { status: 403, message: 'no', wwwAuthenticate: 'Bearer' } as const;
    const tokens = [];
    for (const [at, shown] of [{ authorization: 'Basic eDp5' }, {}].entries()) {
      const answer = gate.ask({ ...call, headers: { ...call.headers, ...shown } });
      const question = await authenticator.question(at + 1);
      tokens.push(question.credential.token);
      question.answer({ challenge });
      expect((await answer).status).toBe(403);
    }
    expect(tokens).toEqual(['', undefined]);
  });

  it('is not called for public routes', async () => {
    const { gate, authenticator } = await guarded();
    for (const path of ['/healthz', '/readyz']) {
      expect((await gate.ask({ method: 'GET', path })).status).toBe(200);
    }
    expect((await gate.ask({ method: 'GET', path: '/nowhere' })).status).toBe(404);
    expect((await gate.ask({ method: 'PUT' })).status).toBe(405);
    expect(authenticator.questions).toEqual([]);
  });

  it.each(['jwt:a/server/files', 'jwt:a/b', ''])(
    'that finds a principal with the id %j has failed: nobody gets in #late-principal',
    async (id) => {
      const { gate, authenticator } = await guarded();
      const answer = gate.ask(call);
      (await authenticator.question(1)).answer({ principal: { id, role: null } });
      expect((await answer).status).toBe(503);
      expect(gate.front.asked).toEqual([]);
    },
  );

  it('may refuse with a challenge of its own', async () => {
    const { gate, authenticator } = await guarded();
    const answer = gate.ask(call);
    const wwwAuthenticate = 'Bearer error="insufficient_scope", scope="tools"';
    const challenge = { status: 403, message: 'Forbidden: the scope', wwwAuthenticate } as const;
    (await authenticator.question(1)).answer({ challenge });
    expect(await answer).toMatchObject({
      status: 403,
      headers: { 'www-authenticate': wwwAuthenticate },
      json: { error: { message: 'Forbidden: the scope' } },
    });
    expect(gate.front.asked).toEqual([]);
  });

  it('loses nothing of a body that comes meanwhile #late-principal', async () => {
    const { gate, authenticator } = await guarded();
    const text = 'x'.repeat(3_000_000);
    const body = modernBody('tools/call', { name: 'x', arguments: { text } });
    const answer = gate.ask({ ...call, body });
    const { answer: know } = await authenticator.question(1);
    await settled();
    know({ principal: alice });
    expect((await answer).status).toBe(200);
    expect(JSON.parse(gate.front.last().message.bytes.toString())).toEqual(body);
  });

  it('is waited for before a client is asked to send its body #late-principal', async () => {
    const { gate, authenticator } = await guarded();
    const socket = dial(gate.port);
    const text = JSON.stringify(call.body);
    const lines = Object.entries({ host: 'localhost', ...call.headers })
      .map(([name, value]) => `${name}: ${value}`)
      .join('\r\n');
    const head = `POST /mcp HTTP/1.1\r\n${lines}\r\nexpect: 100-continue\r\ncontent-length: ${text.length}\r\n\r\n`;
    socket.write(head);
    const question = await authenticator.question(1);
    await settled();
    expect(socket.heard).toBe('');
    question.answer({ principal: alice });
    await until(() => socket.heard !== '', 'the invitation');
    expect(socket.heard).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(text);
    await until(() => socket.heard.includes('200 OK'), 'the answer');
    // A client that is refused instead is never asked, and its connection is closed.
    socket.heard = '';
    socket.write(head);
    const challenge = { status: 401, message: 'no', wwwAuthenticate: 'Bearer' } as const;
    (await authenticator.question(2)).answer({ challenge });
    await until(() => socket.heard.includes('401'), 'the refusal');
    expect(socket.heard).not.toContain('100 Continue');
    expect(socket.heard).toMatch(/^connection: close/im);
  });

  it('is waited for by a bounded number of requests, and the others are refused #late-principal', async () => {
    const { gate, authenticator } = await guarded({ limits: { authentications: 2 } });
    const first = gate.ask(call);
    const second = gate.ask(call);
    await authenticator.question(2);
    for (let count = 0; count < 3; count++) {
      const third = await gate.ask(call);
      expect([third.status, third.headers['retry-after']]).toEqual([503, '5']);
    }
    expect((await gate.ask({ method: 'GET', path: '/healthz' })).status).toBe(200);
    expect(authenticator.questions).toHaveLength(2);
    expect(gate.reports).toHaveLength(1);
    (await authenticator.question(1)).answer({ principal: alice });
    expect((await first).status).toBe(200);
    const fourth = gate.ask(call);
    for (const number of [2, 3]) {
      (await authenticator.question(number)).answer({ principal: alice });
    }
    expect([(await second).status, (await fourth).status]).toEqual([200, 200]);
    expect(gate.front.defects).toEqual([]);
  });

  it('serves nothing to a client that has gone meanwhile, and keeps its place until it answers #late-principal #gone-client', async () => {
    const { served, routes } = madeUp();
    const authenticator = new LateAuthenticator();
    const gate = await frontDoor(routes, authenticator, { authentications: 1 });
    const socket = gate.dial();
    socket.write(get('/own'));
    const { answer } = await authenticator.question(1);
    const [first] = gate.requests;
    const closed = once(first?.res ?? socket, 'close');
    socket.destroy();
    await closed;
    const second = gate.dial();
    second.write(get('/own'));
    await until(() => second.heard.includes('503'), 'the refusal');
    answer({ principal: alice });
    await settled();
    expect(served).toEqual([]);
    second.write(get('/own'));
    (await authenticator.question(2)).answer({ principal: alice });
    await until(() => second.heard.includes('200 OK'), 'the place of the first');
    expect([served.length, gate.front.defects]).toEqual([1, []]);
    expect(gate.clock.longest).toBeLessThanOrEqual(10_000);
  });

  it('holds on to nothing of a client that has gone, even if it never answers #late-principal #no-growth', async () => {
    const { routes } = madeUp();
    const authenticator = new LateAuthenticator();
    const gate = await frontDoor(routes, authenticator);
    const gone = await (async () => {
      const socket = gate.dial();
      socket.write(get('/own'));
      await authenticator.question(1);
      const { res } = gate.requests.splice(0)[0] ?? {};
      if (res === undefined) throw new Error('there is no request');
      const closed = once(res, 'close');
      socket.destroy();
      await closed;
      return new WeakRef(res);
    })();
    await until(() => {
      collectGarbage();
      return gone.deref() === undefined;
    }, 'the response to be collected');
  });

  it('serves nothing to a client that has gone behind a request that is not answered #late-principal #gone-client', async () => {
    const { served, routes } = madeUp();
    const authenticator = new LateAuthenticator();
    const gate = await frontDoor(routes, authenticator);
    const socket = gate.dial();
    socket.write(get('/silent') + get('/own'));
    const { answer } = await authenticator.question(1);
    const [first] = gate.requests;
    const closed = once(first?.res ?? socket, 'close');
    socket.destroy();
    await closed;
    answer({ principal: alice });
    await settled();
    expect(served).toEqual([]);
  });

  it('is cut short by the end of the listener', async () => {
    const clock = manualClock();
    const { gate, authenticator } = await guarded({ clock });
    const answer = gate.ask(call).catch(() => 'cut off');
    const { answer: know } = await authenticator.question(1);
    const closing = gate.http.close();
    await clock.advanceAsync(1_000);
    await closing;
    expect(await answer).toBe('cut off');
    know({ principal: alice });
    await settled();
    expect([gate.front.asked, clock.pending]).toEqual([[], 0]);
  });
});

describe('an authenticator that fails', () => {
  it.each([
    ['rejects', () => Promise.reject(new Error('no route to the keys'))],
    ['rejects with nothing', () => Promise.reject(undefined)],
    [
      'throws',
      () => {
        throw new Error('no keys');
      },
    ],
  ])('and %s costs that request, and is counted #late-principal', async (_, authenticate) => {
    let isBroken = true;
    const working = (): Authentication => ({ principal: alice });
    const gate = await httpFront({
      config,
      authenticator: { authenticate: () => (isBroken ? authenticate() : working()) },
    });
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    const answer = await gate.ask(call);
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
    expect(answer.text).not.toContain('keys');
    expect([gate.front.defects.length, gate.reports.length]).toEqual([1, 1]);
    expect(gate.front.asked).toEqual([]);
    isBroken = false;
    expect((await gate.ask(call)).status).toBe(200);
  });

  it.each([
    ['nothing', undefined],
    ['neither a principal nor a challenge', {}],
  ])('and answers with %s grants no access #late-principal', async (_, found) => {
    const broken = found as unknown as Authentication;
    for (const answered of [broken, Promise.resolve(broken)]) {
      const gate = await httpFront({ config, authenticator: { authenticate: () => answered } });
      expect((await gate.ask(call)).status).toBe(500);
      expect([gate.front.defects.length, gate.front.asked]).toEqual([1, []]);
    }
  });

  it('and answers after its time is over, or with nothing, has no handler called #late-principal', async () => {
    const { served, routes } = madeUp();
    const late = new LateAuthenticator();
    const gate = await frontDoor(routes, late);
    const socket = gate.dial();
    socket.write(get('/own'));
    const first = await late.question(1);
    await gate.clock.advanceAsync(10_000);
    await until(() => socket.heard.includes('503'), 'the refusal');
    first.answer({ principal: alice });
    socket.write(get('/own'));
    (await late.question(2)).answer({} as Authentication);
    await until(() => socket.heard.includes('500'), 'the refusal of the second');
    expect(served).toEqual([]);
  });

  it('and never answers is abandoned after a time; a later answer is ignored #late-principal', async () => {
    const clock = manualClock();
    const limits = { authenticationMs: 7_000, authentications: 1 };
    const { gate, authenticator } = await guarded({ clock, limits });
    const answer = gate.ask(call);
    const late = await authenticator.question(1);
    await clock.advanceAsync(6_999);
    expect(gate.front.defects).toEqual([]);
    await clock.advanceAsync(1);
    expect((await answer).status).toBe(503);
    expect([gate.front.defects.length, gate.reports.length]).toEqual([1, 1]);
    const next = gate.ask(call);
    const inTime = await authenticator.question(2);
    late.answer({ principal: localUser });
    late.fail(new Error('too late'));
    await settled();
    expect(gate.front.asked).toEqual([]);
    inTime.answer({ principal: alice });
    expect((await next).status).toBe(200);
    expect(gate.front.asked.map(({ principal }) => principal)).toEqual([alice]);
    expect(gate.front.defects).toHaveLength(1);
  });
});

describe('a route for operators', () => {
  const authenticator = {
    authenticate: ({ token }: Credential): Authentication => ({
      principal: token === 'local' ? localUser : { id: `token:${token}`, role: 'operator' },
    }),
  };

  it('refuses a principal who is none #http-edge', async () => {
    const { served, routes } = madeUp();
    const gate = await frontDoor(routes, authenticator);
    const ask = async (path: string, token: string) => {
      const socket = gate.dial();
      socket.write(get(path, `Authorization: Bearer ${token}\r\n`));
      await until(() => socket.heard.includes('\r\n\r\n'), 'an answer');
      return socket.heard.split(' ')[1];
    };
    expect(await ask('/own', 'bob')).toBe('200');
    expect(await ask('/control', 'bob')).toBe('403');
    expect(await ask('/control', 'local')).toBe('200');
    expect(await ask('/own/git?x=1', 'bob')).toBe('200');
    const seen = served.map(({ principal, url, parameter }) => [principal?.id, url, parameter]);
    expect(seen).toEqual([
      ['token:bob', '/own', undefined],
      ['local', '/control', undefined],
      ['token:bob', '/own/git?x=1', 'git'],
    ]);
  });
});
