import { describe, expect, it } from 'vitest';
import { crossed, givenUp, PlayedLink, Told } from '../../../test/support/handed-over.ts';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import {
  legacyServer,
  modernServer,
  remoteServer,
  type World,
} from '../../../test/support/remote-server.ts';
import { noParams } from '../../wire/frames.ts';
import { adoptConnection } from '../adopt-connection.ts';
import type { Connection } from '../connection.ts';
import { connectSse } from './connect-http.ts';
import type { HttpParts } from './http-parts.ts';

function call(connection: Connection) {
  const exchange = connection.request('tools/call', noParams, { owner: {} });
  exchange.answer.catch(() => {});
  return exchange;
}

function partsOf({ http }: World): HttpParts {
  return {
    server: 'docs',
    url: new URL('https://docs.example/mcp?v=1'),
    headers: { authorization: 'Bearer secret' },
    frameBytes: 1_000,
    http,
    clock: manualClock(),
    identity: { name: 'holdfast', version: '0.1.0' },
    capabilities: '{}',
    startTimeoutMs: 60_000,
    first: 'modern',
    eras: {
      known: async () => ({}),
      learn: () => {},
      notInitialized: () => {},
      kept: async () => {},
    },
  };
}

/** The next serving process goes on; what it sends is in the same `http`. */
async function moved(world: World) {
  const handOver = await givenUp(world.connection);
  const link = new PlayedLink(handOver);
  const told = new Told();
  const connection = await adoptConnection(partsOf(world), crossed(handOver.handed), told, link);
  link.attach(connection);
  return { connection, told, link, handed: handOver.handed };
}

const streams = ({ http }: World) => http.requests.filter(({ method }) => method === 'GET');

describe('a legacy session that goes to another serving process', () => {
  it('is not begun again and not ended: both go on in it', async () => {
    const world = await legacyServer();
    const { http } = world;
    const old = call(world.connection);
    const post = http.last.sent();
    const { connection, told } = await moved(world);
    expect(http.methods.slice(4)).toEqual(['GET']);
    expect(connection).toMatchObject({
      generation: 1,
      era: 'legacy',
      protocolVersion: '2025-06-18',
    });
    const own = call(connection);
    expect([own.id, http.last.headers]).toMatchObject([
      old.id + 1_000_001,
      { 'mcp-session-id': 's-1', 'mcp-protocol-version': '2025-06-18' },
    ]);
    http.last.result({ own: 1 });
    expect((await own.answer).kind).toBe('result');
    // The former still speaks in the session.
    const round = call(world.connection);
    expect(http.last.headers).toMatchObject({ 'mcp-session-id': 's-1' });
    http.last.result({});
    post.result({ old: 1 });
    expect([(await old.answer).id, (await round.answer).id]).toEqual([old.id, round.id]);
    await world.connection.close('end');
    expect(http.methods).not.toContain('DELETE');
    expect([world.lost, told.losses, told.noises]).toEqual([[], [], []]);
    const closed = connection.close('end');
    http.last.status(200);
    await closed;
    expect(http.methods.at(-1)).toBe('DELETE');
  });

  it('says when the former begins another exchange in it', async () => {
    const world = await legacyServer();
    const { link } = await moved(world);
    const begun: boolean[] = [];
    link.rest.attach({ write: () => {}, begun: () => begun.push(link.rest.mayHaveCalls) });
    const round = call(world.connection);
    expect(begun).toEqual([true]);
    world.http.last.result({});
    await round.answer;
    expect(link.rest.mayHaveCalls).toBe(false);
  });

  it('is resumed by the successor after the last event of its unasked stream', async () => {
    const world = await legacyServer();
    const [stream] = streams(world);
    stream?.data('id: e-7\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n');
    const { handed, told } = await moved(world);
    expect(handed.state).toMatchObject({ transport: 'http', lastEventId: 'e-7', sessionId: 's-1' });
    const [before, after] = streams(world);
    expect([before?.isAborted, after?.headers['last-event-id']]).toEqual([true, 'e-7']);
    after?.stream().event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect([told.notified.length, told.missings, world.notifications.length]).toEqual([1, 0, 1]);
  });

  it('may have said something between two streams without event ids: that is told', async () => {
    const world = await legacyServer();
    const { told } = await moved(world);
    expect([streams(world)[1]?.headers['last-event-id'], told.missings]).toEqual([undefined, 0]);
    streams(world)[1]?.stream();
    expect([told.missings, world.missed()]).toEqual([1, 0]);
  });

  it('brings a request of the server on that stream to the former, if only that has calls', async () => {
    const world = await legacyServer();
    const { http } = world;
    const old = call(world.connection);
    const post = http.last.sent();
    const { connection, told, link } = await moved(world);
    const stream = streams(world)[1]?.stream();
    stream?.event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} });
    expect([world.asked.map(({ id }) => id), told.asks]).toEqual([['q'], []]);
    world.connection.respond('{"jsonrpc":"2.0","id":"q","result":{}}');
    expect(http.last.body).toEqual({ jsonrpc: '2.0', id: 'q', result: {} });
    const token = { progressToken: old.id, progress: 1 };
    stream?.event({ jsonrpc: '2.0', method: 'notifications/progress', params: token });
    expect([told.notified, link.passed.length]).toEqual([[], 2]);
    call(connection);
    stream?.event({ jsonrpc: '2.0', id: 'both', method: 'elicitation/create', params: {} });
    expect(told.questions.map(({ isUncertain }) => isUncertain)).toEqual([true]);
    // On the stream of a request there is no doubt.
    post.stream().event({ jsonrpc: '2.0', id: 'own', method: 'elicitation/create', params: {} });
    expect(world.asked.map(({ id }) => id)).toEqual(['q', 'own']);
    link.rest.heard(Buffer.from('no message'));
    expect(world.noise).toEqual(['not-json']);
  });

  it('whose server cannot be reached is not ended while the former still has calls', async () => {
    const world = await legacyServer();
    call(world.connection);
    const { connection, told, link } = await moved(world);
    const own = call(connection);
    world.http.last.sent().break('ECONNRESET');
    await expect(own.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    const closed = connection.close('lost');
    await settled();
    expect([told.losses.length, world.http.methods.includes('DELETE')]).toEqual([1, false]);
    link.end();
    await settled();
    world.http.last.status(200);
    await closed;
    expect(world.http.methods.at(-1)).toBe('DELETE');
  });

  it('that its server has ended is lost for the successor only', async () => {
    const world = await legacyServer();
    const old = call(world.connection);
    const { told } = await moved(world);
    world.http.find('tools/call').status(404);
    await expect(old.answer).rejects.toMatchObject({ dispatched: 'no' });
    expect([world.lost, told.losses]).toEqual([[], []]);
  });
});

describe('a modern server that goes to another serving process', () => {
  it('is known by its greeting; its subscription ends before', async () => {
    const world = await modernServer();
    const listening = world.connection.request('subscriptions/listen', noParams, {
      background: true,
    });
    listening.answer.catch(() => {});
    const stream = world.http.last.stream();
    const old = call(world.connection);
    const post = world.http.last;
    const { connection, handed, link } = await moved(world);
    expect([stream.isAborted, post.isAborted, link.rest.open]).toEqual([true, false, 1]);
    expect(Object.keys(handed.state)).toEqual(['transport', 'generation', 'greeting', 'nextId']);
    const own = call(connection);
    expect(world.http.last.headers).toMatchObject({ 'mcp-protocol-version': '2026-07-28' });
    world.http.last.result({});
    post.result({});
    expect([(await own.answer).kind, (await old.answer).kind]).toEqual(['result', 'result']);
    await link.rest.whenEmpty();
    expect([link.rest.open, link.mayHaveCalls]).toEqual([0, false]);
  });
});

describe('a connection over HTTP that stays where it is', () => {
  it('has the transport of 2024, is not greeted, or is over', async () => {
    const world = remoteServer({}, connectSse);
    await settled();
    world.http.last.stream().data('event: endpoint\ndata: /messages\n\n');
    await settled();
    world.http.find('initialize').status(202);
    world.http.requests[0]?.event({
      ...{ jsonrpc: '2.0', id: 1 },
      result: { protocolVersion: '2024-11-05', capabilities: {} },
    });
    await settled();
    world.http.find('notifications/initialized').status(202);
    const connection = await world.connecting;
    expect(await connection.handOver?.()).toBeUndefined();
    const modern = await modernServer();
    await modern.connection.close('end');
    expect(await modern.connection.handOver?.()).toBeUndefined();
  });

  it('is not taken over with the parts of another transport', async () => {
    const world = await modernServer();
    const { handed } = await givenUp(world.connection);
    const child = { state: { id: 1 }, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    const state = { ...handed.state, transport: 'stdio', stdout: { noise: null }, stderr: [] };
    const adopting = adoptConnection(
      partsOf(world),
      crossed({ ...handed, child, state: state as never }),
      new Told(),
    );
    await expect(adopting).rejects.toMatchObject({ code: 'internal' });
  });
});
