// What a link to NATS promises beyond the suite of brokers: why it is refused or ends, told by type; what it does
// with clocks that differ, with letters that are none, and with a link that has not heard of its successor.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { nkeys } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { BrokerError, type BrokerRefusal } from '../../src/broker/broker-error.ts';
import type { Letter } from '../../src/broker/contract.ts';
import type { Identity } from '../../src/broker/identity.ts';
import { type NatsMember, natsConfig } from '../../src/broker/nats/nats-config.ts';
import { openNatsLink } from '../../src/broker/nats/nats-link.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { type MemberName, members } from '../support/broker-suite/subject.ts';
import { startNatsBroker } from '../support/nats-broker.ts';
import { NatsServer, passwordOf, suiteMembers } from '../support/nats-server.ts';
import { TcpRelay } from '../support/tcp-relay.ts';
import { until } from '../support/until.ts';

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

const ann = members.ann.mailbox;

function open(
  url: string,
  identity: Identity = members.ann,
  secret = 'x',
  signal = new AbortController().signal,
) {
  const { caught, report } = { caught: () => {}, report: () => {} };
  const options = { url, identity, secret, seat: 's', kinds: ['note'], clock: systemClock };
  return openNatsLink({ ...options, caught, report }, signal);
}

/** Something that listens, and says this to whoever connects or writes. */
async function listener(first: string, answer: string) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    if (first !== '') socket.write(first);
    socket.on('data', () => socket.write(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `nats://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, [Symbol.dispose]: () => server.close() };
}

describe('a link to NATS is refused', () => {
  it('as not a broker by something that speaks another protocol first', async () => {
    using other = await listener('SSH-2.0-OpenSSH_9.2\r\n', '');
    expect(await refused(open(other.url))).toBe('not_a_broker');
  });

  it('as not a broker by a web server, which waits for a request', async () => {
    using other = await listener('', 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    expect(await refused(open(other.url))).toBe('not_a_broker');
  });

  it('as not a broker by an address of another kind', async () => {
    expect(await refused(open('http://127.0.0.1:1'))).toBe('not_a_broker');
    expect(await refused(open('not an address'))).toBe('not_a_broker');
  });

  it('as lost where nobody listens', async () => {
    const other = await listener('', '');
    other[Symbol.dispose]();
    expect(await refused(open(other.url))).toBe('lost');
  });

  it('as closed by an abort, before or during', async () => {
    expect(await refused(open('nats://127.0.0.1:1', members.ann, 'x', AbortSignal.abort()))).toBe(
      'closed',
    );
    using silent = await listener('', '');
    const abort = new AbortController();
    const opening = refused(open(silent.url, members.ann, 'x', abort.signal));
    abort.abort();
    expect(await opening).toBe('closed');
  });

  it('as unsupported by a server without JetStream, in words', async () => {
    await using server = await NatsServer.start(
      [],
      () => 'authorization { user: "ann.mcp", password: "x" }\n',
    );
    const error = await open(server.url).catch((why: unknown) => why);
    expect((error as BrokerError).reason).toBe('unsupported');
    expect((error as BrokerError).message).toContain('JetStream is not enabled');
  });

  it('as unauthorized with a role or a mailbox that its credential is not for', async () => {
    await using broker = await startNatsBroker();
    const role = { ...members.ann, role: 'admin' };
    expect(await refused(broker.linkWith('ann', { identity: role }))).toBe('unauthorized');
    const to = { ...members.ann, to: ['boss', 'other'] };
    expect(await refused(broker.linkWith('ann', { identity: to }))).toBe('unauthorized');
  });
});

describe('a server that is not as nats-config says', () => {
  it('is refused if it asks nobody for a credential, to orchestrators and workers #broker-identity', async () => {
    await using server = await NatsServer.start(
      [],
      (storeDir) => `jetstream { store_dir: ${JSON.stringify(storeDir)} }\n`,
    );
    for (const identity of [members.boss, members.ann]) {
      const error = await open(server.url, identity).catch((why: unknown) => why);
      expect((error as BrokerError).reason).toBe('unsupported');
      expect((error as BrokerError).message).toContain('holdfast broker nats-config');
    }
  });

  // On a reload nats-server 2.9.10 leaves out the service imports of accounts that are new to it.
  it('is refused to a member that one reload has added, with words, and serves it after the second #broker-durable', async () => {
    const isNew = ({ identity }: NatsMember) => ['other', 'ann.mcp'].includes(identity.mailbox);
    await using server = await NatsServer.start(suiteMembers.filter((member) => !isNew(member)));
    const link = (name: MemberName) => open(server.url, members[name], passwordOf(name));
    const boss = await link('boss');
    const mail = await ReadMail.of(boss, 'note');
    await server.reloaded(suiteMembers);
    const error = await link('ann').catch((why: unknown) => why);
    expect((error as BrokerError).reason).toBe('unsupported');
    expect((error as BrokerError).message).toContain('has to be reloaded twice');
    await server.reloaded(suiteMembers);
    await (await link('ann')).deliver(letter('boss', 'after the second'));
    expect(await mail.texts(1)).toEqual(['after the second']);
  });

  it('ends the link of an orchestrator that one reload has added when it cannot write to a worker', async () => {
    const [boss, ...workers] = [members.boss, members.bob].map(
      (identity) => suiteMembers.find((member) => member.identity === identity) as NatsMember,
    );
    await using server = await NatsServer.start(workers);
    await server.reloaded([boss as NatsMember, ...workers]);
    const link = await open(server.url, members.boss, passwordOf('boss'));
    expect(await refused(link.deliver(letter(members.bob.mailbox, 'x')))).toBe('unsupported');
    expect((await link.ended).message).toContain('has to be reloaded twice');
  });
});

describe('a letter by NATS is refused', () => {
  it('as not allowed if the credential does not name its reader, by the name of that one', async () => {
    await using broker = await startNatsBroker();
    const link = await broker.link('ann');
    const words = 'this credential may not write to nobody';
    await expect(link.deliver(letter('nobody', 'x'))).rejects.toThrow(words);
    const told = new Promise<BrokerError>((resolve) => link.tell(letter('nobody', 'x'), resolve));
    expect((await told).message).toBe(words);
  });

  it('as not allowed once its reader is revoked, and the link goes on #broker-identity', async () => {
    await using broker = await startNatsBroker();
    const boss = await broker.link('boss');
    await boss.deliver(letter(ann, 'before'));
    await broker.server.reloaded(suiteMembers.filter(({ identity }) => identity !== members.ann));
    const words = `this credential may not write to ${ann}`;
    // One whose queue is known, and one whose queue is asked for.
    await expect(boss.deliver(letter(ann, 'x'))).rejects.toThrow(words);
    await expect(boss.deliver(letter(ann, 'x', { kind: 'new' }))).rejects.toThrow(words);
    await boss.deliver(letter(members.bob.mailbox, 'still'));
  });

  it('with a line for people where it is removed, because its sender was revoked #revoked', async () => {
    await using broker = await startNatsBroker();
    await using old = await broker.link('ann');
    await old.deliver(letter('boss', 'of the revoked'));
    await broker.renew('ann');
    await using renewed = await broker.link('ann');
    await renewed.deliver(letter('boss', 'of now'));
    const mail = await ReadMail.of(await broker.link('boss'), 'note');
    expect(await mail.texts(1)).toEqual(['of now']);
    expect(broker.reports).toEqual([
      expect.stringContaining(`a letter of the kind note from ${ann} to boss was removed unread`),
    ]);
  });

  it('as absent if the mailbox has no queue for its kind, as full if it has no room', async () => {
    await using broker = await startNatsBroker();
    const [annLink, boss] = [await broker.link('ann'), await broker.link('boss')];
    expect(await refused(annLink.deliver(letter('boss', 'x', { kind: 'new' })))).toBe('absent');
    await boss.receive('new', () => {});
    await annLink.deliver(letter('boss', 'x', { kind: 'new' }));
    const body = Buffer.alloc(boss.maxBodyBytes);
    const fill = async () => {
      for (let sent = 0; sent < 17; sent += 1) await boss.deliver(letter(ann, '', { body }));
    };
    expect(await refused(fill())).toBe('full');
    // The room of one kind is not that of another.
    await boss.deliver(letter(ann, 'still', { kind: 'other-mail' }));
  });

  it('with bad_letter if a name in it could be read as another subject', async () => {
    await using broker = await startNatsBroker();
    const link = await broker.link('ann');
    for (const bad of [
      { to: 'boss.*' },
      { to: '>' },
      { kind: 'note.~any' },
      { seat: 'a.b' },
      { id: 'two words' },
      { about: '' },
    ]) {
      expect(await refused(link.deliver(letter('boss', 'x', bad)))).toBe('bad_letter');
    }
  });
});

describe('a link to NATS', () => {
  it('rejects at once what waits when the server is killed', async () => {
    await using broker = await startNatsBroker();
    const link = await broker.link('ann');
    broker.server.freeze();
    const waiting = refused(link.deliver(letter('boss', 'x')));
    const asking = refused(link.present());
    await broker.restart();
    expect(await waiting).toBe('lost');
    expect(await asking).toBe('lost');
    expect((await link.ended).reason).toBe('lost');
  });

  it('ends by itself when the server falls silent', async () => {
    await using broker = await startNatsBroker();
    const link = await broker.link('ann');
    broker.server.freeze();
    expect((await link.ended).reason).toBe('lost');
  });

  it('hands out many letters, and letters of any size, each once and in order', async () => {
    await using broker = await startNatsBroker();
    const [annLink, boss] = [await broker.link('ann'), await broker.link('boss')];
    const many = Array.from({ length: 1_000 }, (_, at) => String(at));
    await Promise.all(many.map((text) => annLink.deliver(letter('boss', text))));
    expect(await (await ReadMail.of(boss, 'note')).texts(many.length)).toEqual(many);
    const sizes = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? boss.maxBodyBytes : at));
    const mail = await ReadMail.of(boss, 'other-mail');
    for (const size of sizes) {
      const body = Buffer.alloc(size, 'x');
      await annLink.deliver(letter('boss', '', { kind: 'other-mail', body }));
    }
    expect((await mail.texts(sizes.length)).map((text) => text.length)).toEqual(sizes);
  });

  it('gives back what it holds, in its order, to another link of the mailbox #broker-durable', async () => {
    await using broker = await startNatsBroker();
    const annLink = await broker.link('ann');
    const texts = ['1', '2', '3', '4'];
    for (const text of texts) await annLink.deliver(letter('boss', text));
    await broker.link('boss');
    const first = await broker.link('boss');
    const held = await ReadMail.of(first, 'note');
    while (held.all.length < texts.length) await held.next();
    await first.close();
    expect(await (await ReadMail.of(await broker.link('boss'), 'note')).texts(4)).toEqual(texts);
  });

  it('sets aside what is no letter, reports it once, and goes on', async () => {
    await using broker = await startNatsBroker();
    const [annLink, boss] = [await broker.link('ann'), await broker.link('boss')];
    await annLink.deliver(letter('boss', 'unreadable for us'));
    const mail = await ReadMail.of(boss, 'note');
    (await mail.next()).setAside('a test');
    await annLink.deliver(letter('boss', 'next'));
    await mail.next();
    expect(broker.reports).toEqual([
      'a letter of the kind note from ann.mcp to boss could not be read and was put aside: a test',
    ]);
    await boss.close();
    const again = await ReadMail.of(await broker.link('boss'), 'note');
    expect(await again.texts(1)).toEqual(['next']);
  });

  it('accepts the seed of an nkey as its credential', async () => {
    const user = nkeys.createUser();
    const member = { identity: members.ann, credential: { nkey: user.getPublicKey() } };
    await using server = await NatsServer.start([...suiteMembers.slice(0, 2), member]);
    const secret = new TextDecoder().decode(user.getSeed());
    const parts = { url: server.url, seat: 's', kinds: ['note'], clock: systemClock };
    const link = await openNatsLink(
      { ...parts, identity: members.ann, secret, caught: () => {}, report: () => {} },
      new AbortController().signal,
    );
    expect(await link.present()).toEqual([]);
    await link.close();
  });
});

/** A clock that can be set forward, as the difference to the server's changes if that is set back. */
function shiftedClock(): Clock & { shiftMs: number } {
  return {
    ...systemClock,
    shiftMs: 0,
    now() {
      return systemClock.now() + this.shiftMs;
    },
    wallNow: () => systemClock.wallNow() - 7_200_000,
  };
}

describe('the time of a letter by NATS', () => {
  it('is not over because a clock was set by two hours while the link lives #broker-deadline', async () => {
    await using broker = await startNatsBroker();
    const annLink = await broker.link('ann');
    const clock = shiftedClock();
    const mail = await ReadMail.of(await broker.linkWith('boss', { clock }), 'note');
    clock.shiftMs = 7_200_000;
    await annLink.deliver(letter('boss', 'in time', { ttlMs: 60_000 }));
    const { body, ttlMs } = await mail.next();
    expect(body.toString()).toBe('in time');
    expect(ttlMs).toBeGreaterThan(1);
    expect(ttlMs).toBeLessThanOrEqual(60_000);
  });

  it('is over for good when it is: the letter does not come later either #broker-deadline', async () => {
    await using broker = await startNatsBroker();
    const annLink = await broker.link('ann');
    await annLink.deliver(letter('boss', 'over', { ttlMs: 1 }));
    await annLink.deliver(letter('boss', 'in time'));
    let expired = 0;
    const count = () => {
      expired += 1;
    };
    const first = await broker.linkWith('boss', { expired: count });
    const mail = await ReadMail.of(first, 'note');
    await mail.next();
    // The server has heard that it is done with.
    await first.present();
    expect(mail.all.map(({ body }) => body.toString())).toEqual(['in time']);
    expect(expired).toBe(1);
    await broker.restart();
    const again = await ReadMail.of(await broker.link('boss'), 'note');
    expect((await again.next()).body.toString()).toBe('in time');
  });
});

describe('an older link in a seat', () => {
  it('that has not heard of its successor acknowledges nothing #broker-lease', async () => {
    await using broker = await startNatsBroker();
    await using relay = await TcpRelay.to(broker.server.url);
    const boss = await broker.link('boss');
    const older = await broker.linkWith('ann', { seat: 'window', url: relay.url });
    const mail = await ReadMail.of(older, 'note');
    await boss.deliver(letter(ann, 'contested', { seat: 'window' }));
    const held = await mail.next();
    relay.muteServer();
    const newer = await broker.link('ann', 'window');
    await (await ReadMail.of(newer, 'note')).next();
    held.ack();
    // The server has heard it.
    await until(() => relay.heard.toString('latin1').includes('+ACK'), 'it was acknowledged');
    await newer.present();
    await newer.close();
    const last = await ReadMail.of(await broker.link('ann', 'window'), 'note');
    expect((await last.next()).body.toString()).toBe('contested');
  });
});

describe('the printed config', () => {
  it('cannot be had for a credential that expires', () => {
    const identity = { ...members.ann, expiresAt: 1 };
    const member = { identity, credential: { password: 'x' } };
    expect(() => natsConfig([member], { storeDir: '/tmp' })).toThrow(BrokerError);
  });
});
