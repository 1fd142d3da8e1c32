// What comes before a message: who may ask, what may be asked, and how much of it.

import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTokens } from '../../src/downstream/http/access/tokens.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { localUser } from '../../src/policy/principal.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { result } from '../support/fake-front.ts';
import { httpFront, legacyHeaders, modernBody, modernHeaders } from '../support/http-front.ts';

/** Nothing unexpected is expected here. */
const fail = (error: unknown) => {
  throw error;
};

const config = { listen: '127.0.0.1:0', allowedHosts: [], allowedOrigins: [] };
const open = { ...config, auth: 'none' as const };
const call = {
  headers: modernHeaders('tools/call', 'x'),
  body: modernBody('tools/call', { name: 'x' }),
};

async function answering(options: Parameters<typeof httpFront>[0] = {}) {
  const gate = await httpFront(options);
  gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
  return gate;
}

async function guarded() {
  const store = new MemoryStore({ clock: systemClock, claims: 'durable' });
  const records = store.records('tokens', { durability: 'durable' });
  const sources = { local: records, isOperator: () => false };
  const { tokens, makeFirst } = await openTokens(sources, systemClock, fail);
  const { secret = '' } = (await makeFirst()) ?? {};
  return { gate: await answering({ tokens, config: { ...config, auth: 'token' } }), secret };
}

describe('who may ask', () => {
  it('is not a page that came by another name #http-edge', async () => {
    const gate = await answering();
    for (const path of ['/mcp', '/sse', '/messages', '/healthz', '/readyz', '/nowhere']) {
      const headers = { ...call.headers, host: 'evil.example.com' };
      const answer = await gate.ask({ ...call, path, headers });
      expect(answer.status, path).toBe(403);
      expect(answer.json.error.message).toContain('allowedHosts');
    }
    expect(gate.front.asked).toEqual([]);
  });

  it.each(['http://evil.example.com', 'null', 'https://localhost.evil.example.com'])(
    'is not a page of the origin %s',
    async (origin) => {
      const gate = await answering();
      const answer = await gate.ask({ ...call, headers: { ...call.headers, origin } });
      expect(answer.status).toBe(403);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(gate.front.asked).toEqual([]);
    },
  );

  it('is not a page that another port of this machine serves #http-edge', async () => {
    const gate = await answering();
    for (const origin of [`http://localhost:${gate.port + 1}`, 'http://localhost']) {
      const answer = await gate.ask({ ...call, headers: { ...call.headers, origin } });
      expect([answer.status, answer.json.error.message]).toEqual([
        403,
        expect.stringContaining('allowedOrigins'),
      ]);
    }
    expect(gate.front.asked).toEqual([]);
  });

  it('may be a page of our own, which the browser is not told to let read', async () => {
    const gate = await answering();
    const origin = `http://localhost:${gate.port}`;
    const answer = await gate.ask({ ...call, headers: { ...call.headers, origin } });
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('may be a page of an origin the operator has listed, which may also read', async () => {
    const origin = 'https://app.example.com';
    const gate = await answering({
      config: { ...open, allowedHosts: ['tools.example.com'], allowedOrigins: [origin] },
    });
    const asked = await gate.ask({
      method: 'OPTIONS',
      headers: {
        origin,
        host: 'tools.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,mcp-param-x',
      },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers['access-control-allow-headers']).toBe('content-type,mcp-param-x');
    const answer = await gate.ask({ ...call, headers: { ...call.headers, origin } });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'content-type': 'application/json',
      'content-length': String(answer.text.length),
    });
    const own = { method: 'OPTIONS', headers: { origin: `http://localhost:${gate.port}` } };
    expect((await gate.ask(own)).status).toBe(405);
  });

  it('is known by a token, and by nothing else #http-edge', async () => {
    const { gate, secret } = await guarded();
    const authorization = `Bearer ${secret}`;
    const good = await gate.ask({ ...call, headers: { ...call.headers, authorization } });
    expect(good.status).toBe(200);
    expect(gate.front.last().principal).toBe(localUser);
    const wrong: Record<string, string>[] = [
      {},
      { authorization: secret },
      { authorization: `Basic ${secret}` },
      { authorization: `Bearer ${secret}x` },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${secret} ${secret}` },
      { cookie: `authorization=${secret}` },
      { 'x-authorization': authorization },
    ];
    for (const headers of wrong) {
      const answer = await gate.ask({ ...call, headers: { ...call.headers, ...headers } });
      expect(answer.status, JSON.stringify(headers)).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer /);
      expect(answer.text).not.toContain(secret);
    }
    const said = async (value: string) => {
      const headers = { ...call.headers, authorization: value };
      return (await gate.ask({ ...call, headers })).json.error.message;
    };
    for (const value of [secret, `Basic ${secret}`, `Bearer "${secret}"`, 'Bearer YOUR TOKEN']) {
      expect(await said(value)).toContain('begins with hf_');
    }
    expect(await said(`Bearer ${secret}x`)).toContain('is not valid here');
    const query = `/mcp?access_token=${secret}&token=${secret}`;
    expect((await gate.ask({ ...call, path: query })).status).toBe(401);
    expect(gate.front.asked).toHaveLength(1);
    expect(gate.http.refused).toEqual({ unauthorized: wrong.length + 6, notFound: 0 });
  });

  it('at a path that is not there is told which there are, and that there is no OAuth', async () => {
    const gate = await answering();
    const at = async (path: string) => (await gate.ask({ method: 'GET', path })).json.error;
    for (const path of ['/mcp/', '/', '/mcp/x', '/mcp/s/', '/token/x']) {
      expect(await at(path), path).toContain('/mcp/s/SERVER');
    }
    for (const path of ['/register', '/.well-known/oauth-authorization-server/mcp?x=1']) {
      expect(await at(path), path).toContain('there is no OAuth here');
    }
    expect(gate.http.refused).toEqual({ unauthorized: 0, notFound: 7 });
  });

  it('is asked on every route that does something', async () => {
    const { gate } = await guarded();
    const routes = [
      ['POST', '/mcp'],
      ['GET', '/mcp'],
      ['DELETE', '/mcp'],
      ['GET', '/sse'],
      ['POST', '/messages?sessionId=x'],
    ] as const;
    for (const [method, path] of routes) {
      const asked = method === 'POST' ? call : { headers: call.headers };
      const answer = await gate.ask({ ...asked, method, path });
      expect(answer.status, `${method} ${path}`).toBe(401);
    }
    expect((await gate.ask({ method: 'GET', path: '/healthz' })).status).toBe(200);
  });
});

describe('what may be asked', () => {
  it('is served at a few addresses, and a wrong one gets a message that names them', async () => {
    const gate = await answering();
    const answer = await gate.ask({ ...call, path: '/' });
    expect(answer.status).toBe(404);
    expect(answer.json.error).toContain('/mcp');
    const put = await gate.ask({ ...call, method: 'PUT' });
    expect(put.status).toBe(405);
    expect(put.headers.allow).toBe('POST, GET, DELETE');
  });

  it('includes whether we are well and ready', async () => {
    let isReady = false;
    const gate = await answering({ readiness: () => ({ ready: isReady }) });
    const health = await gate.ask({ method: 'GET', path: '/healthz' });
    expect(health.json).toEqual({ ok: true, name: 'holdfast', version: '0' });
    const ready = () => gate.ask({ method: 'GET', path: '/readyz' });
    expect(await ready()).toMatchObject({ status: 503, json: { ready: false } });
    isReady = true;
    expect(await ready()).toMatchObject({ status: 200, json: { ready: true } });
    expect((await gate.ask({ method: 'HEAD', path: '/healthz' })).text).toBe('');
  });

  it.each([
    'text/plain',
    'text/plain; a=application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
  ])('is not %s, which a page may post unasked', async (type) => {
    const gate = await answering();
    const answer = await gate.ask({ ...call, headers: { ...call.headers, 'content-type': type } });
    expect(answer.status).toBe(415);
    expect(gate.front.asked).toEqual([]);
  });

  it('is not encoded, unless that means nothing', async () => {
    const gate = await answering();
    const encoded = (encoding: string) => ({ ...call.headers, 'content-encoding': encoding });
    const answer = await gate.ask({ ...call, headers: encoded('gzip') });
    expect([answer.status, answer.headers['accept-encoding']]).toEqual([415, 'identity']);
    expect(gate.front.asked).toEqual([]);
    expect((await gate.ask({ ...call, headers: encoded('Identity') })).status).toBe(200);
  });

  it.each(['Host: localhost', 'Content-Type: text/plain', 'Authorization: Bearer x'])(
    'has no header twice of which only one would count: %s',
    async (header) => {
      const gate = await answering();
      const first = 'Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer y';
      const head = `POST /mcp HTTP/1.1\r\n${first}\r\n${header}\r\nContent-Length: 2\r\n\r\n{}`;
      expect(await spoken(gate.port, [head])).toMatch(/^HTTP\/1\.1 400 .*is given twice/s);
      expect(gate.front.asked).toEqual([]);
    },
  );

  it.each([
    ['Content-Type: text/plain', 300],
    ['Content-Type: text/plain', 2_500],
    ['Host: evil.example.com', 4_000],
  ])(
    'has no header that hides behind many others: %s after %i #http-edge',
    async (header, many) => {
      const gate = await answering();
      const first = 'Host: localhost\r\nContent-Type: application/json';
      const rest = `${'a:\r\n'.repeat(many)}${header}\r\nContent-Length: 2`;
      const head = `POST /mcp HTTP/1.1\r\n${first}\r\n${rest}\r\n\r\n{}`;
      expect(await spoken(gate.port, [head])).toMatch(/^HTTP\/1\.1 431 .*256 headers/s);
      expect(gate.front.asked).toEqual([]);
    },
  );

  it.each([
    ['another host', 'Host: evil.example.com\r\nContent-Type: application/json', 403],
    ['no token', 'Host: localhost\r\nContent-Type: application/json', 401],
    ['another type', 'Host: localhost\r\nAuthorization: Bearer TOKEN', 415],
    [
      'too much',
      'Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer TOKEN',
      413,
    ],
  ])('is not invited before it is judged: %s #http-edge', async (_, headers, status) => {
    const { gate, secret } = await guarded();
    const length = status === 413 ? 99_999_999 : 2;
    const head = `POST /mcp HTTP/1.1\r\n${headers.replace('TOKEN', secret)}\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
    const heard = await spoken(gate.port, [head]);
    expect(heard).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*^connection: close`, 'ims'));
    expect(heard).not.toContain('100 Continue');
    expect(gate.front.asked).toEqual([]);
  });

  it('is invited when all else is good, and its connection is kept', async () => {
    const { gate, secret } = await guarded();
    const socket = connect(gate.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const text = JSON.stringify(call.body);
    const lines = Object.entries({ host: 'localhost', ...call.headers })
      .map(([name, value]) => `${name}: ${value}`)
      .join('\r\n');
    const ask = async (): Promise<string> => {
      socket.write(
        `POST /mcp HTTP/1.1\r\n${lines}\r\nauthorization: Bearer ${secret}\r\nexpect: 100-continue\r\ncontent-length: ${text.length}\r\n\r\n`,
      );
      const [invited] = await once(socket, 'data');
      socket.write(text);
      const [answered] = await once(socket, 'data');
      return `${invited}${answered}`;
    };
    for (const heard of [await ask(), await ask()]) {
      expect(heard).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    }
    expect(gate.front.asked).toHaveLength(2);
  });

  it('is heard to its end before a refusal closes the connection, so that the refusal is heard', async () => {
    const gate = await answering();
    const head = 'POST /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';
    const body = 'x'.repeat(1_000_000);
    const parts = [`${head}Content-Length: ${body.length}\r\n\r\n`, body];
    expect(await spoken(gate.port, parts)).toMatch(/^HTTP\/1\.1 404 .*not found/s);
  });

  it('is not more than the limit, with or without a Content-Length', async () => {
    const gate = await answering({ limits: { bodyBytes: 1000 } });
    const fits = modernBody('tools/list', {});
    const padded = (bytes: number) => JSON.stringify(fits).padEnd(bytes);
    const headers = modernHeaders('tools/list');
    expect((await gate.ask({ headers, body: padded(1000) })).status).toBe(200);
    const told = await gate.ask({ headers, body: padded(1001) });
    expect(told.status).toBe(413);
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    expect((await gate.ask({ headers: chunked, body: padded(1000) })).status).toBe(200);
    expect((await gate.ask({ headers: chunked, body: padded(1001) })).status).toBe(413);
    expect(gate.front.asked).toHaveLength(2);
  });

  it('is refused by its length alone, before it is sent', async () => {
    const gate = await answering({ limits: { bodyBytes: 1000 } });
    const socket = connect(gate.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1001\r\n\r\n',
    );
    const heard = await new Promise((resolve) => socket.once('data', resolve));
    expect(String(heard)).toContain('413');
  });

  it('is cut off when a body that is refused goes on without end', async () => {
    const gate = await answering({ limits: { bodyBytes: 1000, requestMs: 600_000 } });
    const socket = connect(gate.port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    const closed = new Promise((resolve) => {
      socket.on('close', resolve);
      socket.on('error', resolve);
    });
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const more = () => {
      if (!socket.destroyed) socket.write(`3e8\r\n${'x'.repeat(1000)}\r\n`, more);
    };
    more();
    await closed;
    expect(heard).toContain('413');
  });
});

/** Everything that is answered to this on a bare socket; the second part is sent after the answer begins. */
async function spoken(port: number, [head = '', rest = '']: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk;
  });
  const ended = new Promise((resolve, reject) => {
    socket.on('end', resolve);
    socket.on('error', reject);
  });
  socket.write(head);
  await once(socket, 'data');
  socket.end(rest);
  await ended;
  return heard;
}

describe('a body', () => {
  it.each([
    ['broken JSON', '{"jsonrpc":', -32700, null],
    ['nothing', '', -32700, null],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32700, null],
    ['a byte order mark', '\ufeff{}', -32700, null],
    ['too deep', '['.repeat(600) + ']'.repeat(600), -32700, null],
    ['a string', '"x"', -32600, null],
    ['another version', '{"jsonrpc":"1.0","id":7,"method":"x"}', -32600, 7],
    ['no shape', '{"jsonrpc":"2.0","id":"seven"}', -32600, 'seven'],
    ['a key twice', '{"jsonrpc":"2.0","id":7,"method":"x","method":"y"}', -32600, 7],
    ['an id twice', '{"jsonrpc":"2.0","id":7,"id":8,"method":"x"}', -32600, null],
    ['an id that is no id', '{"jsonrpc":"2.0","id":1.5,"method":"x"}', -32600, null],
    ['two values', '{"jsonrpc":"2.0","id":7,"method":"x"} {}', -32700, null],
  ])('that is %s is refused as the specification says', async (_, body, code, id) => {
    const gate = await answering();
    const answer = await gate.ask({ headers: legacyHeaders(), body });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ jsonrpc: '2.0', id, error: { code } });
    expect(answer.text).not.toContain(' at ');
    expect(gate.front.asked).toEqual([]);
    expect((await gate.ask(call)).status).toBe(200);
  });

  it('may come in any number of chunks', async () => {
    const gate = await answering();
    const text = JSON.stringify(call.body);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(gate.port, '127.0.0.1');
      socket.setNoDelay(true);
      const head = Object.entries({ host: 'localhost', ...call.headers, connection: 'close' });
      const lines = head.map(([name, value]) => `${name}: ${value}`).join('\r\n');
      socket.write(`POST /mcp HTTP/1.1\r\n${lines}\r\ncontent-length: ${text.length}\r\n\r\n`);
      let at = 0;
      const next = () => {
        at += 50;
        if (at - 50 < text.length) socket.write(text.slice(at - 50, at), () => setImmediate(next));
      };
      next();
      let heard = '';
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      socket.on('close', () => resolve(heard));
    });
    expect(answer).toContain('200 OK');
    expect(gate.front.last().message.bytes.toString()).toBe(text);
  });

  it('that never comes to its end leaves nothing behind', async () => {
    const gate = await answering();
    const before = gate.front.asked.length;
    const socket = connect(gate.port, '127.0.0.1');
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"jsonrpc"',
    );
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
    await gate.http.close();
    expect(gate.front.asked).toHaveLength(before);
    expect(gate.reports).toEqual([]);
  });
});

describe('a defect behind the door', () => {
  it('costs one request, says nothing of itself, and is reported', async () => {
    const gate = await httpFront();
    gate.front.onAsked = () => {
      throw new Error('secret detail');
    };
    const answer = await gate.ask(call);
    expect(answer.status).toBe(500);
    expect(answer.json.error).toEqual({ code: -32603, message: 'Internal error' });
    expect(answer.text).not.toContain('secret detail');
    expect(gate.reports.join()).toContain('secret detail');
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    expect((await gate.ask(call)).status).toBe(200);
  });
});
