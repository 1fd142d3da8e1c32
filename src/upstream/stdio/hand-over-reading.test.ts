import { describe, expect, it } from 'vitest';
import { firstServing, givenUp, rolledOut } from '../../../test/support/handed-over.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { MovingProcess } from '../../../test/support/moving-child.ts';
import { Fault } from '../../kernel/fault.ts';
import { Redactor } from '../../kernel/redactor.ts';
import { noParams } from '../../wire/frames.ts';
import type { Connection } from '../connection.ts';

function call(connection: Connection) {
  const exchange = connection.request('tools/call', noParams, { owner: {} });
  exchange.answer.catch(() => {});
  return exchange;
}

async function serving(more = {}) {
  const process = new MovingProcess();
  return { process, former: await firstServing(process, more) };
}

const result = (id: number, text: string) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"t":"${text}"}}`;
const tooLarge = { code: 'frame_too_large', dispatched: 'yes' };

describe('what was read when a connection goes to another serving process', () => {
  it('is handled there in order: half a line, what waited here, in the holder and in the pipe', async () => {
    const { process, former } = await serving();
    const ids = [call(former.connection), call(former.connection), call(former.connection)];
    await settled();
    const whole = Buffer.from(ids.map(({ id }) => `${result(id, `é${id}`)}\n`).join(''));
    const cuts = [10, 60, 90].map((at, index) => whole.subarray([0, 10, 60][index], at));
    process.print(cuts[0] as Buffer);
    process.beforeGivingUp = () => process.print(cuts[1] as Buffer);
    process.unreported = cuts[2] as Buffer;
    const rolling = rolledOut(former, process);
    await Promise.resolve();
    process.print(whole.subarray(90));
    const { link, told } = await rolling;
    await settled();
    expect(link.passed).toEqual(ids.map(({ id }) => result(id, `é${id}`)));
    for (const { answer, id } of ids) {
      expect((await answer).bytes.toString()).toBe(result(id, `é${id}`));
    }
    expect([told.noises, former.told.noises]).toEqual([[], []]);
  });

  it.each([
    ['the id first', (id: number) => [`{"jsonrpc":"2.0","id":${id},"result":"`, '"}']],
    ['the id last', (id: number) => ['{"result":"', `","jsonrpc":"2.0","id":${id}}`]],
  ])(
    'an answer beyond the limit, %s, of which the rest is no new line, wherever it is cut',
    async (_name, around) => {
      for (const cut of [9_000, 10_100, 20_000]) {
        const { process, former } = await serving();
        const [old, other] = [call(former.connection), call(former.connection)];
        await settled();
        const [head, end] = around(old.id) as [string, string];
        const line = `${head}${result(other.id, 'x').replaceAll('"', '\\\\"').repeat(400)}${end}\n`;
        expect(line.length).toBeGreaterThan(20_100);
        process.print(line.slice(0, cut));
        const { link } = await rolledOut(former, process);
        process.print(`${line.slice(cut)}${result(other.id, 'own')}\n`);
        await expect(old.answer).rejects.toMatchObject(tooLarge);
        expect((await other.answer).bytes.toString()).toBe(result(other.id, 'own'));
        expect(link.rest.open).toBe(0);
      }
    },
  );

  it('an answer beyond the limit to a call of the successor fails only that', async () => {
    const { process, former } = await serving();
    const old = call(former.connection);
    await settled();
    const { connection, told } = await rolledOut(former, process);
    const own = call(connection);
    await settled();
    process.print(`${result(own.id, 'x'.repeat(20_000))}\n${result(old.id, 'old')}\n`);
    await expect(own.answer).rejects.toMatchObject(tooLarge);
    expect((await old.answer).kind).toBe('result');
    expect(told.noises).toEqual(['oversized-frame']);
  });

  it('an answer that is not valid MCP fails the call of the process that it belongs to', async () => {
    const { process, former } = await serving();
    const old = call(former.connection);
    await settled();
    const { told } = await rolledOut(former, process);
    process.print(`{"jsonrpc":"2.0","id":${old.id},"result":{"a":1,"a":2}}\n`);
    process.print(`{"jsonrpc":"2.0","result":{},"error":{},"id":${old.id}}\n`);
    await expect(old.answer).rejects.toMatchObject({
      ...{ code: 'protocol_violation', dispatched: 'yes' },
    });
    expect([told.noises.length, former.told.noises[0]]).toEqual([1, 'invalid-message']);
  });

  it('an answer to a call that the former has cancelled is late, not noise of the successor', async () => {
    const { process, former } = await serving();
    const old = call(former.connection);
    await settled();
    old.cancel(new Fault('cancelled', 'no longer needed'));
    const { told } = await rolledOut(former, process);
    process.print(`${result(old.id, 'late')}\n`);
    expect([told.noises, former.told.noises]).toEqual([[], ['late-answer']]);
  });

  it('an id that nobody has used is noise', async () => {
    const { process, former } = await serving();
    const { told, link } = await rolledOut(former, process);
    process.print(`${result(link.below, 'never sent')}\n${result(-1, 'x')}\n{"no":"MCP"}\nlog\n`);
    expect(told.noises).toEqual(['unknown-id', 'unknown-id', 'not-json', 'not-json']);
  });
});

describe('the noise of a server that has moved', () => {
  async function noisy(printed: number) {
    const { process, former } = await serving();
    process.print('a log line\n'.repeat(printed));
    await former.clock.advanceAsync(31_000);
    return { process, former };
  }

  it('counts on: it is probed as soon as if it had not moved #noise', async () => {
    const { process, former } = await noisy(900);
    const { told, clock } = await rolledOut(former, process);
    process.print('a log line\n'.repeat(99));
    await clock.advanceAsync(10);
    expect(process.lines).toEqual([]);
    process.print('a log line\n');
    await settled();
    expect(process.lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { method: 'ping' },
    ]);
    await clock.advanceAsync(5_000);
    expect(told.losses).toMatchObject([{ code: 'protocol_violation' }]);
  });

  it('is left to the deadline of the call of the former that it is busy with #noise', async () => {
    const { process, former } = await noisy(900);
    call(former.connection);
    await settled();
    const { told, clock } = await rolledOut(former, process);
    process.written.length = 0;
    process.print('a log line\n'.repeat(500));
    await clock.advanceAsync(60_000);
    expect([process.lines, told.losses]).toEqual([[], []]);
  });

  it('that is read in turns is read on in turns #noise', async () => {
    const { process, former } = await serving();
    const old = call(former.connection);
    await settled();
    process.print(`${'x\n'.repeat(3_500)}${result(old.id, 'behind it')}\n`);
    const { link, told, clock } = await rolledOut(former, process);
    expect([former.told.noises.length, told.noises.length, link.passed]).toEqual([
      1_000,
      1_000,
      [],
    ]);
    await clock.advanceAsync(10);
    expect((await old.answer).bytes.toString()).toBe(result(old.id, 'behind it'));
    expect([told.noises.length, former.clock.pending]).toEqual([2_500, 0]);
  });
});

describe('the stderr of a server that has moved', () => {
  it('goes along without secrets, half a line included', async () => {
    const secret = 'sk-0123456789abcdef';
    const redactor = new Redactor([{ value: secret, name: 'TOKEN' } as never]);
    const { process, former } = await serving({ redactor });
    process.printError(`one ${secret}\ntwo ${secret.slice(0, 9)}`);
    const { handed } = await givenUp(former.connection);
    expect(JSON.stringify(handed.state)).not.toContain(secret.slice(0, 9));
    const again = await serving({ redactor });
    again.process.printError(`one ${secret}\ntwo ${secret.slice(0, 9)}`);
    const { connection } = await rolledOut(again.former, again.process, { redactor });
    again.process.printError(`${secret.slice(9)}\nthree\n`);
    expect(connection.stderr.join('\n')).not.toContain(secret.slice(9));
    expect(connection.stderr.map((line) => line.slice(0, 4))).toEqual(['one ', 'two ', 'thre']);
    again.process.exit();
    expect(again.former.told.words).toEqual([]);
  });
});
