// A request that is passed on to another replica arrives as it came, and its response comes back as it was sent, but for
// what belongs to one connection.

import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Edge } from '../http-context.ts';
import type { RequestContext } from '../route-table.ts';
import { nothing } from './carried.ts';
import { forward } from './forward.ts';

async function serving(answer: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Names in lower case, with all their values in order. */
function valuesOf(raw: readonly string[], name: string): readonly string[] {
  return raw.flatMap((text, at) =>
    at % 2 === 0 && text.toLowerCase() === name ? [raw[at + 1] ?? ''] : [],
  );
}

async function passedOn(headers: readonly string[], method = 'POST', text = '{"a":1}') {
  const seen: { raw: readonly string[]; body: string; method: string | undefined }[] = [];
  const behind = await serving((req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      seen.push({ raw: req.rawHeaders, body: Buffer.concat(parts).toString(), method: req.method });
      const own = ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Own', '1', 'X-Own', '2'];
      res.writeHead(201, [...own, 'Connection', 'close, X-Hop', 'X-Hop', 'no']);
      res.end('answered');
    });
  });
  const before = await serving((req, res) => {
    const context = { req, res, body: Buffer.from(text), url: req.url } as RequestContext;
    const forwarded = { context, carried: nothing, isModern: true, edge: {} as Edge };
    forward(connect(behind, '127.0.0.1'), forwarded).catch(() => res.destroy());
  });
  const asked = request({ port: before, host: '127.0.0.1', method, path: '/mcp?x=1', headers });
  asked.end(method === 'POST' ? text : undefined);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return { seen, answer, text: Buffer.concat(parts).toString() };
}

describe('a request that is passed on', () => {
  it('keeps what comes more than once, there and back #replicas', async () => {
    const twice = [
      'Host',
      'h',
      'X-Twice',
      'one',
      'x-twice',
      'two',
      'Cookie',
      'c=1',
      'Cookie',
      'd=2',
    ];
    const { seen, answer, text } = await passedOn(twice);
    const [{ raw, body } = { raw: [], body: '' }] = seen;
    expect(valuesOf(raw, 'x-twice')).toEqual(['one', 'two']);
    expect(valuesOf(raw, 'cookie')).toEqual(['c=1', 'd=2']);
    expect(valuesOf(raw, 'host')).toEqual(['h']);
    expect([body, answer.statusCode, text]).toEqual(['{"a":1}', 201, 'answered']);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(valuesOf(answer.rawHeaders, 'x-own')).toEqual(['1', '2']);
  });

  it('leaves out what belongs to one connection, also what that names itself #replicas', async () => {
    const own = [
      'Host',
      'h',
      'Connection',
      'keep-alive, X-Hop',
      'X-Hop',
      '1',
      'Keep-Alive',
      '5',
      'Holdfast-Former',
      'yes',
    ];
    const { seen, answer } = await passedOn(own, 'GET', '');
    const [{ raw, method } = { raw: [], method: '' }] = seen;
    expect(method).toBe('GET');
    expect(valuesOf(raw, 'connection')).toEqual(['close']);
    for (const name of [
      'holdfast-former',
      'x-hop',
      'keep-alive',
      'content-length',
      'transfer-encoding',
    ]) {
      expect(valuesOf(raw, name)).toEqual([]);
    }
    expect(valuesOf(answer.rawHeaders, 'x-hop')).toEqual([]);
  });

  it('has its length, also if it is empty #replicas', async () => {
    for (const body of ['', 'some bytes']) {
      const { seen } = await passedOn(['Host', 'h'], 'POST', body);
      expect(valuesOf(seen[0]?.raw ?? [], 'content-length')).toEqual([String(body.length)]);
      expect(seen[0]?.body).toBe(body);
    }
  });
});
