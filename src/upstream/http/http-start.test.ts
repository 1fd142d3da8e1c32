import { describe, expect, it } from 'vitest';
import type { FakeRequest } from '../../../test/support/fake-http.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { discovery, initialized, remoteServer } from '../../../test/support/remote-server.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Era } from '../../wire/eras.ts';
import type { EraKnowledge } from '../negotiate.ts';
import { NotStreamable } from './http-connection.ts';

type World = ReturnType<typeof remoteServer>;

async function begin(remembered?: EraKnowledge): Promise<World> {
  const world = remoteServer(remembered);
  await settled();
  return world;
}

/** Plays a legacy server from `initialize` on. */
async function beLegacy({ http, connecting }: World): Promise<Era> {
  await settled();
  http.find('initialize').result(initialized);
  await settled();
  http.find('notifications/initialized').status(202);
  return (await connecting).era;
}

const error = (code: number, data?: unknown) => (probe: FakeRequest) =>
  probe.json({ jsonrpc: '2.0', id: probe.body['id'], error: { code, message: '', data } });

describe('meeting a server over HTTP', () => {
  it('fails with `overloaded` for a shortage of our own #restart-budget', async () => {
    const { http, connecting } = await begin();
    http.last.break('ENFILE');
    await expect(connecting).rejects.toMatchObject({
      code: 'overloaded',
      record: { dispatched: 'no' },
    });
  });

  it('is modern when it answers the probe so; that is remembered', async () => {
    const { http, connecting, eras, clock } = await begin();
    expect(http.last.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'server/discover',
    });
    http.last.result(discovery);
    const connection = await connecting;
    expect([connection.era, connection.protocolVersion, connection.pid]).toEqual([
      'modern',
      '2026-07-28',
      null,
    ]);
    expect([eras(), http.methods.length, clock.pending]).toEqual([{ modern: true }, 1, 0]);
  });

  const legacyBehaviours: readonly (readonly [string, (probe: FakeRequest) => void])[] = [
    [
      'a result without our version',
      (probe) => probe.result({ supportedVersions: ['2099-01-01'] }),
    ],
    ['an unknown method', error(-32601)],
    ['an unsupported version and legacy ones', error(-32022, { supported: ['2025-06-18'] })],
    ['HTTP 400', (probe) => probe.status(400)],
    [
      'HTTP 400 with an error for nobody',
      (probe) =>
        probe.json(
          { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no session' } },
          { status: 400 },
        ),
    ],
    ['HTTP 404', (probe) => probe.status(404)],
    ['HTTP 405', (probe) => probe.status(405)],
  ];

  it.each(legacyBehaviours)('is legacy after %s; that is remembered', async (_name, answer) => {
    const world = await begin();
    answer(world.http.last);
    expect(await beLegacy(world)).toBe('legacy');
    expect(world.eras()).toEqual({ modern: false, legacy: true });
    expect(world.http.methods).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
      'GET',
    ]);
    expect(world.lost).toEqual([]);
  });

  const saidNothing: readonly (readonly [string, (probe: FakeRequest) => void])[] = [
    [
      'a page for people',
      (probe) => probe.sent().respond(200, { 'content-type': 'text/html' }).data('<html>').end(),
    ],
    ['garbage', (probe) => probe.json('}{')],
    ['a stream that ends at once', (probe) => probe.stream().end()],
  ];

  it.each(saidNothing)(
    'is met in the other era after %s, and asked again next time',
    async (_name, answer) => {
      const world = await begin();
      answer(world.http.last);
      expect(await beLegacy(world)).toBe('legacy');
      expect(world.eras()).toEqual({ legacy: true });
    },
  );

  it('is legacy after three seconds of silence, and the probe is let go', async () => {
    const world = await begin();
    const probe = world.http.last.sent();
    await world.clock.advanceAsync(3_000);
    expect(probe.isAborted).toBe(false);
    expect(await beLegacy(world)).toBe('legacy');
    expect(probe.isAborted).toBe(true);
    expect(world.http.methods).not.toContain('notifications/cancelled');
  });

  const faults: readonly (readonly [string, (probe: FakeRequest) => void, string, RegExp])[] = [
    [
      'HTTP 401',
      (probe) => probe.status(401),
      'auth_required',
      /^docs: https:\/\/docs\.example\/mcp answers 401: it requires a login; set "headers"/,
    ],
    [
      'HTTP 403',
      (probe) => probe.status(403),
      'auth_required',
      /answers 403: it requires other credentials/,
    ],
    ['HTTP 429', (probe) => probe.status(429), 'unavailable', /answers 429: too many requests/],
    [
      'HTTP 503',
      (probe) => probe.status(503),
      'unavailable',
      /answers 503: the server there has an internal error/,
    ],
    [
      'no connection',
      (probe) => probe.break('ECONNREFUSED'),
      'unavailable',
      /^docs: .*cannot be reached: nothing listens there, .* \(ECONNREFUSED\); start the server/,
    ],
    [
      'a connection that breaks',
      (probe) => probe.sent().respond(200).break('ECONNRESET'),
      'unavailable',
      /docs dropped the connection/,
    ],
    [
      'no version in common',
      error(-32022, { supported: ['2099-01-01'] }),
      'protocol_violation',
      /2099-01-01/,
    ],
  ];

  it.each(faults)('says nothing of its era by %s', async (_name, answer, code, detail) => {
    const { http, connecting, eras, lost } = await begin();
    answer(http.last);
    await expect(connecting).rejects.toMatchObject({
      code,
      message: expect.stringMatching(detail),
    });
    expect([http.methods.length, eras(), lost.length]).toEqual([1, {}, 0]);
  });

  it('says that a web page is there, if there is one in both eras', async () => {
    const { http, connecting } = await begin();
    const page = (request: FakeRequest) =>
      request.sent().respond(200, { 'content-type': 'text/html; charset=utf-8' }).end();
    page(http.last);
    await settled();
    page(http.find('initialize'));
    await expect(connecting).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(
        /^docs: .* answers 200 with a web page \(HTML\), not with MCP; /,
      ),
    });
  });

  it.each([404, 405])('finds no POST at the address of the 2024 transport (%i)', async (status) => {
    const { http, connecting } = await begin();
    http.last.status(status);
    await settled();
    http.find('initialize').status(status);
    await expect(connecting).rejects.toThrow(NotStreamable);
  });

  it('does not take a server for that which cannot be reached any more', async () => {
    const { http, connecting } = await begin();
    http.last.status(404);
    await settled();
    http.find('initialize').break('ECONNREFUSED');
    await expect(connecting).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('answers a ping that comes before the handshake', async () => {
    const world = await begin({ modern: false });
    const initialize = world.http.find('initialize').stream();
    initialize.event({ jsonrpc: '2.0', id: 99, method: 'ping' });
    expect(world.http.last.body).toEqual({ jsonrpc: '2.0', id: 99, result: {} });
    initialize.event({ jsonrpc: '2.0', id: initialize.body['id'], result: initialized });
    await settled();
    world.http.find('notifications/initialized').status(202);
    expect((await world.connecting).era).toBe('legacy');
  });

  it('ends a session that was begun in vain', async () => {
    const { http, connecting } = await begin({ modern: false });
    http.last.result({ protocolVersion: '1999-01-01' }, { 'mcp-session-id': 's-1' });
    await settled();
    expect(http.last.request.method).toBe('DELETE');
    http.last.status(200);
    await expect(connecting).rejects.toMatchObject({ code: 'protocol_violation' });
  });
});

describe('a start that is cancelled', () => {
  const reason = new Fault('start_timeout', 'too slow');

  it('does not begin when that was before it began', async () => {
    const world = remoteServer();
    world.abort.abort(reason);
    await expect(world.connecting).rejects.toMatchObject({ code: 'start_timeout' });
    expect(world.http.methods).toEqual([]);
  });

  it.each([
    ['the probe has no answer', async ({ http }: World) => void http.last.sent()],
    ['the probe has headers but no answer', async ({ http }: World) => void http.last.stream()],
    [
      'the probe was refused halfway',
      async ({ http }: World) => void http.last.sent().respond(404),
    ],
    [
      'initialize has no answer',
      async ({ http }: World) => {
        http.last.status(400);
        await settled();
        http.find('initialize').sent();
      },
    ],
    [
      'initialized has no answer',
      async ({ http }: World) => {
        http.last.status(400);
        await settled();
        http.find('initialize').result(initialized);
        await settled();
        http.find('notifications/initialized').sent();
      },
    ],
  ])('ends while %s, and leaves nothing open', async (_name, play) => {
    const world = await begin();
    await play(world);
    world.abort.abort(reason);
    await expect(world.connecting).rejects.toMatchObject({ code: 'start_timeout' });
    await settled();
    const asked = world.http.methods.length;
    expect(world.http.last.isAborted).toBe(true);
    await world.clock.advanceAsync(100_000);
    expect([world.http.methods.length, world.clock.pending]).toEqual([asked, 0]);
    expect([world.lost.length, world.eras().legacy]).toEqual([0, undefined]);
  });
});
