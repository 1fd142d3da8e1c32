import { describe, expect, it } from 'vitest';
import { firstServing, rolledOut } from '../../../test/support/handed-over.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { MovingProcess } from '../../../test/support/moving-child.ts';
import { noParams } from '../../wire/frames.ts';
import type { Connection } from '../connection.ts';
import type { Exchange } from '../exchange.ts';

function call(connection: Connection, more = {}) {
  const exchange = connection.request('tools/call', noParams, { owner: {}, ...more });
  exchange.answer.catch(() => {});
  return exchange;
}

const ask = (id: number | string, method = 'elicitation/create') =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params: {} })}\n`;
const withdraw = (requestId: number | string) =>
  `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })}\n`;
const note = (method: string) => `${JSON.stringify({ jsonrpc: '2.0', method })}\n`;
const done = ({ id }: Exchange) => `${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`;

/** A former with one open call, and its successor. */
async function moved(more = {}) {
  const process = new MovingProcess();
  const former = await firstServing(process, more);
  const old = call(former.connection);
  await settled();
  process.written.length = 0;
  return { process, former, old, ...(await rolledOut(former, process, more)) };
}

const answers = (process: MovingProcess) =>
  process.lines.map((line) => JSON.parse(line) as { id: unknown; error?: { code: number } });

describe('a request of a server that has moved', () => {
  it('goes to the former as long as only that has calls of clients', async () => {
    const { process, former, connection, told } = await moved();
    // A request of our own has no client that could be asked.
    connection.request('tools/list', noParams).answer.catch(() => {});
    process.print(ask('q'));
    expect([former.told.asks, told.asks]).toEqual([['q'], []]);
    expect(former.told.questions[0]?.message.bytes.toString()).toBe(ask('q').trim());
    former.connection.respond('{"jsonrpc":"2.0","id":"q","result":{}}');
    await settled();
    expect(answers(process).at(-1)).toEqual({ jsonrpc: '2.0', id: 'q', result: {} });
  });

  it('is the successor’s when only that has calls, or nobody', async () => {
    const { process, former, old, connection, told } = await moved();
    process.print(done(old) + ask(1));
    call(connection);
    process.print(ask(2));
    expect([told.asks, former.told.asks]).toEqual([[1, 2], []]);
    expect(told.questions.map(({ isUncertain }) => isUncertain)).toEqual([false, false]);
  });

  it('is uncertain when both have calls, and the successor is told that', async () => {
    const { process, former, connection, told } = await moved();
    call(connection);
    process.print(ask(1));
    expect([former.told.asks, told.asks]).toEqual([[], [1]]);
    expect(told.questions.map(({ isUncertain }) => isUncertain)).toEqual([true]);
  });

  it('that is a ping is answered by the successor, whoever has calls', async () => {
    const { process, former, told } = await moved();
    process.print(ask('p', 'ping'));
    await settled();
    expect(answers(process)).toEqual([{ jsonrpc: '2.0', id: 'p', result: {} }]);
    expect([former.told.asks, told.asks]).toEqual([[], []]);
  });

  it('is withdrawn where it was asked, also if that was before the connection moved', async () => {
    const process = new MovingProcess();
    const former = await firstServing(process);
    const old = call(former.connection);
    await settled();
    process.print(ask('before'));
    const { told } = await rolledOut(former, process);
    process.print(ask('passed on') + withdraw('before') + withdraw('passed on'));
    process.print(done(old) + ask('own') + withdraw('own'));
    expect(former.told.notified).toEqual([withdraw('before'), withdraw('passed on')].map(trimmed));
    expect(told.notified).toEqual([trimmed(withdraw('own'))]);
  });

  it('that the former leaves unanswered is refused when that is over', async () => {
    const { process, former, link } = await moved();
    process.print(ask('answered') + ask(2) + ask('2'));
    former.connection.respond('{"jsonrpc":"2.0","id":"answered","result":{}}');
    link.end();
    await settled();
    await settled();
    expect(answers(process).map(({ id, error }) => [id, error?.code])).toEqual([
      ['answered', undefined],
      [2, -32603],
      ['2', -32603],
    ]);
  });
});

const trimmed = (line: string) => line.trim();

describe('what a server that has moved says unasked', () => {
  it('is the successor’s', async () => {
    const { process, former, told } = await moved();
    const said = ['tools/list_changed', 'resources/updated', 'message'];
    for (const one of said) process.print(note(`notifications/${one}`));
    expect([told.notified.length, former.told.notified]).toEqual([3, []]);
  });
});

describe('the subscription of a modern server that moves', () => {
  it('is cancelled by the former, before anything else that it says, and not begun there again', async () => {
    const process = new MovingProcess();
    const former = await firstServing(process, { first: 'modern' });
    const listening = former.connection.request('subscriptions/listen', noParams, {
      background: true,
    });
    listening.answer.catch(() => {});
    const old = call(former.connection);
    await settled();
    process.written.length = 0;
    const { connection, link } = await rolledOut(former, process, { first: 'modern' });
    expect([link.rest.open, listening.isSettled, old.isSettled]).toEqual([1, true, false]);
    const again = former.connection.request('subscriptions/listen', noParams, { background: true });
    await expect(again.answer).rejects.toMatchObject({ dispatched: 'no' });
    call(connection);
    await settled();
    const lines = process.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ method }) => method)).toEqual(['notifications/cancelled', 'tools/call']);
    expect(lines[0]?.['params']).toMatchObject({ requestId: listening.id });
    expect(lines[1]).toHaveProperty(
      ['params', '_meta', 'io.modelcontextprotocol/protocolVersion'],
      '2026-07-28',
    );
  });
});

describe('several rollouts while the first process still has calls', () => {
  it('bring each process what is its own, and the end of the server to all', async () => {
    const process = new MovingProcess();
    const first = await firstServing(process);
    const one = call(first.connection);
    await settled();
    const second = await rolledOut(first, process);
    const two = call(second.connection);
    await settled();
    const third = await rolledOut(second, process);
    const three = call(third.connection);
    const open = call(first.connection);
    await settled();
    expect([one.id < two.id, two.id < three.id]).toEqual([true, true]);
    expect(process.lines.map((line) => (JSON.parse(line) as { id: number }).id)).toEqual([
      ...[one.id, two.id, three.id, open.id],
    ]);
    process.print(`{"jsonrpc":"2.0","id":${one.id},"result":"${'x'.repeat(20_000)}"}\n`);
    process.print(done(three) + done(two));
    expect([(await two.answer).id, (await three.answer).id]).toEqual([two.id, three.id]);
    await expect(one.answer).rejects.toMatchObject({ code: 'frame_too_large' });
    // Only the first has calls now: a request goes all the way, and its answer comes back.
    process.print(ask('q'));
    expect([first.told.asks, second.told.asks, third.told.asks]).toEqual([['q'], [], []]);
    first.connection.respond('{"jsonrpc":"2.0","id":"q","result":{}}');
    await settled();
    expect(answers(process).at(-1)).toMatchObject({ id: 'q' });
    expect([second.link.mayHaveCalls, third.link.mayHaveCalls, third.link.rest.open]).toEqual([
      ...[true, true, 0],
    ]);
    // The third is told that nobody has calls any more when the first is over, not before.
    let isEmpty = false;
    const empty = third.link.rest.whenEmpty().then(() => {
      isEmpty = true;
    });
    await settled();
    expect(isEmpty).toBe(false);
    second.link.end();
    await empty;
    process.exit();
    await expect(open.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    expect([first.told, second.told, third.told].map(({ losses }) => losses.length)).toEqual([
      ...[0, 0, 1],
    ]);
    expect([first.told, second.told, third.told].flatMap(({ noises }) => noises)).toEqual([
      'oversized-frame',
    ]);
  });
});
