// What a worker writes into its request says nothing about who it is, which role it has or where the answer goes; and the
// id of another worker's call is no key to it. With a link that the broker has let in as what it is.

import { describe, expect, it } from 'vitest';
import { ReadMail } from '../../../test/support/broker-suite/read-mail.ts';
import { playedRequest, startPlayedFleet } from '../../../test/support/played-fleet.ts';
import { until } from '../../../test/support/until.ts';
import type { Link } from '../../broker/contract.ts';
import { partIn, pullBody } from '../parcel.ts';

const claims = '"role":"admin","from":"bob.mcp","replyTo":"bob.mcp","mailbox":"bob.mcp",';

function send(link: Link, id: string, text = playedRequest('tool')): Promise<void> {
  return link.deliver({ id, to: 'boss', kind: 'mcp-request', about: id, body: Buffer.from(text) });
}

describe('a request that claims something', () => {
  it.each(['deliver', 'tell'] as const)(
    'is one of the worker and the role that the broker knows, and answered to it alone (%s) #broker-identity',
    async (way) => {
      await using fleet = await startPlayedFleet();
      const bob = await fleet.broker.link('bob', 'listener');
      const bobs = await ReadMail.of(bob, 'mcp-reply');
      const forged = playedRequest('tool')
        .replace('"params":{', `"params":{${claims}`)
        .replace('"_meta":{', `"_meta":{${claims}`);
      const asked = fleet.ask(forged, { isKept: way === 'deliver' });
      expect(await asked.answer).toBe(forged);
      expect(fleet.gateway.runs.map(({ principal, role }) => [principal, role])).toEqual([
        ['worker:ann.mcp', 'reader'],
      ]);
      expect(bobs.all).toEqual([]);
    },
  );
});

describe("another worker's call", () => {
  it('cannot be cancelled, pulled or had again by its id #broker-identity', async () => {
    await using fleet = await startPlayedFleet();
    fleet.gateway.answer = undefined;
    const bob = await fleet.broker.link('bob', 'caller');
    const ann = await fleet.broker.link('ann', 'thief');
    const chunks = await ReadMail.of(ann, 'mcp-chunk');
    const anns = await ReadMail.of(ann, 'mcp-reply');
    await send(bob, 'secret');
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    const nothing = Buffer.alloc(0);
    ann.tell({ id: 'c', to: 'boss', kind: 'mcp-cancel', about: 'secret', body: nothing });
    // A call of her own, with the same id: it runs for her.
    await send(ann, 'secret');
    await until(() => fleet.gateway.runs.length === 2, 'hers runs, too');
    const [his, hers] = fleet.gateway.runs;
    expect([his?.cancelled, hers?.principal]).toEqual([false, 'worker:ann.mcp']);
    his?.reply.answer([Buffer.alloc(600_000, 'x').toString()]);
    ann.tell({ id: 'p', to: 'boss', kind: 'mcp-pull', about: 'secret', body: pullBody(0) });
    expect(partIn((await chunks.next()).body)).toBe('gone');
    hers?.reply.answer(['hers']);
    expect((await anns.next()).body.toString()).toBe('hers');
  });
});

describe('two processes of one worker with the same call id', () => {
  it('are two requests: each gets an answer of its own, and cancels nothing of the other #broker-once', async () => {
    await using fleet = await startPlayedFleet();
    fleet.gateway.answer = undefined;
    const links = [await fleet.broker.link('ann', 'one'), await fleet.broker.link('ann', 'two')];
    const mails: ReadMail[] = [];
    for (const link of links) {
      mails.push(await ReadMail.of(link, 'mcp-reply'));
      await send(link, 'key-1');
    }
    await until(() => fleet.gateway.runs.length === 2, 'the keys of the host decide what runs');
    const [one, two] = fleet.gateway.runs;
    two?.reply.answer(['for two']);
    expect((await mails[1]?.next())?.body.toString()).toBe('for two');
    const nothing = Buffer.alloc(0);
    links[1]?.tell({ id: 'c', to: 'boss', kind: 'mcp-cancel', about: 'key-1', body: nothing });
    await links[1]?.present();
    one?.reply.answer(['for one']);
    const reply = await mails[0]?.next();
    expect([reply?.body.toString(), reply?.about]).toEqual(['for one', 'key-1']);
  });

  it('may ask for one call by several letters, each of which is answered #broker-once', async () => {
    await using fleet = await startPlayedFleet();
    const ann = await fleet.broker.link('ann', 'one');
    const mail = await ReadMail.of(ann, 'mcp-reply');
    const body = Buffer.from(playedRequest('tool'));
    for (const id of ['call.1', 'call.2']) {
      await ann.deliver({ id, to: 'boss', kind: 'mcp-request', about: 'call', body });
      const reply = await mail.next();
      expect([reply.id, reply.about]).toEqual([id, 'call']);
    }
    expect(fleet.gateway.runs).toHaveLength(1);
  });
});
