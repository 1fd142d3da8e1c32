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

async function serving(more = {}) {
  const process = new MovingProcess();
  return { process, former: await firstServing(process, more) };
}

describe('a server that ends after its connection has moved', () => {
  it('fails the calls of both, each with how far it went #never-twice', async () => {
    const { process, former } = await serving();
    const progress = { progressed: () => {} };
    const heard = call(former.connection, 'heard', { progress });
    const sent = call(former.connection, 'sent');
    await settled();
    const handOver = await givenUp(former.connection);
    const waiting = call(former.connection, 'waiting');
    const link = new PlayedLink(handOver);
    const { told } = await serving().then(({ former: other }) => other);
    const connection = await adoptConnection(partsOf(process), handOver.handed, told, link);
    const own = call(connection, 'own');
    await settled();
    const params = `{"progressToken":${heard.id},"progress":1}`;
    process.print(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}\n`);
    process.exit({ code: 7, signal: null });
    const outcome = { code: 'unavailable', message: 'files exited with code 7' };
    await expect(heard.answer).rejects.toMatchObject({ ...outcome, dispatched: 'yes' });
    await expect(sent.answer).rejects.toMatchObject({ ...outcome, dispatched: 'maybe' });
    await expect(waiting.answer).rejects.toMatchObject({ ...outcome, dispatched: 'no' });
    await expect(own.answer).rejects.toMatchObject({ ...outcome, dispatched: 'maybe' });
    // Only the successor has lost its server, and starts it again.
    expect([told.losses.length, former.told.losses.length, former.told.ends]).toEqual([1, 0, 1]);
    expect(call(former.connection, 'late').isSettled).toBe(true);
  });

  it('before it could be taken over is a failed start, and the former is told', async () => {
    const { process, former } = await serving();
    const old = call(former.connection, 'old');
    await settled();
    const handOver = await givenUp(former.connection);
    const link = new PlayedLink(handOver);
    const fault = new Fault('unavailable', 'files exited with code 2');
    const parts = { ...partsOf(process), adopt: () => Promise.reject(fault) };
    const adopting = adoptConnection(parts, handOver.handed, former.told, link);
    await expect(adopting).rejects.toBe(fault);
    await expect(old.answer).rejects.toMatchObject({ message: fault.message, dispatched: 'maybe' });
    expect(former.told.losses).toEqual([]);
  });

  it('while it is being handed over has ended where it was', async () => {
    const { process, former } = await serving();
    const old = call(former.connection, 'old');
    await settled();
    process.beforeGivingUp = () => {
      process.print(answer(old.id, 'just in time'));
      process.exit();
    };
    expect(await former.connection.handOver?.()).toBeUndefined();
    expect([await textOf(old), former.told.losses.length]).toEqual(['just in time', 1]);
  });

  it('because the successor stops it is gone for the former, too', async () => {
    const { process, former } = await serving();
    const old = call(former.connection, 'old');
    await settled();
    const { connection, told } = await rolledOut(former, process);
    await connection.close('end');
    await expect(old.answer).rejects.toMatchObject({
      ...{ code: 'unavailable', message: 'files was stopped', dispatched: 'maybe' },
    });
    expect([process.isGone, told.losses, former.told.losses]).toEqual([true, [], []]);
  });

  it('is stopped by the successor only when the calls of the former have ended, or their time is over', async () => {
    const { process, former } = await serving();
    const old = call(former.connection, 'old');
    await settled();
    const { connection, link } = await rolledOut(former, process);
    const closed = connection.close('reload');
    await settled();
    expect(process.isGone).toBe(false);
    process.print(answer(old.id, 'old'));
    expect(await textOf(old)).toBe('old');
    link.end();
    await closed;
    expect(process.isGone).toBe(true);
  });
});
