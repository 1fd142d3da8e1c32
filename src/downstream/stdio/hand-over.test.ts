import { describe, expect, it } from 'vitest';
import { note, result } from '../../../test/support/fake-front.ts';
import { answerAll, HandedStdioClient } from '../../../test/support/handed-client.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import type { Message } from '../../wire/scan.ts';

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const request = (id: unknown, method: string, params: object = {}) => ({
  ...{ jsonrpc: '2.0', id, method, params },
});
const modern = (id: unknown, method: string, params: object = {}) =>
  request(id, method, { ...params, _meta: envelope });
const cancelled = (requestId: unknown) => ({
  ...{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
});
const hello = request(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const idsIn = (messages: readonly { id?: unknown }[]) =>
  messages.flatMap(({ id }) => (id === undefined ? [] : [id]));

/** Everything that is on its way arrives. */
async function arrived(): Promise<void> {
  for (let turns = 0; turns < 6; turns += 1) await settled();
}

/** A client of either era with a first request that was answered. */
async function begun(era: 'legacy' | 'modern', options = {}) {
  const client = new HandedStdioClient(options);
  if (era === 'legacy') client.say(hello, initialized);
  else client.say(modern(0, 'server/discover'));
  await settled();
  answerAll(client.serving);
  await settled();
  return client;
}

const ask = (era: 'legacy' | 'modern') => (era === 'legacy' ? request : modern);
const eras = ['legacy', 'modern'] as const;

describe('a client on stdio that is handed over', () => {
  it.each(eras)('is answered once, %s, wherever in its words that happens', async (era) => {
    const lines =
      era === 'legacy'
        ? [hello, initialized, request(1, 'a'), request('é', 'b'), '', request(3, 'c')]
        : [modern(0, 'server/discover'), modern(1, 'a'), modern('é', 'b'), '', modern(3, 'c')];
    const text = lines.map((line) => (line === '' ? '' : JSON.stringify(line))).join('\r\n');
    const bytes = Buffer.from(`${text}\n`);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const client = new HandedStdioClient();
      client.write(bytes.subarray(0, cut));
      // Every other time while it is still in the buffer of the stream.
      if (cut % 2 === 0) await settled();
      await client.handOver();
      client.write(bytes.subarray(cut));
      await arrived();
      for (const process of client.processes) answerAll(process);
      await arrived();
      expect([cut, new Set(idsIn(client.messages))]).toEqual([cut, new Set([0, 1, 'é', 3])]);
      expect(client.messages.length).toBe(4);
      expect(client.processes.flatMap(({ front }) => front.defects)).toEqual([]);
    }
  });

  it.each(eras)(
    'has three requests in the pipe, %s, and the first one begins it: three answers',
    async (era) => {
      const client = await begun(era);
      const { front, stdio } = client.serving;
      let handing: ReturnType<typeof stdio.handOver> | undefined;
      front.onAsked = () => {
        handing ??= stdio.handOver();
      };
      const three = [1, 2, 3].map((id) => JSON.stringify(ask(era)(id, 'tools/call')));
      client.write(`${three.join('\n')}\n${three[0]?.slice(0, 9)}`);
      await settled();
      await client.handOver(handing);
      client.write(`${three[0]?.slice(9).replace('"id":1', '"id":4')}\n`);
      await arrived();
      const [former, successor] = client.processes;
      expect([former?.front.asked.length, successor?.front.asked.length]).toEqual([1, 3]);
      for (const process of client.processes) answerAll(process);
      await arrived();
      expect(idsIn(client.messages).slice(1).sort()).toEqual([1, 2, 3, 4]);
      expect(successor?.front.sessions.flatMap(({ heard }) => heard[0]?.method ?? '')).toEqual(
        era === 'legacy' ? ['tools/call'] : [],
      );
    },
  );

  it('has a request and an answer of 5 MB cut in the middle, and both arrive whole #rollout', async () => {
    const client = await begun('legacy');
    const large = 'é'.repeat(2_500_000);
    client.say(request(1, 'tools/call'));
    await settled();
    const [former] = client.processes;
    const line = Buffer.from(`${JSON.stringify(request(2, 'tools/call', { large }))}\n`);
    client.write(line.subarray(0, 2_500_001));
    await settled();
    await client.handOver();
    former?.front.last().reply.answer(result(1, { large }));
    client.write(line.subarray(2_500_001));
    await arrived();
    answerAll(client.serving);
    await arrived();
    expect(client.serving.front.defects).toEqual([]);
    expect(idsIn(client.messages)).toEqual([0, 1, 2]);
    expect(client.messages[1]?.result.large).toBe(large);
  });

  it('keeps its session, its key and the ids of what it is asked', async () => {
    const client = await begun('legacy');
    await client.handOver();
    const { options, protocolVersion } = client.serving.front.session;
    expect([options.key, protocolVersion]).toEqual(['stdio', '2025-11-25']);
    expect(options.restored).toEqual({
      ...{ protocolVersion: '2025-11-25', capabilities: '{}', watched: [], nextQuestion: 2 },
    });
  });

  it.each(eras)('cancels in the former what runs there, %s, and only that', async (era) => {
    const client = await begun(era);
    client.say(ask(era)(1, 'tools/call'), ask(era)('1', 'tools/call'));
    await settled();
    await client.handOver();
    const [former] = client.processes;
    client.say(ask(era)(2, 'tools/call'), cancelled(1), cancelled(2));
    await arrived();
    const cancels = () => former?.front.session.heard.filter(({ id }) => id === undefined).length;
    if (era === 'modern') {
      expect(former?.front.asked.map(({ isCancelled }) => isCancelled)).toEqual([true, false]);
      expect(client.serving.front.last().isCancelled).toBe(true);
    } else {
      expect([cancels(), client.serving.front.session.heard.length]).toEqual([2, 2]);
    }
  });

  it('answers the former what that has asked, and the successor what it asks itself', async () => {
    const client = await begun('legacy');
    client.say(request(1, 'tools/call'));
    await settled();
    await client.handOver();
    const [former] = client.processes;
    const progress = (progressToken: number) => ({
      ...{ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken } },
    });
    const answer = (id: number) => ({ jsonrpc: '2.0', id, result: {} });
    client.say(progress(1), answer(1), progress(1_000_002), answer(1_000_002));
    await arrived();
    const heard = (from = client.serving) =>
      from.front.session.heard.map(({ bytes }) => `${bytes}`);
    expect(heard(former).slice(3)).toEqual(
      [progress(1), answer(1)].map((one) => JSON.stringify(one)),
    );
    expect(heard()).toEqual(
      [progress(1_000_002), answer(1_000_002)].map((one) => JSON.stringify(one)),
    );
  });

  it.each(eras)('cannot use an id, %s, that is under way in the former', async (era) => {
    const client = await begun(era);
    client.say(ask(era)(1, 'tools/call'));
    await settled();
    await client.handOver();
    client.say(ask(era)(1, 'tools/call'));
    await arrived();
    expect(client.messages.at(-1)).toMatchObject({ id: 1, error: { code: -32600 } });
    for (const process of client.processes) answerAll(process);
    await arrived();
    client.say(ask(era)(1, 'tools/call'));
    await arrived();
    expect(client.serving.front.asked).toHaveLength(1);
  });

  it.each(eras)('is done in the former, %s, when its last answer there is given', async (era) => {
    const client = await begun(era);
    client.say(ask(era)(1, 'tools/call'), ask(era)(2, 'tools/call'));
    await settled();
    const { stdio } = await client.handOver();
    const [former] = client.processes;
    let done = '';
    void former?.rest?.done.then(() => {
      done += 'former ';
    });
    void stdio.formerDone.then(() => {
      done += 'told';
    });
    former?.front.asked[0]?.reply.answer(result(1));
    await arrived();
    expect(done).toBe('');
    former?.front.asked[1]?.reply.answer(result(2));
    await arrived();
    expect([done, idsIn(client.messages)]).toEqual(['former told', [0, 1, 2]]);
  });

  it('gets an answer for everything that a former leaves which ends unexpectedly #true-dispatched', async () => {
    const client = await begun('legacy');
    client.say(request(1, 'tools/call'), request(2, 'x'));
    await settled();
    const { link } = await client.handOver();
    link?.end();
    await arrived();
    expect(client.messages.slice(1)).toMatchObject([
      { id: 1, result: { isError: true, _meta: { 'holdfast/fault': { dispatched: 'maybe' } } } },
      { id: 2, error: { data: { code: 'outcome_unknown' } } },
    ]);
    client.say(request(1, 'tools/call'));
    await arrived();
    expect(client.serving.front.asked).toHaveLength(1);
  });

  it('goes on listening without being told that it does', async () => {
    const client = await begun('modern');
    client.say(modern(7, 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
    await settled();
    const [former] = client.processes;
    former?.front.last().reply.send(note('acknowledged'));
    await client.handOver();
    await arrived();
    const again = client.serving.front.last('subscriptions/listen');
    again.reply.send(note('acknowledged'));
    const changed = 'notifications/tools/list_changed';
    again.reply.send(note(changed), changed);
    former?.front.last().reply.send(note(changed), changed);
    former?.front.last().reply.answer(result(7));
    await arrived();
    const said = client.messages.slice(1).map(({ method }) => method);
    expect([said, former?.front.last().isCancelled]).toEqual([['acknowledged', changed], true]);
    await former?.rest?.done;
  });

  it('is answered by the next process, if nobody had acknowledged yet that it listens', async () => {
    const client = await begun('modern');
    client.say(modern(7, 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
    await settled();
    const [former] = client.processes;
    await client.handOver();
    await arrived();
    former?.front.last().reply.send(note('acknowledged'));
    client.serving.front.last('subscriptions/listen').reply.send(note('acknowledged'));
    await arrived();
    expect(client.messages.slice(1).map(({ method }) => method)).toEqual(['acknowledged']);
    await former?.rest?.done;
  });

  it('is told that a message is too large once, though it is dropped in two processes', async () => {
    const client = await begun('legacy', { frameBytes: 300 });
    client.write('x'.repeat(500));
    await settled();
    await client.handOver();
    client.write('x'.repeat(500));
    await settled();
    await client.handOver();
    client.write(`${'x'.repeat(500)}\n`);
    client.say(request(2, 'ping'));
    await arrived();
    answerAll(client.serving);
    await arrived();
    expect(client.messages.slice(1)).toMatchObject([{ id: null, error: {} }, { id: 2 }]);
  });

  it('may have ended its input before: a last line without its end is heard once', async () => {
    for (const isRead of [true, false]) {
      const client = await begun('legacy');
      client.serving.input.end(JSON.stringify(request(1, 'tools/call')));
      if (isRead) await settled();
      const { stdio } = await client.handOver();
      await stdio.inputEnded;
      for (const process of client.processes) answerAll(process);
      await arrived();
      expect([isRead, idsIn(client.messages)]).toEqual([isRead, [0, 1]]);
    }
  });

  it('is not written to by two processes at once', async () => {
    const client = await begun('legacy', { reads: false });
    const read = async () => {
      while (client.untaken.length > 0) {
        for (const take of client.untaken.splice(0)) take();
        await arrived();
      }
    };
    await read();
    client.say(request(1, 'a'), request(2, 'b'));
    await settled();
    const [former] = client.processes;
    former?.front.asked[0]?.reply.answer(result(1, { text: 'x'.repeat(50_000) }));
    await settled();
    await client.handOver();
    former?.front.asked[1]?.reply.answer(result(2));
    client.say(request(3, 'c'));
    await arrived();
    answerAll(client.serving);
    await arrived();
    // Only the former's own line is on its way.
    expect(client.untaken).toHaveLength(1);
    await read();
    expect(idsIn(client.messages)).toEqual([0, 1, 2, 3]);
  });

  it('that reads nothing holds the servers of the former up, and is given up in both #slow-client', async () => {
    const client = await begun('legacy', { reads: false });
    client.say(request(1, 'a'));
    await settled();
    const { front, stdio } = await client.handOver();
    const [former] = client.processes;
    for (const take of client.untaken.splice(0)) take();
    await arrived();
    const megabyte = note('notifications/message', { text: 'x'.repeat(1_000_000) });
    for (let n = 0; n < 9; n += 1) former?.front.last().reply.send(megabyte);
    await arrived();
    expect([former?.held.at(-1), client.serving.held.at(-1)]).toEqual([true, true]);
    expect(former?.next?.waitingBytes).toBe(0);
    for (let n = 0; n < 70 && front.session.isClosed === false; n += 1) {
      former?.front.last().reply.send(megabyte);
      await settled();
    }
    expect(await stdio.gone).toBe('not-reading');
    await arrived();
    expect([former?.front.session.isClosed, former?.held.at(-1)]).toEqual([true, false]);
    await former?.rest?.done;
  });

  it('lets the servers of the former go on when it has read', async () => {
    const client = await begun('legacy', { reads: false });
    client.say(request(1, 'a'));
    await settled();
    await client.handOver();
    const [former] = client.processes;
    const megabyte = note('notifications/message', { text: 'x'.repeat(1_000_000) });
    for (let n = 0; n < 9; n += 1) former?.front.last().reply.send(megabyte);
    await arrived();
    while (client.untaken.length > 0) {
      for (const take of client.untaken.splice(0)) take();
      await arrived();
    }
    expect([former?.held.at(-1), client.serving.held.at(-1)]).toEqual([false, false]);
  });

  it('is served by a chain of processes, each with work of its own', async () => {
    const client = await begun('legacy');
    for (let id = 1; id <= 3; id += 1) {
      client.say(request(id, 'tools/call'));
      await settled();
      await client.handOver();
    }
    client.say(request(1, 'tools/call'), cancelled(1), cancelled(2));
    await arrived();
    const [first, second, third] = client.processes;
    expect(client.messages.at(-1)).toMatchObject({ id: 1, error: { code: -32600 } });
    const cancels = client.processes.map(({ front }) =>
      front.sessions[0]?.heard.filter(({ method }) => method?.endsWith('cancelled')),
    );
    expect(cancels.map((heard) => heard?.length)).toEqual([1, 1, 0, 0]);
    for (const process of [third, first, second]) if (process) answerAll(process);
    await arrived();
    await Promise.all(client.processes.slice(0, 3).map(({ rest }) => rest?.done));
    expect(idsIn(client.messages)).toEqual([0, 1, 3, 2, 1]);
    client.say(request(1, 'tools/call'));
    await arrived();
    expect(client.serving.front.asked).toHaveLength(1);
  });

  it('has a request that goes on two processes before the present one: it can be cancelled there, and its id is taken', async () => {
    const client = await begun('modern');
    // Each of the first two has something under way, and stays.
    for (const id of [1, 2]) {
      client.say(modern(id, 'tools/call'));
      await settled();
      await client.handOver();
    }
    const [first, second, third] = client.processes;
    for (const process of [second, third]) {
      Object.assign(process?.front ?? {}, {
        holderOf: ({ id }: Message) => (id === 9 ? 'first' : undefined),
      });
    }
    client.say(modern(9, 'tools/call'));
    await arrived();
    expect(first?.front.last().message.id).toBe(9);
    client.say(modern(9, 'tools/call'));
    await arrived();
    expect(client.messages.at(-1)).toMatchObject({ id: 9, error: { code: -32600 } });
    client.say(cancelled(9));
    await arrived();
    expect(first?.front.last().isCancelled).toBe(true);
    const [one, two] = [first?.front.asked[0], second?.front.asked[0]];
    two?.reply.answer(result(2));
    first?.front.last().reply.withdrawn?.();
    one?.reply.answer(result(1));
    await arrived();
    await Promise.all([first?.rest?.done, second?.rest?.done]);
    expect(idsIn(client.messages).slice(-2).sort()).toEqual([1, 2]);
  });

  it('gets an answer to all of a batch, if the former ends when only some of it was answered #true-dispatched', async () => {
    const client = new HandedStdioClient();
    client.say({ ...hello, params: { protocolVersion: '2025-03-26' } }, initialized);
    const [former] = client.processes;
    client.write(`${JSON.stringify([request(1, 'tools/call'), request(2, 'tools/call')])}\n`);
    await settled();
    former?.front.asked[0]?.reply.answer(result(1));
    await client.handOver();
    client.write(`${JSON.stringify([request(3, 'ping')])}\n`);
    await arrived();
    answerAll(client.serving);
    former?.next?.end();
    await arrived();
    expect(idsIn(client.messages.flat()).sort()).toEqual([0, 1, 2, 3]);
  });
});
