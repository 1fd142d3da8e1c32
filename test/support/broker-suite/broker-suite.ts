// What every broker promises (src/broker/contract.ts), against a real one with real links.

import { describe, expect, it } from 'vitest';
import { BrokerError, type BrokerRefusal } from '../../../src/broker/broker-error.ts';
import type { Letter, Link } from '../../../src/broker/contract.ts';
import { until } from '../until.ts';
import { ReadMail } from './read-mail.ts';
import { type BrokerKind, type BrokerSubject, members } from './subject.ts';

let ids = 0;

function letter(to: string, text: string, more: Partial<Letter> = {}): Letter {
  ids += 1;
  return { id: `letter-${ids}`, to, kind: 'note', body: Buffer.from(text), ...more };
}

async function refused(work: Promise<unknown>): Promise<BrokerRefusal> {
  const error = await work.then(
    () => undefined,
    (why: unknown) => why,
  );
  expect(error).toBeInstanceOf(BrokerError);
  return (error as BrokerError).reason;
}

function tellRefused(link: Link, told: Letter): Promise<BrokerRefusal> {
  return new Promise((resolve) => link.tell(told, (why) => resolve(why.reason)));
}

const annBox = members.ann.mailbox;
const bobBox = members.bob.mailbox;

export function brokerSuite({ name, start }: BrokerKind): void {
  const within = (work: (broker: BrokerSubject) => Promise<void>) => async () => {
    await using broker = await start();
    await work(broker);
  };

  describe(`${name}: a letter`, () => {
    it(
      'arrives byte for byte, with the sender that its credential says #broker-identity',
      within(async (broker) => {
        const boss = await broker.link('boss');
        const ann = await broker.link('ann', 'window');
        const mail = await ReadMail.of(boss, 'note');
        const body = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
        await ann.deliver(
          letter('boss', '', { id: 'odd "id"'.replace(' ', '_'), about: 'x', body }),
        );
        const { from, about, body: arrived, id } = await mail.next();
        const credential = expect.stringMatching(/^[0-9a-f]{16}$/);
        expect(from).toEqual({ mailbox: annBox, seat: 'window', role: 'reader', credential });
        expect({ about, id }).toEqual({ about: 'x', id: 'odd_"id"' });
        expect(arrived.equals(body)).toBe(true);
      }),
    );

    it(
      'is kept until somebody reads it, in order, also over a restart #broker-durable',
      within(async (broker) => {
        const ann = await broker.link('ann');
        for (const text of ['1', '2', '3']) await ann.deliver(letter('boss', text));
        await broker.restart();
        const mail = await ReadMail.of(await broker.link('boss'), 'note');
        expect(await mail.texts(3)).toEqual(['1', '2', '3']);
      }),
    );

    it(
      'comes again if its reader ends without acknowledging it, before newer ones #broker-durable',
      within(async (broker) => {
        const ann = await broker.link('ann');
        const first = await broker.link('boss', 'one');
        const mail = await ReadMail.of(first, 'note');
        await ann.deliver(letter('boss', 'early'));
        await mail.next();
        await first.close();
        await ann.deliver(letter('boss', 'late'));
        const again = await ReadMail.of(await broker.link('boss', 'two'), 'note');
        expect((await again.next()).body.toString()).toBe('early');
        expect((await again.next()).body.toString()).toBe('late');
      }),
    );

    it(
      'that was acknowledged does not come again, also after a restart #broker-durable',
      within(async (broker) => {
        const ann = await broker.link('ann');
        const boss = await broker.link('boss');
        const mail = await ReadMail.of(boss, 'note');
        await ann.deliver(letter('boss', 'done'));
        (await mail.next()).ack();
        // The broker has heard of it when it answers, and it is on the disk before a later letter is.
        await boss.present();
        await ann.deliver(letter('boss', 'left'));
        await mail.next();
        await broker.restart();
        const again = await ReadMail.of(await broker.link('boss'), 'note');
        expect(await again.texts(1)).toEqual(['left']);
      }),
    );

    it(
      'that is sent again with the same id while it waits is one letter',
      within(async (broker) => {
        const ann = await broker.link('ann');
        const once = letter('boss', 'once');
        await Promise.all([ann.deliver(once), ann.deliver(once)]);
        await ann.deliver(letter('boss', 'next'));
        const mail = await ReadMail.of(await broker.link('boss'), 'note');
        expect(await mail.texts(2)).toEqual(['once', 'next']);
      }),
    );

    it(
      'with the same id from another seat, or for another seat, is another letter #broker-durable',
      within(async (broker) => {
        const boss = await broker.link('boss');
        const [one, two] = [await broker.link('ann', 'one'), await broker.link('ann', 'two')];
        for (const link of [one, two]) {
          await link.deliver(letter('boss', link.self.seat, { id: 'same' }));
          await boss.deliver(
            letter(annBox, 'answer', { id: 'same', seat: link.self.seat, kind: 'other-mail' }),
          );
        }
        const mail = await ReadMail.of(boss, 'note');
        expect([...(await mail.texts(2))].sort()).toEqual(['one', 'two']);
        for (const link of [one, two]) {
          expect(await (await ReadMail.of(link, 'other-mail')).texts(1)).toEqual(['answer']);
        }
      }),
    );

    it(
      'whose time is over is not delivered; one with time left says how much #broker-deadline',
      within(async (broker) => {
        const ann = await broker.link('ann');
        await ann.deliver(letter('boss', 'over', { ttlMs: 1 }));
        await ann.deliver(letter('boss', 'in time', { ttlMs: 60_000 }));
        await broker.restart();
        const mail = await ReadMail.of(await broker.link('boss'), 'note');
        const { body, ttlMs } = await mail.next();
        expect(body.toString()).toBe('in time');
        expect(ttlMs).toBeGreaterThan(1);
        expect(ttlMs).toBeLessThanOrEqual(60_000);
      }),
    );

    it(
      'of another kind is left alone, and takes no room of ours #broker-kinds',
      within(async (broker) => {
        const ann = await broker.link('ann');
        await ann.deliver(letter('boss', 'foreign', { kind: 'other-mail' }));
        await ann.deliver(letter('boss', 'ours'));
        const boss = await broker.link('boss');
        expect(await (await ReadMail.of(boss, 'note')).texts(1)).toEqual(['ours']);
        expect(await (await ReadMail.of(boss, 'other-mail')).texts(1)).toEqual(['foreign']);
      }),
    );

    it(
      'with a name that cannot be is refused, and the link goes on',
      within(async (broker) => {
        const ann = await broker.link('ann');
        for (const wrong of [
          letter('../boss', ''),
          letter('Boss', ''),
          letter('', ''),
          letter('b'.repeat(65), ''),
          letter('boss', '', { kind: 'a/b' }),
          letter('boss', '', { kind: '' }),
          letter('boss', '', { id: 'a b' }),
          letter('boss', '', { seat: '..' }),
        ]) {
          expect(await refused(ann.deliver(wrong))).toBe('bad_letter');
          expect(await tellRefused(ann, wrong)).toBe('bad_letter');
        }
        expect(await refused(ann.receive('a b', () => {}))).toBe('bad_letter');
        await ann.deliver(letter('boss', 'good'));
      }),
    );

    it(
      'that is too large is refused, and the link goes on',
      within(async (broker) => {
        const ann = await broker.link('ann');
        const body = Buffer.alloc(ann.maxBodyBytes + 1);
        expect(await refused(ann.deliver(letter('boss', '', { body })))).toBe('too_large');
        await ann.deliver(letter('boss', 'small'));
      }),
    );
  });

  describe(`${name}: who may write to whom`, () => {
    it(
      'is decided by credentials: workers to their orchestrators, orchestrators to their workers #broker-identity',
      within(async (broker) => {
        const [boss, other, ann, bob] = await Promise.all([
          broker.link('boss'),
          broker.link('other'),
          broker.link('ann'),
          broker.link('bob'),
        ]);
        for (const [link, to] of [
          [ann, bobBox],
          [ann, 'other'],
          [ann, annBox],
          [ann, 'constructor'],
          [other, annBox],
          [boss, 'other'],
        ] as const) {
          expect(await refused(link.deliver(letter(to, 'no'))), `to ${to}`).toBe('not_allowed');
          expect(await tellRefused(link, letter(to, 'no'))).toBe('not_allowed');
        }
        await bob.deliver(letter('other', 'yes'));
        await other.deliver(letter(bobBox, 'yes'));
        await boss.deliver(letter(annBox, 'yes'));
      }),
    );

    it(
      'a wrong credential gets no link, for good #broker-identity',
      within(async (broker) => {
        const error = await broker.strangersLink().catch((why: unknown) => why);
        expect(error).toBeInstanceOf(BrokerError);
        expect((error as BrokerError).reason).toBe('unauthorized');
        expect((error as BrokerError).isPermanent).toBe(true);
      }),
    );
  });

  describe(`${name}: a credential that is revoked, whose name has another one at once`, () => {
    it(
      'has letters that nobody has read handed to nobody #revoked #broker-identity',
      within(async (broker) => {
        const ann = await broker.link('ann');
        for (const text of ['left', 'behind']) await ann.deliver(letter('boss', text));
        await broker.renew('ann');
        await ann.ended;
        const bob = await broker.link('bob');
        await (await broker.link('ann')).deliver(letter('boss', 'new'));
        await bob.deliver(letter('boss', 'of bob'));
        const mail = await ReadMail.of(await broker.link('boss'), 'note');
        expect(await mail.texts(2)).toEqual(['new', 'of bob']);
      }),
    );

    it(
      'is the one that its letters name, and the next one is another #broker-identity',
      within(async (broker) => {
        const mail = await ReadMail.of(await broker.link('boss'), 'note');
        const ann = await broker.link('ann');
        await ann.deliver(letter('boss', 'early'));
        ann.tell(letter('boss', 'told'));
        const [early, told] = [await mail.next(), await mail.next()];
        expect(told.from.credential).toBe(early.from.credential);
        early.ack();
        await broker.renew('ann');
        await ann.ended;
        await (await broker.link('ann')).deliver(letter('boss', 'late'));
        const late = await mail.next();
        expect(late.body.toString()).toBe('late');
        expect(late.from.credential).toMatch(/^[0-9a-f]{16}$/);
        expect(late.from.credential).not.toBe(early.from.credential);
      }),
    );

    it(
      'leaves nothing that waits for it to the next one, and nothing can be written to it #revoked #broker-identity',
      within(async (broker) => {
        const boss = await broker.link('boss');
        const mail = await ReadMail.of(boss, 'note');
        const ann = await broker.link('ann', 'window');
        await ann.deliver(letter('boss', 'x'));
        const { credential } = (await mail.next()).from;
        await boss.deliver(letter(annBox, 'secret', { credential }));
        await boss.deliver(letter(annBox, 'secret', { seat: 'window', credential }));
        await boss.deliver(letter(annBox, 'for nobody in particular'));
        await broker.renew('ann');
        await ann.ended;
        const next = await broker.link('ann', 'window');
        const nexts = await ReadMail.of(next, 'note');
        for (const seat of [undefined, 'window']) {
          const old = letter(annBox, 'late secret', { seat, credential });
          expect(await refused(boss.deliver(old))).toBe('not_allowed');
          expect(await tellRefused(boss, old)).toBe('not_allowed');
        }
        await next.deliver(letter('boss', 'y'));
        const { from } = await mail.next();
        await boss.deliver(letter(annBox, 'its own', { credential: from.credential }));
        expect(await nexts.texts(1)).toEqual(['its own']);
        expect(nexts.all).toHaveLength(1);
      }),
    );
  });

  describe(`${name}: a seat`, () => {
    it(
      'gets its own mail and no other; mail for nobody in particular goes to one of them',
      within(async (broker) => {
        const boss = await broker.link('boss');
        const one = await ReadMail.of(await broker.link('ann', 'one'), 'note');
        const two = await ReadMail.of(await broker.link('ann', 'two'), 'note');
        await boss.deliver(letter(annBox, 'for three', { seat: 'three' }));
        await boss.deliver(letter(annBox, 'for two', { seat: 'two' }));
        await boss.deliver(letter(annBox, 'for one', { seat: 'one' }));
        expect(await one.texts(1)).toEqual(['for one']);
        expect(await two.texts(1)).toEqual(['for two']);
        await Promise.all([boss.deliver(letter(annBox, 'a')), boss.deliver(letter(annBox, 'b'))]);
        await until(() => one.all.length + two.all.length === 4, 'each went to one of them');
        const three = await ReadMail.of(await broker.link('ann', 'three'), 'note');
        expect(await three.texts(1)).toEqual(['for three']);
      }),
    );

    it(
      'that is taken by a newer link ends the older one, which acts for it no longer #broker-lease',
      within(async (broker) => {
        const boss = await broker.link('boss');
        const older = await broker.link('ann', 'window');
        const mail = await ReadMail.of(older, 'note');
        await boss.deliver(letter(annBox, 'contested'));
        const held = await mail.next();
        const newer = await ReadMail.of(await broker.link('ann', 'window'), 'note');
        expect((await older.ended).reason).toBe('replaced');
        held.ack();
        expect((await newer.next()).body.toString()).toBe('contested');
      }),
    );
  });

  describe(`${name}: what is told`, () => {
    it(
      'reaches one seat, any or all of those that listen, and is not kept',
      within(async (broker) => {
        const boss = await broker.link('boss');
        expect(await tellRefused(boss, letter(annBox, 'nobody'))).toBe('absent');
        const one = await ReadMail.of(await broker.link('ann', 'one'), 'note');
        const two = await ReadMail.of(await broker.link('ann', 'two'), 'note');
        boss.tell(letter(annBox, 'to two', { seat: 'two' }));
        expect((await two.next()).body.toString()).toBe('to two');
        boss.tell(letter(annBox, 'to all', { toAll: true }));
        expect((await one.next()).body.toString()).toBe('to all');
        expect((await two.next()).body.toString()).toBe('to all');
        expect(await tellRefused(boss, letter(annBox, 'x', { seat: 'three' }))).toBe('absent');
      }),
    );
  });

  describe(`${name}: presence`, () => {
    it(
      'shows those that one may write to and that have a link',
      within(async (broker) => {
        const boss = await broker.link('boss');
        expect(await boss.present()).toEqual([]);
        const ann = await broker.link('ann');
        const bob = await broker.link('bob');
        expect([...(await boss.present())].sort()).toEqual([annBox, bobBox]);
        expect(await ann.present()).toEqual(['boss']);
        await bob.close();
        await until(async () => (await boss.present()).length === 1, 'bob has left');
      }),
    );
  });

  describe(`${name}: a link`, () => {
    it(
      'that ends rejects what waits, and says why',
      within(async (broker) => {
        const ann = await broker.link('ann');
        await broker.restart();
        expect((await ann.ended).reason).toBe('lost');
        expect(await refused(ann.deliver(letter('boss', 'late')))).toBe('lost');
        expect(await tellRefused(ann, letter('boss', 'late'))).toBe('lost');
      }),
    );
  });
}
