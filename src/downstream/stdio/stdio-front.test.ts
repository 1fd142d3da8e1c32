import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { FakeFront, frame, note, result } from '../../../test/support/fake-front.ts';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { noParams, notificationToServer } from '../../wire/frames.ts';
import { OutgoingBudget, outgoingPolicy } from '../outgoing/outgoing-budget.ts';
import { startStdio } from './stdio-front.ts';

class Front extends FakeFront {
  readonly gone: string[] = [];
  clientGone(key: string): void {
    this.gone.push(key);
  }
}

function newStdio(frameBytes = 10_000, highWaterMark = 16_384) {
  const front = new Front();
  const input = new PassThrough();
  let written = '';
  const output = new Writable({
    highWaterMark,
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString('utf8');
      // What is taken later than it is given fills the buffer meanwhile.
      if (highWaterMark < 16_384) setImmediate(done);
      else done();
    },
  });
  const clock = manualClock();
  const outgoing = new OutgoingBudget(clock);
  const stdio = startStdio({ front, input, output, frameBytes, clock, outgoing });
  let hasEnded = false;
  let lost: string | undefined;
  void stdio.inputEnded.then(() => {
    hasEnded = true;
  });
  void stdio.gone.then((how) => {
    lost = how;
  });
  const say = async (...lines: unknown[]) => {
    const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
    input.write(`${text.join('\n')}\n`);
    await settled();
  };
  const lines = () => written.split('\n').slice(0, -1);
  const messages = () => lines().map((line) => JSON.parse(line));
  const hasInputEnded = () => hasEnded;
  return {
    front,
    input,
    output,
    stdio,
    clock,
    say,
    lines,
    messages,
    hasInputEnded,
    how: () => lost,
  };
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modern = (id: unknown, method: string, params: object = {}, _meta: object = envelope) => ({
  jsonrpc: '2.0',
  id,
  method,
  params: { ...params, _meta },
});
const request = (id: unknown, method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const initialize = (protocolVersion = '2025-11-25') =>
  request(0, 'initialize', { protocolVersion });

describe('a connection on stdio', () => {
  it('is legacy from a first message without an envelope on, and stays so', async () => {
    const { front, say, messages } = newStdio();
    await say(initialize(), modern(1, 'tools/list'));
    expect([front.sessions.length, front.session.heard.length]).toEqual([1, 2]);
    expect(messages()[0]).toMatchObject({ id: 0, result: { protocolVersion: '2025-11-25' } });
  });

  it('is modern from a first message with an envelope on, and has no handshake then', async () => {
    const { front, say, messages } = newStdio();
    await say(modern(1, 'server/discover'), initialize(), request(2, 'tools/list'));
    expect([front.sessions.length, front.asked.length]).toEqual([0, 1]);
    expect(messages()).toMatchObject([
      { id: 0, error: { code: -32022, data: { supported: ['2026-07-28'] } } },
      { id: 2, error: { code: -32602 } },
    ]);
  });

  it('is decided by the first request: a notification or an answer before it is about nothing', async () => {
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 9 },
    };
    const answer = { jsonrpc: '2.0', id: 7, result: {} };
    const first = newStdio();
    await first.say(cancelled, answer, modern(1, 'server/discover'));
    expect([first.front.sessions.length, first.front.asked.length]).toEqual([0, 1]);
    const second = newStdio();
    await second.say(cancelled, answer, initialize());
    expect(second.messages()[0]).toMatchObject({
      id: 0,
      result: { protocolVersion: '2025-11-25' },
    });
  });

  it('that begins with an envelope of another version gets the supported ones', async () => {
    const { front, say, messages } = newStdio();
    const future = { ...envelope, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    await say(modern(1, 'tools/list', {}, future));
    expect(messages()).toMatchObject([{ id: 1, error: { code: -32022 } }]);
    expect([front.sessions.length, front.asked.length]).toEqual([0, 0]);
  });

  it.each([
    ['what is not JSON', '{"jsonrpc":', null, -32700],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', null, -32600],
    ['an id with a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', null, -32600],
    ['a key that occurs twice', '{"jsonrpc":"2.0","id":3,"method":"a","method":"b"}', 3, -32600],
    [
      'a batch in a revision without them',
      '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
      null,
      -32600,
    ],
    ['a number', '5', null, -32600],
  ])('answers %s and goes on', async (_what, line, id, code) => {
    const { front, say, messages } = newStdio();
    await say(initialize(), line, request(9, 'ping'));
    expect(messages()[1]).toMatchObject({ id, error: { code } });
    expect(front.session.heard.at(-1)?.id).toBe(9);
  });

  it.each(['legacy', 'modern'])(
    'answers a %s request that meets an error of our own, once, and goes on #one-bad-neighbour',
    async (era) => {
      const { front, say, messages, how } = newStdio();
      const isLegacy = era === 'legacy';
      if (isLegacy) await say(initialize());
      front.onAsked = ({ method }) => {
        if (method === 'tools/list') throw new TypeError('a defect');
      };
      const ask = (id: number, method: string) =>
        isLegacy ? request(id, method) : modern(id, method);
      await say(ask(7, 'tools/list'), ask(8, 'prompts/list'));
      front.last('prompts/list').reply.answer(result(8));
      await settled();
      expect(messages().slice(isLegacy ? 1 : 0)).toMatchObject([
        { id: 7, error: { code: -32603 } },
        { id: 8, result: {} },
      ]);
      expect([front.defects.length, how()]).toEqual([1, undefined]);
    },
  );

  it('ends although closing the session throws #one-bad-neighbour', async () => {
    const { front, say, stdio, how } = newStdio();
    await say(initialize());
    front.session.close = () => {
      throw new TypeError('a defect');
    };
    await stdio.close(500);
    expect([front.defects.length, how()]).toEqual([1, 'closed']);
  });

  it('says everything once to a reader that falls behind', async () => {
    const { front, say, messages } = newStdio(10_000, 8);
    await say(initialize());
    for (const pieces of [1, 3]) {
      await say(request(pieces, 'ping'));
      const { reply } = front.last('ping');
      reply.answer(frame({ jsonrpc: '2.0', id: pieces, result: {} }, pieces));
      await settled();
    }
    await say(request(9, 'ping'));
    front.last('ping').reply.answer(result(9));
    await settled();
    await vi.waitFor(() => expect(messages().at(-1)).toMatchObject({ id: 9 }));
    expect(messages().map(({ id }) => id)).toEqual([0, 1, 3, 9]);
  });

  it('refuses a message beyond the limit and reads the next', async () => {
    const { front, say, messages } = newStdio(200);
    await say(initialize(), request(1, 'x', { fill: 'y'.repeat(300) }), request(2, 'ping'));
    expect(messages()[1]).toMatchObject({ id: null, error: { code: -32600 } });
    expect(front.session.heard.at(-1)?.id).toBe(2);
  });

  it('takes a batch in the one revision that has them, and answers it in one line', async () => {
    const { front, say, lines } = newStdio();
    await say(initialize('2025-03-26'));
    await say([request(1, 'a'), { jsonrpc: '2.0', method: 'notifications/x' }, request(2, 'b')]);
    front.last('b').reply.answer(result(2));
    front.last('a').reply.answer(result(1));
    await settled();
    expect(JSON.parse(lines()[1] ?? '')).toMatchObject([{ id: 2 }, { id: 1 }]);
    await say([{ jsonrpc: '2.0', method: 'notifications/y' }], []);
    expect(JSON.parse(lines()[2] ?? '')).toMatchObject({ error: { code: -32600 } });
    expect(lines().length).toBe(3);
  });

  it('answers a whole batch although one of it meets an error of ours #one-bad-neighbour', async () => {
    const { front, say, messages } = newStdio();
    await say(initialize('2025-03-26'));
    front.onAsked = ({ method }) => {
      if (method === 'b') throw new Error('planted');
    };
    await say([request(1, 'a'), request(2, 'b'), request(3, 'c')]);
    front.last('c').reply.answer(result(3));
    front.last('a').reply.answer(result(1));
    await settled();
    expect(messages().slice(1)).toMatchObject([
      [{ id: 2, error: { code: -32603 } }, { id: 3 }, { id: 1 }],
    ]);
    expect(front.defects).toHaveLength(1);
  });
});

describe('a modern request on stdio', () => {
  it('is refused under an id that is still under way, and the first is answered', async () => {
    const { front, say, messages } = newStdio();
    await say(modern('a', 'tools/call'), modern('a', 'tools/call'));
    expect(messages()).toMatchObject([{ id: 'a', error: { code: -32600 } }]);
    front.asked[0]?.reply.answer(result('a'));
    await say(modern('a', 'tools/call'));
    expect([messages().length, front.asked.length]).toEqual([2, 2]);
  });

  it('is cancelled by its id, which is free again then', async () => {
    const { front, say } = newStdio();
    await say(modern(1, 'tools/call'));
    const cancelled = { method: 'notifications/cancelled', params: { requestId: '1' } };
    await say({ jsonrpc: '2.0', ...cancelled });
    expect(front.asked[0]?.isCancelled).toBe(false);
    await say({ jsonrpc: '2.0', ...cancelled, params: { requestId: 1 } }, modern(1, 'tools/call'));
    expect([front.asked[0]?.isCancelled, front.asked.length]).toEqual([true, 2]);
  });

  it('is cancelled with what its client says, without the envelope of this hop #byte-exact', async () => {
    const { front, say } = newStdio();
    await say(modern(1, 'tools/call'));
    const { params } = modern(2, 'x', { requestId: 1, reason: 'enough' });
    await say({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    const words = front.asked[0]?.cancelWords?.paramsFor(7);
    const said = notificationToServer('x', words ?? noParams);
    expect(JSON.parse([said].flat().join(''))).toMatchObject({
      params: { requestId: 7, reason: 'enough' },
    });
    expect([said].flat().join('')).not.toContain('io.modelcontextprotocol');
  });

  it('has what belongs to it written before its answer, one line each', async () => {
    const { front, say, lines } = newStdio();
    await say(modern(1, 'tools/call'));
    const { reply } = front.last();
    reply.send(note('notifications/progress'));
    reply.answer(frame({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(50_000) } }, 4));
    await settled();
    expect(lines().map((line) => JSON.parse(line).method ?? 'answer')).toEqual([
      'notifications/progress',
      'answer',
    ]);
  });
});

describe('the end of a client on stdio', () => {
  it('by the end of its input leaves what it asked to be answered', async () => {
    const { front, input, stdio, say, messages, hasInputEnded } = newStdio();
    await say(modern(1, 'tools/call'));
    input.end(JSON.stringify(modern(2, 'tools/call')));
    await settled();
    expect([hasInputEnded(), front.asked.length]).toEqual([true, 2]);
    for (const { message, reply } of front.asked) reply.answer(result(message.id));
    await settled();
    expect(messages().map(({ id }) => id)).toEqual([1, 2]);
    await stdio.close(500);
    expect(front.gone).toEqual(['stdio']);
  });

  it('in the middle of a message says nothing about that', async () => {
    const { front, input, say, lines, hasInputEnded } = newStdio();
    await say(initialize());
    input.end('{"jsonrpc":"2.0","id":1,"meth');
    await settled();
    expect([hasInputEnded(), lines().length, front.session.heard.length]).toEqual([true, 1, 1]);
  });

  it('cancels what is left when it is closed, and nothing more is written', async () => {
    const { front, stdio, say, lines, how } = newStdio();
    await say(modern(1, 'tools/call'));
    await stdio.close(500);
    front.last().reply.answer(result(1));
    await settled();
    expect([front.last().isCancelled, front.gone, lines()]).toEqual([true, ['stdio'], []]);
    expect(how()).toBe('closed');
  });

  it('comes also with an output that is not read', async () => {
    const { front, output, say, how } = newStdio();
    await say(initialize());
    output.destroy(new Error('EPIPE'));
    await settled();
    expect([front.session.isClosed, how()]).toEqual([true, 'closed']);
  });
});

/** An output whose reader takes a chunk when the test says so. */
function unread(maxBytes: number) {
  const front = new Front();
  const input = new PassThrough();
  const clock = manualClock();
  const outgoing = new OutgoingBudget(clock, () => {}, { ...outgoingPolicy, maxBytes });
  const taken: (() => void)[] = [];
  let written = '';
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString('utf8');
      taken.push(done);
    },
  });
  const held: boolean[] = [];
  const stdio = startStdio({
    ...{ front, input, output, clock, outgoing },
    frameBytes: 10_000,
    held: (isHeld) => held.push(isHeld),
  });
  input.write(`${JSON.stringify(initialize())}\n`);
  const say = async (bytes: number) => {
    front.session.outlet.send(note('notifications/message', { text: 'x'.repeat(bytes) }));
    await settled();
  };
  const read = async () => {
    while (taken.length > 0) {
      for (const done of taken.splice(0)) done();
      await settled();
    }
  };
  return {
    front,
    output,
    outgoing,
    stdio,
    clock,
    held,
    say,
    read,
    lines: () => written.split('\n'),
  };
}

describe('a client on stdio that does not read', () => {
  it('is given up when too much waits for it, and its calls are cancelled #slow-client', async () => {
    const { front, output, outgoing, stdio, say } = unread(1_000_000);
    await settled();
    for (let n = 0; n < 20 && !front.session.isClosed; n += 1) await say(100_000);
    expect(await stdio.gone).toBe('not-reading');
    expect([front.session.isClosed, output.destroyed, outgoing.bytes]).toEqual([true, true, 0]);
  });

  it('holds its servers up until it has caught up #slow-client', async () => {
    const { held, say, read } = unread(67_108_864);
    await settled();
    for (let n = 0; n < 9; n += 1) await say(1_000_000);
    expect(new Set(held)).toEqual(new Set([true]));
    await read();
    expect(held.at(-1)).toBe(false);
  });

  it('is notified of a changed list once, however often it changed #slow-client', async () => {
    const { front, say, read, lines } = unread(67_108_864);
    await settled();
    await say(100_000);
    const changed = 'notifications/tools/list_changed';
    for (let n = 0; n < 300; n += 1) front.session.outlet.send(note(changed), changed);
    await settled();
    await read();
    expect(lines().filter((line) => line.includes(changed)).length).toBe(1);
  });

  it('does not keep us from ending #slow-client', async () => {
    const { output, stdio, clock, say } = unread(67_108_864);
    await settled();
    await say(100_000);
    const closing = stdio.close(500);
    await clock.advanceAsync(500);
    await closing;
    expect(output.destroyed).toBe(true);
  });
});
