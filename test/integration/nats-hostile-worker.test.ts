// A worker that does not use our client, but the credential that it was given and a client of NATS: it is denied
// everything that the credential is not for, by the config that the product prints. Everything is tried against a
// real server, and afterwards the mail of the others is still there.

import { connect, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import type { Link } from '../../src/broker/contract.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { members } from '../support/broker-suite/subject.ts';
import { type NatsBroker, startNatsBroker } from '../support/nats-broker.ts';
import { NatsServer, passwordOf } from '../support/nats-server.ts';
import { until } from '../support/until.ts';

const { ann, bob } = { ann: members.ann.mailbox, bob: members.bob.mailbox };

interface World {
  readonly broker: NatsBroker;
  /** Ann, with a client of her own. */
  readonly hostile: Hostile;
  readonly boss: Link;
}

const within = (work: (world: World) => Promise<void>) => async () => {
  await using broker = await startNatsBroker();
  const boss = await broker.link('boss');
  await boss.deliver({ id: 'b', to: bob, kind: 'note', body: Buffer.from('for bob') });
  const bobs = await broker.link('bob');
  await bobs.deliver({ id: '1', to: 'boss', kind: 'note', body: Buffer.from('of bob') });
  const hostile = await Hostile.connect(broker.server.url);
  await work({ broker, hostile, boss });
  // Whatever she has tried: the mail of others is there, and it is theirs.
  const mail = await ReadMail.of(await broker.link('boss'), 'note');
  const kept = await mail.next();
  expect({ from: kept.from.mailbox, text: kept.body.toString() }).toEqual({
    from: bob,
    text: 'of bob',
  });
  expect(await (await ReadMail.of(bobs, 'note')).texts(1)).toEqual(['for bob']);
};

class Hostile {
  readonly nats: NatsConnection;
  readonly #refused: string[] = [];

  private constructor(nats: NatsConnection) {
    this.nats = nats;
    this.#listen().catch(() => {});
  }

  static async connect(url: string): Promise<Hostile> {
    const pass = passwordOf('ann');
    const options = { servers: url, user: ann, pass, inboxPrefix: '_INBOX.ann~mcp' };
    return new Hostile(await connect({ ...options, reconnect: false }));
  }

  /** Whether the server has refused to take it. */
  async publish(subject: string, text: string, reply?: string): Promise<'refused' | 'taken'> {
    const before = this.#refused.length;
    this.nats.publish(subject, text, reply === undefined ? {} : { reply });
    await this.#settled();
    return this.#refused.length > before ? 'refused' : 'taken';
  }

  async subscribe(subject: string): Promise<'refused' | 'taken'> {
    const before = this.#refused.length;
    this.nats.subscribe(subject, { callback: () => {} });
    await this.#settled();
    return this.#refused.length > before ? 'refused' : 'taken';
  }

  async api(verb: string, body: object = {}): Promise<{ readonly error?: { err_code: number } }> {
    const text = Object.keys(body).length === 0 ? '' : JSON.stringify(body);
    const { data } = await this.nats.request(`$JS.API.${verb}`, text, { timeout: 5_000 });
    return JSON.parse(Buffer.from(data).toString());
  }

  async #settled(): Promise<void> {
    await this.nats.flush();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #listen(): Promise<void> {
    for await (const status of this.nats.status()) {
      if (status.type === 'error') this.#refused.push(status.error.name);
    }
  }
}

const own = `ann~mcp.reader.${members.ann.id}.x`;
const ofBob = `bob~mcp.~none.${members.bob.id}.x`;
const streamNotFound = 10_059;
const subjectIsFull = 10_077;

describe('a worker with a client of its own', () => {
  it.each([
    ['as another worker', `hf.mail.boss.~now.note.~any.${ofBob}`],
    ['with another role', `hf.mail.boss.~now.note.~any.ann~mcp.admin.${members.ann.id}.x`],
    ['without its role', `hf.mail.boss.~now.note.~any.ann~mcp.~none.${members.ann.id}.x`],
    ['with another credential', `hf.mail.boss.~now.note.~any.ann~mcp.reader.${members.bob.id}.x`],
    ['without its credential', 'hf.mail.boss.~now.note.~any.ann~mcp.reader.~none.x'],
    [
      'a word with another credential',
      `hf.tell.boss.~now.note.~any.ann~mcp.reader.${'f'.repeat(16)}.x`,
    ],
    ['to another orchestrator', `hf.mail.other.~now.note.~any.${own}`],
    [
      'to one seat of its orchestrator, where nobody may ever read it',
      `hf.mail.boss.~now.note.nobody.${own}`,
    ],
    ['to another worker', `hf.mail.bob~mcp.~now.note.~any.${own}`],
    ['to itself, as the orchestrator', 'hf.mail.ann~mcp.~now.note.~any.boss.~none.~none.x'],
    ['a word as another worker', `hf.tell.boss.~now.note.~any.${ofBob}`],
    ['a word to another orchestrator', `hf.tell.other.~now.note.~any.${own}`],
    ['as the orchestrator to all', 'hf.who.boss'],
    ['about queues of others', 'hf.queues.bob~mcp'],
    ['among the links of others', 'hf.own.boss.seat.one'],
    ['to the inbox of another', '_INBOX.boss.x'],
    ['elsewhere', 'elsewhere'],
    ['to the server', '$SYS.REQ.SERVER.PING'],
  ])('cannot write %s #broker-identity', (_what, subject) =>
    within(async ({ hostile }) => {
      expect(await hostile.publish(subject, 'forged')).toBe('refused');
    })(),
  );

  it.each([
    '_INBOX.>',
    '_INBOX.boss.>',
    'hf.>',
    '>',
    'hf.tell.boss.>',
    'hf.own.boss.>',
    'hf.who.*',
  ])('cannot listen to %s #broker-identity', (subject) =>
    within(async ({ hostile }) => {
      expect(await hostile.subscribe(subject)).toBe('refused');
    })(),
  );

  it(
    'fills no mailbox for the others from one link #principal-share',
    within(async ({ broker, hostile }) => {
      const subject = `hf.mail.boss.~now.note.~any.${own}`;
      // The mailbox has room for 50,000.
      for (let count = 0; count < 60_000; count += 1) hostile.nats.publish(subject, 'x');
      await hostile.nats.flush();
      const answer = (await hostile.nats.request(subject, 'x')).json<{
        readonly error?: { readonly err_code: number };
      }>();
      expect(answer.error?.err_code).toBe(subjectIsFull);
      const more = { id: 'more', to: 'boss', kind: 'note', body: Buffer.from('more') };
      await (await broker.link('bob')).deliver(more);
    }),
  );

  it(
    'sees streams, consumers and messages of nobody else #broker-identity',
    within(async ({ hostile, boss }) => {
      // Her own account has streams of the same names; those of others have one more.
      await boss.receive('for-boss-alone', () => {});
      for (const verb of [
        'STREAM.INFO.hf-mail-for-boss-alone',
        'STREAM.DELETE.hf-mail-for-boss-alone',
        'STREAM.PURGE.hf-mail-for-boss-alone',
        'CONSUMER.NAMES.hf-mail-for-boss-alone',
      ]) {
        expect((await hostile.api(verb)).error?.err_code, verb).toBe(streamNotFound);
      }
      expect((await hostile.api('STREAM.MSG.GET.hf-mail-note', { seq: 1 })).error).toBeDefined();
      expect((await hostile.api('STREAM.MSG.DELETE.hf-mail-note', { seq: 1 })).error).toBeDefined();
    }),
  );

  it(
    'captures nothing of others by streams of its own #broker-identity',
    within(async ({ hostile, broker }) => {
      const subjects = ['hf.mail.*.>', 'hf.tell.>'];
      // Its own streams have the subjects of its own mail; they are deleted first.
      for (const name of ['hf-mail-note', 'hf-mail-other-mail']) {
        await hostile.api(`STREAM.DELETE.${name}`);
      }
      expect((await hostile.api('STREAM.CREATE.all', { name: 'all', subjects })).error).toBe(
        undefined,
      );
      const bobs = await broker.link('bob');
      await bobs.deliver({ id: '2', to: 'boss', kind: 'note', body: Buffer.from('more') });
      const { state } = (await hostile.api('STREAM.INFO.all')) as unknown as {
        readonly state: { readonly messages: number };
      };
      expect(state.messages).toBe(0);
    }),
  );

  it(
    'gains nothing by reply addresses: what the server answers stays in its account #broker-identity',
    within(async ({ hostile, broker, boss }) => {
      const held = await ReadMail.of(boss, 'note');
      const first = await held.next();
      expect(first.from.mailbox).toBe(bob);
      const mail = `hf.mail.boss.~now.note.~any.${own}`;
      for (const reply of [
        `hf.mail.boss.~now.note.~any.${ofBob}`,
        '$JS.API.STREAM.DELETE.hf-mail-note',
        '$JS.API.STREAM.PURGE.hf-mail-note',
        '_INBOX.boss.x',
        `hf.tell.boss.~now.note.~any.${ofBob}`,
        'hf.own.boss.seat.one',
      ]) {
        await hostile.publish('hf.queues.boss', '', reply);
        await hostile.publish(mail, 'with a reply address', reply);
        await hostile.publish('$JS.API.INFO', '', reply);
        await hostile.publish(
          '$JS.API.CONSUMER.MSG.NEXT.hf-mail-note.x',
          '{"batch":1,"no_wait":true}',
          reply,
        );
      }
      // All that has come of it are her own letters, which are none.
      await boss.deliver({ id: 'x', to: bob, kind: 'note', body: Buffer.from('later') });
      const bobs = await broker.link('bob');
      await bobs.deliver({ id: '9', to: 'boss', kind: 'other-mail', body: Buffer.from('last') });
      await (await ReadMail.of(boss, 'other-mail')).next();
      expect(held.all.map(({ from }) => from.mailbox)).toEqual([bob]);
      expect(broker.reports.every((text) => text.includes('from ann.mcp'))).toBe(true);
      await boss.close();
    }),
  );

  it(
    'cannot make a letter of another a duplicate of its own #broker-identity',
    within(async ({ hostile, broker }) => {
      const { headers } = await import('@nats-io/transport-node');
      for (const id of ['2', `${bob}/2`, 'boss note 2']) {
        const forged = headers();
        forged.set('Nats-Msg-Id', id);
        await hostile.nats.request(`hf.mail.boss.~now.note.~any.${own}`, 'x', {
          timeout: 5_000,
          headers: forged,
        });
      }
      const bobs = await broker.link('bob');
      await bobs.deliver({ id: '2', to: 'boss', kind: 'note', body: Buffer.from('second') });
      const boss = await broker.link('boss', 'reader');
      const mail = await ReadMail.of(boss, 'note');
      await mail.next();
      expect((await mail.next()).body.toString()).toBe('second');
      await boss.close();
    }),
  );
});

describe('permissions within one account, which is why each mailbox has its own', () => {
  it('let a worker delete the streams of others by a reply address', async () => {
    const mayPublish = '"$JS.API.CONSUMER.MSG.NEXT.own.*"';
    await using server = await NatsServer.start(
      [],
      (storeDir) => `
      jetstream { store_dir: "${storeDir}" }
      authorization { users: [
        { user: "boss", password: "boss" }
        { user: "ann", password: "ann"
          permissions: { publish: [${mayPublish}], subscribe: ["_INBOX.ann.>"] } }
      ] }`,
    );
    const as = (user: string) =>
      connect({ servers: server.url, user, pass: user, inboxPrefix: `_INBOX.${user}` });
    const [boss, worker] = [await as('boss'), await as('ann')];
    const api = async (verb: string, body: object) => {
      const { data } = await boss.request(`$JS.API.${verb}`, JSON.stringify(body));
      return JSON.parse(Buffer.from(data).toString()) as { readonly streams: readonly string[] };
    };
    for (const name of ['own', 'of-boss']) await api(`STREAM.CREATE.${name}`, { name });
    await api('CONSUMER.CREATE.own.c', {
      stream_name: 'own',
      config: { name: 'c', ack_policy: 'explicit' },
    });
    const reply = '$JS.API.STREAM.DELETE.of-boss';
    worker.publish('$JS.API.CONSUMER.MSG.NEXT.own.c', '{"batch":1,"no_wait":true}', { reply });
    await until(async () => {
      const { streams } = await api('STREAM.NAMES', {});
      return !streams.includes('of-boss');
    }, 'the server itself has deleted it');
    await Promise.all([boss.close(), worker.close()]);
  });
});
