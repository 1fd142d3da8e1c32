// A call id that comes again: with the same request it is answered as before, with another one it is refused, and with the
// next credential of the same name it is the id of a call of its own. On a real broker.

import { describe, expect, it } from 'vitest';
import { ReadMail } from '../../../test/support/broker-suite/read-mail.ts';
import { members } from '../../../test/support/broker-suite/subject.ts';
import { playedRequest, startPlayedFleet } from '../../../test/support/played-fleet.ts';
import { until } from '../../../test/support/until.ts';
import type { Link } from '../../broker/contract.ts';
import { partIn, pullBody } from '../parcel.ts';
import { workerPrincipal } from './worker-principal.ts';

function send(link: Link, id: string, text: string, about = 'call'): Promise<void> {
  return link.deliver({ id, to: 'boss', kind: 'mcp-request', about, body: Buffer.from(text) });
}

/** The same, as a client may write it when it sends it again. */
const written = playedRequest('tool')
  .replace('"id":1', '"id": 7')
  .replace('"_meta":{', '"_meta":{"progressToken":9,')
  .replace('"params":{"name":"tool",', '"params":{ ')
  .replace(/\}\}$/, ',"name":"tool"}}');

describe('a call id that its sender uses again', () => {
  it('for the same request, however it is written, is answered as before #broker-once', async () => {
    await using fleet = await startPlayedFleet();
    const ann = await fleet.broker.link('ann', 'one');
    const mail = await ReadMail.of(ann, 'mcp-reply');
    await send(ann, 'first', playedRequest('tool'));
    const [first] = await mail.texts(1);
    await send(ann, 'second', written);
    expect(await mail.texts(1)).toEqual([first]);
    expect(fleet.gateway.runs).toHaveLength(1);
  });

  it.each([true, false])(
    'for another one is refused, whether the first runs or has ended, and changes nothing of it (ended: %s) #broker-once',
    async (hasEnded) => {
      await using fleet = await startPlayedFleet();
      fleet.gateway.answer = undefined;
      const ann = await fleet.broker.link('ann', 'one');
      const mail = await ReadMail.of(ann, 'mcp-reply');
      await send(ann, 'first', playedRequest('tool'));
      await until(() => fleet.gateway.runs.length === 1, 'it runs');
      const [run] = fleet.gateway.runs;
      if (hasEnded) run?.reply.answer(['secret']);
      if (hasEnded) expect(await mail.texts(1)).toEqual(['secret']);
      for (const id of ['other', 'other-again']) {
        await send(ann, id, playedRequest('other'));
        const refusal = await mail.next();
        refusal.ack();
        expect(refusal.id).toBe(id);
        expect(JSON.parse(refusal.body.toString())).toMatchObject({
          id: 1,
          error: { code: -32_600, data: { code: 'conflict', dispatched: 'no' } },
        });
      }
      if (!hasEnded) run?.reply.answer(['secret']);
      if (hasEnded) await send(ann, 'last', playedRequest('tool'));
      expect(await mail.texts(1)).toEqual(['secret']);
      expect(fleet.gateway.runs).toHaveLength(1);
    },
  );
});

describe('the next credential of a name', () => {
  it('cannot have answers of the earlier one by their call ids, nor parts of them #broker-identity', async () => {
    await using fleet = await startPlayedFleet();
    fleet.gateway.answer = undefined;
    const old = await fleet.broker.link('ann', 'one');
    const olds = await ReadMail.of(old, 'mcp-reply');
    await send(old, 'first', playedRequest('tool'));
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    fleet.gateway.runs[0]?.reply.answer([Buffer.alloc(600_000, 'x').toString()]);
    await olds.next();
    await fleet.broker.renew('ann');
    await old.ended;
    const ann = await fleet.broker.link('ann', 'one');
    const [chunks, mail] = [
      await ReadMail.of(ann, 'mcp-chunk'),
      await ReadMail.of(ann, 'mcp-reply'),
    ];
    const about = { to: 'boss', about: 'call' } as const;
    ann.tell({ id: 'p', ...about, kind: 'mcp-pull', body: pullBody(0) });
    expect(partIn((await chunks.next()).body)).toBe('gone');
    await send(ann, 'second', playedRequest('tool'));
    await until(() => fleet.gateway.runs.length === 2, 'it is a call of its own');
    fleet.gateway.runs[1]?.reply.answer(['its own']);
    expect(await mail.texts(1)).toEqual(['its own']);
  });

  it('is another principal and another client, with the same name for people #broker-identity', () => {
    const { mailbox, role, id } = members.ann;
    const of = (credential: string) =>
      workerPrincipal({ mailbox, role, credential, seat: 's' }, () => false);
    expect(of(id)).toMatchObject({ id: `worker:ann.mcp:${id}`, role: 'reader' });
    expect(of('f'.repeat(16))?.id).not.toBe(of(id)?.id);
  });
});
