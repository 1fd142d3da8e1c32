import { describe, expect, it } from 'vitest';
import {
  firstServing,
  givenUp,
  PlayedLink,
  partsOf,
  rolledOut,
  type Serving,
} from '../../../test/support/handed-over.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { MovingProcess } from '../../../test/support/moving-child.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Message } from '../../wire/scan.ts';
import { adoptConnection } from '../adopt-connection.ts';
import type { Exchange } from '../exchange.ts';
import { connectStdio } from './connect-stdio.ts';

const owner = {};

function call(connection: Serving['connection'], name: string, more = {}) {
  const members = `"name":${JSON.stringify(name)},"arguments":{}`;
  const exchange = connection.request('tools/call', { members }, { owner, ...more });
  exchange.answer.catch(() => {});
  return exchange;
}

const answer = (id: number, text: string) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"text":${JSON.stringify(text)}}}\n`;

async function textOf(exchange: Exchange): Promise<unknown> {
  const message: Message = await exchange.answer;
  return (JSON.parse(message.bytes.toString()) as { result: { text: unknown } }).result.text;
}

const messages = (process: MovingProcess) =>
  process.lines.map((line) => JSON.parse(line) as Record<string, unknown>);

const namesIn = (process: MovingProcess) =>
  messages(process).map(({ method, params }) => [
    method,
    (params as { name?: string } | undefined)?.name,
  ]);

async function serving(more = {}) {
  const process = new MovingProcess();
  return { process, former: await firstServing(process, more) };
}

describe('a connection on stdio that goes to another serving process', () => {
  it('keeps its process, its greeting and its generation, and is not greeted again', async () => {
    const { process, former } = await serving();
    const { connection, told } = await rolledOut(former, process);
    expect(connection).toMatchObject({ generation: 3, era: 'legacy', pid: 4711, isLost: false });
    expect(connection.greeting).toEqual(former.connection.greeting);
    expect([former.connection.child, process.stdin.length]).toEqual([undefined, 0]);
    const exchange = call(connection, 'new');
    await settled();
    process.print(answer(exchange.id, 'for new'));
    expect(await textOf(exchange)).toBe('for new');
    expect([told.losses, told.noises, process.strays]).toEqual([[], [], []]);
  });

  it('brings each process the answers and the progress of its own calls #rollout', async () => {
    const { process, former } = await serving();
    const heard: string[] = [];
    const progress = { progressed: (params: Buffer) => heard.push(params.toString()) };
    const old = call(former.connection, 'old', { progress });
    await settled();
    const { connection, link, told } = await rolledOut(former, process);
    const own = call(connection, 'own');
    expect(own.id).toBe(old.id + 1 + 1_000_000);
    await settled();
    const params = `{"progressToken":${old.id},"progress":1.0}`;
    process.print(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}\n`);
    process.print(answer(own.id, 'own') + answer(old.id, 'old'));
    expect([await textOf(old), await textOf(own), heard]).toEqual(['old', 'own', [params]]);
    expect(link.passed.map((line) => `${line}\n`)[1]).toBe(answer(old.id, 'old'));
    expect([told.notified, told.noises, former.told.noises]).toEqual([[], [], []]);
    expect([link.rest.open, link.mayHaveCalls, former.told.losses]).toEqual([0, false, []]);
  });

  it('waits for the write under way; what is behind it is written through the successor', async () => {
    const { process, former } = await serving();
    process.holdsWrites = true;
    const first = call(former.connection, 'first');
    await settled();
    const second = call(former.connection, 'second');
    await settled();
    const handing = former.connection.handOver?.();
    const third = call(former.connection, 'third');
    await settled();
    expect(process.openWrites.length).toBe(1);
    process.holdsWrites = false;
    process.finishWrite();
    const handOver = await handing;
    if (!handOver) throw new Error('it was not handed over');
    expect([first, second, third].map(({ dispatched }) => dispatched)).toEqual([
      ...['maybe', 'no', 'no'],
    ]);
    const link = new PlayedLink(handOver);
    const told = former.told;
    const successor = await adoptConnection(partsOf(process), handOver.handed, told, link);
    const late = call(former.connection, 'late');
    expect(late.dispatched).toBe('no');
    link.attach(successor);
    expect([second, third, late].map(({ dispatched }) => dispatched)).toEqual([
      ...['maybe', 'maybe', 'maybe'],
    ]);
    await settled();
    expect(namesIn(process).map(([, name]) => name)).toEqual(['first', 'second', 'third', 'late']);
  });

  it('stays where it is if its process does not take the write under way', async () => {
    const { process, former } = await serving();
    process.holdsWrites = true;
    const first = call(former.connection, 'first');
    await settled();
    const handing = former.connection.handOver?.();
    const second = call(former.connection, 'second');
    await former.clock.advanceAsync(5_000);
    expect(await handing).toBeUndefined();
    process.holdsWrites = false;
    process.finishWrite();
    await settled();
    process.print(answer(second.id, 'two') + answer(first.id, 'one'));
    expect([await textOf(first), await textOf(second)]).toEqual(['one', 'two']);
    expect(namesIn(process).map(([, name]) => name)).toEqual(['first', 'second']);
    expect(await former.connection.handOver?.()).toBeDefined();
  });

  it('cannot be moved twice, before it is greeted, once it is lost, or while it is being closed', async () => {
    const { process, former } = await serving();
    const unheard = new MovingProcess();
    const opening = connectStdio(partsOf(unheard), 1, new AbortController().signal, former.told);
    opening.catch(() => {});
    await settled();
    const [one, two] = await Promise.all([
      former.connection.handOver?.(),
      former.connection.handOver?.(),
    ]);
    expect([one !== undefined, two, await former.connection.handOver?.()]).toEqual([
      ...[true, undefined, undefined],
    ]);
    const gone = await serving();
    gone.process.exit();
    expect(await gone.former.connection.handOver?.()).toBeUndefined();
    const closing = await serving();
    const running = call(closing.former.connection, 'running');
    await settled();
    const closed = closing.former.connection.close('reload');
    expect(await closing.former.connection.handOver?.()).toBeUndefined();
    closing.process.print(answer(running.id, 'done'));
    await closed;
    expect([process.isGone, closing.process.isGone]).toEqual([false, true]);
  });

  it('does not stop the process when what is left of it is closed, whatever the reason', async () => {
    for (const reason of ['end', 'reload', 'hung', 'lost'] as const) {
      const { process, former } = await serving();
      const old = call(former.connection, 'old');
      await settled();
      const { connection, told } = await rolledOut(former, process);
      const closed = former.connection.close(reason);
      await former.clock.advanceAsync(5_000);
      expect(await closed).toBe(0);
      await expect(old.answer).rejects.toMatchObject({ code: 'unavailable', dispatched: 'maybe' });
      expect([process.isGone, process.strays, told.losses]).toEqual([false, [], []]);
      expect([former.told.losses, connection.isLost]).toEqual([[], false]);
    }
  });

  it('that is closed while its process is being given up ends without it', async () => {
    const { process, former } = await serving();
    const closed: Promise<number>[] = [];
    process.beforeGivingUp = () => closed.push(former.connection.close('end'));
    const { handed } = await givenUp(former.connection);
    expect(await Promise.all(closed)).toEqual([0]);
    expect([process.isGone, process.strays, former.told.losses]).toEqual([false, [], []]);
    const { connection } = await serving().then(({ former: other }) => other);
    expect(handed.child?.state).toEqual({ id: 1 });
    await connection.close('end');
  });

  it('takes what has waited for the end of the turn along, and writes nothing afterwards', async () => {
    const { process, former } = await serving();
    const early = call(former.connection, 'early');
    const waiting = call(former.connection, 'waiting');
    const handOver = await givenUp(former.connection);
    await settled();
    expect([early.dispatched, waiting.dispatched, process.strays]).toEqual(['no', 'no', []]);
    former.connection.notify('notifications/roots/list_changed', { members: '' });
    await former.connection.close('end');
    expect([process.strays, process.lines]).toEqual([[], []]);
    handOver.rest.attach({ write: () => process.strays.push('a line of a closed connection') });
    expect(process.strays).toEqual([]);
  });

  it('that is closed before its process was given up is stopped as ever', async () => {
    const { process, former } = await serving();
    process.holdsWrites = true;
    call(former.connection, 'first');
    await settled();
    const handing = former.connection.handOver?.();
    const closed = former.connection.close('end');
    process.finishWrite();
    expect(await handing).toBeUndefined();
    await closed;
    expect(process.isGone).toBe(true);
  });

  it('writes what the former says: cancellations, answers, and further rounds of its calls', async () => {
    const { process, former } = await serving();
    const old = call(former.connection, 'old');
    await settled();
    const { connection, link } = await rolledOut(former, process);
    old.cancel(new Fault('cancelled', 'no longer needed'));
    const round = call(former.connection, 'round');
    former.connection.respond('{"jsonrpc":"2.0","id":"q","result":{}}');
    call(connection, 'own');
    await settled();
    expect(messages(process).slice(1)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: old.id } },
      { method: 'tools/call', id: round.id, params: { name: 'round' } },
      { id: 'q', result: {} },
      { method: 'tools/call', params: { name: 'own' } },
    ]);
    expect(round.id).toBe(old.id + 1);
    process.print(answer(round.id, 'again'));
    expect(await textOf(round)).toBe('again');
    expect(() => link.successor?.writeForFormer(Buffer.from('{}\n{}'))).toThrow('more than one');
  });
});
