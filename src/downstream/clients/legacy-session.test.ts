import { describe, expect, it } from 'vitest';
import { LegacyPeer, RecordedReply } from '../../../test/support/fake-gateway.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import type { Question } from '../../host/connections/caller.ts';
import { CancelSignal } from '../../kernel/cancel-signal.ts';
import { localUser } from '../../policy/principal.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import type { Incoming } from '../incoming.ts';
import { LegacySession, type SessionHost, watches } from './legacy-session.ts';

/** A session whose requests wait for the test. */
function newSession(
  greeting: SessionHost['greeting'] = () => '"serverInfo":{"name":"g"}',
  answer?: SessionHost['answer'],
) {
  const caught: unknown[] = [];
  const asked: Incoming[] = [];
  const notified: Message[] = [];
  const closed: LegacySession[] = [];
  let session!: LegacySession;
  const peer = new LegacyPeer({
    openSession: (principal, outlet) => {
      session = new LegacySession('session-1', principal, outlet, {
        greeting,
        answer: answer ?? ((incoming) => asked.push(incoming)),
        notified: (message) => notified.push(message),
        settled: () => {},
        caught: (error) => caught.push(error),
        closed: (own) => closed.push(own),
        mayHear: () => true,
        mayReceive: () => true,
        tasks: () => ({ handleOf: () => undefined, idOf: () => undefined }),
        watch: async () => () => {},
      });
      return session;
    },
  });
  return { peer, session, asked, notified, closed, caught };
}

function greeted(capabilities: object = {}) {
  const world = newSession();
  world.peer.request('initialize', { protocolVersion: '2025-11-25', capabilities });
  return world;
}

function question(method: string, params: object = {}, caller?: Incoming) {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 5, method, params });
  const message = scanMessage(Buffer.from(text));
  const withdrawn = new CancelSignal();
  const told: Message[] = [];
  const tellServer = (said: Message) => told.push(said);
  const asked: Question = { server: 's', message, caller, withdrawn, tellServer };
  return { ...asked, withdrawn, told };
}

describe('a request that cannot be handled', () => {
  it('is answered, and leaves nothing under way #one-bad-neighbour', () => {
    const defect = new Error('a defect');
    const { peer, session, caught } = newSession(undefined, () => {
      throw defect;
    });
    peer.request('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    const reply = peer.request('tools/list');
    expect(reply.answered.error?.code).toBe(-32603);
    expect([caught, session.inFlight]).toEqual([[defect], 0]);
  });
});

describe('a legacy client before initialize', () => {
  it('may declare so much, and no more is kept #no-growth', () => {
    const { peer } = newSession();
    const declare = (bytes: number) => {
      const capabilities = { experimental: { x: { y: 'a'.repeat(bytes) } } };
      return peer.request('initialize', { protocolVersion: '2025-11-25', capabilities });
    };
    expect(declare(16_384).answered.error?.code).toBe(-32602);
    expect(peer.request('tools/list').answered.error?.code).toBe(-32002);
    expect(declare(16_000).answered.error).toBeUndefined();
  });

  it('is answered though the result of initialize cannot be written', async () => {
    const defect = new Error('a defect');
    const { peer, caught } = newSession(() => Promise.reject(defect));
    const reply = peer.request('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    await settled();
    expect(reply.answered.error?.code).toBe(-32603);
    expect([reply.codes, caught]).toEqual([[-32603], [defect]]);
  });

  it('is told to begin with it, by -32002', () => {
    const { peer, asked } = newSession();
    const reply = peer.request('tools/list');
    expect(reply.answered.error?.code).toBe(-32002);
    expect([reply.codes, asked, peer.session.protocolVersion]).toEqual([[-32002], [], undefined]);
  });

  it('may ping, gets no messages, and its notifications go nowhere', () => {
    const { peer, session, notified } = newSession();
    expect(peer.request('ping').result).toEqual({});
    peer.note('vendor/x');
    session.send(['{}']);
    expect([notified, peer.heard]).toEqual([[], []]);
  });

  it('must name a revision', () => {
    const { peer } = newSession();
    expect(peer.request('initialize', {}).answered.error?.code).toBe(-32602);
    expect(peer.request('initialize', { protocolVersion: 5 }).answered.error?.code).toBe(-32602);
    expect(peer.session.protocolVersion).toBeUndefined();
  });
});

describe('the revision', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])('%s is taken', (version) => {
    const { peer } = newSession();
    const { result } = peer.request('initialize', { protocolVersion: version });
    expect(result).toMatchObject({ protocolVersion: version, serverInfo: { name: 'g' } });
    expect(peer.session.protocolVersion).toBe(version);
  });

  it.each(['2026-07-28', '1999-01-01', ''])('%j becomes the latest of its era', (version) => {
    const { peer } = newSession();
    expect(peer.request('initialize', { protocolVersion: version }).result).toMatchObject({
      protocolVersion: '2025-11-25',
    });
  });
});

describe('a request of a legacy client', () => {
  it('is refused under an id that is still in use, and the first goes on', () => {
    const { peer, asked, session } = greeted();
    const first = peer.request('tools/call', {}, 'x');
    const second = peer.request('tools/call', {}, 'x');
    expect(second.answered.error).toMatchObject({ code: -32600 });
    expect([asked.length, session.inFlight]).toEqual([1, 1]);
    asked[0]?.result('{}');
    expect(first.result).toEqual({});
    peer.request('tools/call', {}, 'x');
    expect(asked.length).toBe(2);
  });

  it('distinguishes 1 from "1"', () => {
    const { peer, asked } = greeted();
    peer.request('a', {}, 1);
    peer.request('a', {}, '1');
    expect(asked.map(({ id }) => id)).toEqual(['1', '"1"']);
  });

  it('is cancelled by its id, and then not answered', () => {
    const { peer, asked, session } = greeted();
    const reply = peer.request('tools/call', {}, 7);
    peer.note('notifications/cancelled', { requestId: '7' });
    expect(asked[0]?.cancelSignal.aborted).toBe(false);
    peer.note('notifications/cancelled', { requestId: 7, reason: 'no' });
    asked[0]?.result('{}');
    expect([asked[0]?.cancelSignal.aborted, reply.answers, session.inFlight]).toEqual([
      true,
      [],
      0,
    ]);
  });
});

describe('a notification of a legacy client', () => {
  it.each([
    '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[]}}',
    '{"jsonrpc":"2.0","method":"notifications/progress"}',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","method":"initialize"}',
    '{"jsonrpc":"2.0","id":99,"result":{}}',
    '{"jsonrpc":"2.0","id":"1","result":{}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}',
    '{"jsonrpc":"2.0","error":{"code":1,"message":""}}',
  ])('is never answered: %s', (text) => {
    const { peer } = greeted();
    const reply = new RecordedReply();
    expect(peer.say(text, reply)).toBeUndefined();
    expect([reply.answers, reply.sent, peer.heard]).toEqual([[], [], []]);
  });

  it('that is not about the session goes to the gateway', () => {
    const { peer, notified } = greeted();
    peer.note('notifications/roots/list_changed');
    peer.note('vendor/x');
    expect(notified.map(({ method }) => method)).toEqual([
      'notifications/roots/list_changed',
      'vendor/x',
    ]);
  });
});

describe('a question to a legacy client', () => {
  it('goes out under an id of our own, and the answer comes back as bytes', async () => {
    const { peer, session } = greeted({ sampling: {} });
    const answer = session.ask(question('sampling/createMessage', { n: 1 }));
    expect(peer.messages).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params: { n: 1 } },
    ]);
    peer.say('{"jsonrpc":"2.0","id":1,"result":{"n":1.0,\n"a":9007199254740993}}');
    const { kind, json } = await answer;
    expect([kind, json.toString()]).toEqual(['result', '{"n":1.0, "a":9007199254740993}']);
  });

  it('is answered by an error as it came', async () => {
    const { peer, session } = greeted({ sampling: {} });
    const answer = session.ask(question('sampling/createMessage'));
    peer.say('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"user said no"}}');
    const { kind, json } = await answer;
    expect([kind, json.toString()]).toEqual(['error', '{"code":-1,"message":"user said no"}']);
  });

  it('is sent on the stream of the call it belongs to, while that is open', () => {
    const { peer, session, asked } = greeted({ sampling: {} });
    const reply = peer.request('tools/call');
    const [caller] = asked;
    void session.ask(question('sampling/createMessage', {}, caller));
    expect([reply.sent.length, peer.heard.length]).toEqual([1, 0]);
    caller?.result('{}');
    void session.ask(question('sampling/createMessage', {}, caller));
    expect([reply.sent.length, peer.heard.length]).toEqual([1, 1]);
  });

  it.each([
    ['sampling/createMessage', {}],
    ['roots/list', {}],
    ['elicitation/create', { mode: 'url', url: 'https://x', message: '?' }],
  ])(
    '%s is refused without the capability, and the client is not disturbed',
    async (method, params) => {
      const { peer, session } = greeted({ elicitation: {} });
      const { kind, json } = await session.ask(question(method, params));
      expect([kind, JSON.parse(json.toString()).code, peer.heard]).toEqual(['error', -32601, []]);
    },
  );

  it('is withdrawn at the client when the server takes it back; a late answer is nobody’s', async () => {
    const { peer, session } = greeted({ sampling: {} });
    const asked = question('sampling/createMessage');
    const answer = session.ask(asked);
    asked.withdrawn.abort();
    expect(peer.messages[1]).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    });
    peer.answer(1, { late: true });
    expect((await answer).kind).toBe('error');
  });

  it('by address has an id, which a modern server does not give', () => {
    const { peer, session } = greeted({ elicitation: { url: {} } });
    const params = { mode: 'url', url: 'https://x', message: '?' };
    void session.ask(question('elicitation/create', params));
    expect(peer.messages[0]).toMatchObject({
      params: { ...params, elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
  });

  it('has a progress token of our own, so that two servers with the same one are told apart', () => {
    const { peer, session } = greeted({ sampling: {} });
    const one = question('sampling/createMessage', { _meta: { progressToken: 'same' } });
    const two = question('sampling/createMessage', { _meta: { progressToken: 'same' } });
    void session.ask(one);
    void session.ask(two);
    const tokens = peer.messages.map(({ params }) => JSON.stringify(params));
    expect(tokens).toEqual(['{"_meta":{"progressToken":1}}', '{"_meta":{"progressToken":2}}']);
    peer.note('notifications/progress', '{"progressToken":2,"progress":1.0}');
    peer.note('notifications/progress', { progressToken: 'same', progress: 2 });
    expect(one.told).toEqual([]);
    expect(two.told.map(({ bytes }) => bytes.toString())).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"same","progress":1.0}}',
    ]);
  });
});

describe('a log line for a legacy client', () => {
  const line = (level: string) =>
    scanMessage(
      Buffer.from(
        `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"${level}","data":1.0}}`,
      ),
    );

  it('comes as it is, from the level on that it asked for', () => {
    const { peer, session } = greeted();
    session.tell('s', line('debug'), undefined);
    session.logLevel = 'warning';
    for (const level of ['info', 'warning', 'emergency', 'strange']) {
      session.tell('s', line(level), undefined);
    }
    expect(peer.heard.map((text) => JSON.parse(text).params.level)).toEqual([
      'debug',
      'warning',
      'emergency',
      'strange',
    ]);
    expect(peer.heard[0]).toContain('"data":1.0');
  });
});

describe('a session that is closed', () => {
  it('leaves nothing pending and says nothing more', async () => {
    const { peer, session, asked, closed } = greeted({ sampling: {} });
    let stopped = 0;
    const stop = () => {
      stopped += 1;
    };
    session.watched.set('file:///a', { server: 's', uri: 'x://a', stop });
    const reply = peer.request('tools/call');
    const answer = session.ask(question('sampling/createMessage'));
    const heard = peer.heard.length;
    session.close();
    session.close();
    expect((await answer).kind).toBe('error');
    expect((await session.ask(question('sampling/createMessage'))).kind).toBe('error');
    asked[0]?.result('{}');
    session.send(['{}']);
    const late = peer.request('ping');
    await settled();
    expect(asked[0]?.cancelSignal.aborted).toBe(true);
    expect([reply.answers, late.answers, peer.heard.length - heard]).toEqual([[], [], 0]);
    expect([session.inFlight, session.watched.size, stopped, closed.length]).toEqual([0, 0, 1, 1]);
  });
});

describe('a watched address', () => {
  it('matches itself and what is below it', () => {
    const session = new LegacySession('k', localUser, { send: () => {} }, {} as never);
    session.watched.set('file:///dir', { server: 's', uri: 'x://a', stop: () => {} });
    expect(watches(session, 'file:///dir')).toBe(true);
    expect(watches(session, 'file:///dir/a')).toBe(true);
    expect(watches(session, 'file:///other')).toBe(false);
  });
});
