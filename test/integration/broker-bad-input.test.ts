// What the command `holdfast broker` is sent that it should not be, and what it has no room for: a clear refusal
// each time, and the others go on.

import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Letter } from '../../src/broker/contract.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { members } from '../support/broker-suite/subject.ts';
import { RawBrokerLink, type RawLinkOptions } from '../support/raw-broker-link.ts';
import { until } from '../support/until.ts';

let ids = 0;
function letter(to: string, more: Partial<Letter> = {}): Letter {
  ids += 1;
  return { id: `letter-${ids}`, to, kind: 'note', body: Buffer.from('text'), ...more };
}

let broker: BrokerProcess;
beforeAll(async () => {
  broker = await BrokerProcess.start();
});
afterAll(async () => {
  // Nothing of all this was unexpected.
  const { stderr } = await broker.kill('SIGTERM');
  await broker[Symbol.asyncDispose]();
  expect(stderr).toBe('');
});

describe('a request for a link', () => {
  it.each<[string, number, (secret: string) => RawLinkOptions]>([
    ['without a credential', 401, () => ({})],
    ['with a wrong credential', 401, () => ({ secret: 'hfw_wrong' })],
    ['with a very long one', 401, () => ({ secret: 'x'.repeat(4_000) })],
    ['with headers without end', 431, () => ({ secret: 'x'.repeat(20_000) })],
    [
      'from a page of a browser',
      403,
      (secret) => ({ secret, headers: { origin: 'http://a.example' } }),
    ],
    ['from a page of this machine', 403, (secret) => ({ secret, headers: { origin: 'null' } })],
    ['for another protocol', 426, (secret) => ({ secret, subprotocol: 'mqtt' })],
    ['at another path', 404, (secret) => ({ secret, path: '../../etc/passwd' })],
    ['in order', 101, (secret) => ({ secret })],
  ])('%s is answered with %s', async (_what, status, options) => {
    const link = new RawBrokerLink(broker.url, options(broker.secretOf('ann')));
    expect(await link.status).toBe(status);
    link.socket.terminate();
  });

  it('that is an ordinary request is told what this is', async () => {
    const { status, text } = await new Promise<{ status: number; text: string }>((resolve) => {
      request(broker.url.replace('ws:', 'http:'), (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      }).end();
    });
    expect(status).toBe(426);
    expect(text).toContain('Holdfast broker');
  });

  it('that never comes is not waited for', async () => {
    const { port } = new URL(broker.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.write('GET / HTTP/1.1\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
  });
});

describe('a link', () => {
  const hello = { is: 'hello', version: 1, seat: 'raw' };
  const deliver = { is: 'deliver', n: 1, id: 'x', to: 'boss', kind: 'note' };
  it.each<[string, number, (link: RawBrokerLink) => void]>([
    ['says a letter before its hello', 4_400, (link) => link.says(deliver)],
    ['says nothing', 4_400, () => {}],
    ['says text', 4_400, (link) => link.socket.send(JSON.stringify(hello))],
    ['says an empty frame', 4_400, (link) => link.socket.send(Buffer.alloc(0))],
    ['says three bytes', 4_400, (link) => link.socket.send(Buffer.alloc(3))],
    [
      'says a header that is longer than its frame',
      4_400,
      (link) => link.socket.send(Buffer.alloc(8, 1)),
    ],
    ['says a header that is no JSON', 4_400, (link) => link.says('{')],
    ['says a header that is no object', 4_400, (link) => link.says('null')],
    ['says another version', 4_405, (link) => link.says({ ...hello, version: 2 })],
    ['says a seat with a path', 4_400, (link) => link.says({ ...hello, seat: '../x' })],
    ['says a large header', 4_400, (link) => link.says({ ...hello, more: 'x'.repeat(70_000) })],
    ['says a frame that is too large', 1_009, (link) => link.says(hello, Buffer.alloc(2_000_000))],
    [
      'says an unknown kind of frame',
      4_400,
      (link) => {
        link.hello();
        link.says({ is: 'purge', n: 1, to: 'boss' });
      },
    ],
    [
      'says __proto__',
      4_400,
      (link) => {
        link.hello();
        link.says('{"__proto__":{"is":"present"},"n":1}');
      },
    ],
    [
      'says a mailbox with a path',
      4_400,
      (link) => {
        link.hello();
        link.says({ ...deliver, to: '../boss' });
      },
    ],
    [
      'says a time that is none',
      4_400,
      (link) => {
        link.hello();
        link.says({ ...deliver, ttl: -1 });
      },
    ],
  ])('that %s is ended with %s', async (_what, code, speak) => {
    const link = new RawBrokerLink(broker.url, { secret: broker.secretOf('ann') });
    expect(await link.status).toBe(101);
    speak(link);
    expect(await link.closed).toBe(code);
  });

  it('cannot acknowledge or put aside what others have', async () => {
    const boss = await broker.link('boss');
    const bob = await ReadMail.of(await broker.link('bob'), 'private');
    await boss.deliver(letter(members.bob.mailbox, { kind: 'private' }));
    await bob.next();
    const link = new RawBrokerLink(broker.url, { secret: broker.secretOf('ann') });
    await link.status;
    link.hello();
    await link.heard();
    const mails = Array.from({ length: 4_096 }, (_, at) => at);
    link.says({ is: 'ack', mails });
    for (const mail of mails.slice(0, 100)) link.says({ is: 'aside', mail, why: 'mine' });
    link.says({ is: 'present', n: 7 });
    expect(await link.heard()).toEqual({ is: 'present', n: 7 });
    link.socket.terminate();
    const again = await ReadMail.of(await broker.link('bob', 'second'), 'private');
    // The first link still has it: when it ends, the letter comes again.
    for (const mail of bob.all) expect(mail.isKept).toBe(true);
    await boss.deliver(
      letter(members.bob.mailbox, { kind: 'private', seat: 'second', id: 'mark' }),
    );
    await until(() => again.all.some(({ id }) => id === 'mark'), 'the mark has come');
    expect(again.all).toHaveLength(1);
  });
});

describe('a mailbox', () => {
  it('that is full refuses more of that sender, and takes it when there is room again', async () => {
    await using own = await BrokerProcess.start();
    const ann = await own.link('ann');
    const body = Buffer.alloc(1_000_000, 'x');
    let taken = 0;
    const fill = async () => {
      for (;;) {
        await ann.deliver(letter('boss', { body }));
        taken += 1;
      }
    };
    await expect(fill()).rejects.toMatchObject({ reason: 'full' });
    expect(taken).toBe(16);
    // The others have their own share.
    await (await own.link('bob')).deliver(letter('boss', { body }));
    const mail = await ReadMail.of(await own.link('boss'), 'note');
    (await mail.next()).ack();
    await until(
      () =>
        ann.deliver(letter('boss', { body })).then(
          () => true,
          () => false,
        ),
      'there is room',
    );
  });

  it('has so many kinds of mail, and those that it reads', async () => {
    await using own = await BrokerProcess.start();
    const ann = await own.link('ann');
    for (let kind = 0; kind < 16; kind += 1)
      await ann.deliver(letter('boss', { kind: `k${kind}` }));
    const more = ann.deliver(letter('boss', { kind: 'one-more' }));
    await expect(more).rejects.toMatchObject({ reason: 'full' });
    const mail = await ReadMail.of(await own.link('boss'), 'call');
    await ann.deliver(letter('boss', { kind: 'call' }));
    expect((await mail.next()).kind).toBe('call');
  });

  it('whose reader does not read slows only that reader #no-growth', async () => {
    const boss = await broker.link('boss');
    const stuck = new RawBrokerLink(broker.url, { secret: broker.secretOf('ann') });
    await stuck.status;
    stuck.hello('stuck');
    await stuck.heard();
    stuck.says({ is: 'receive', n: 1, kind: 'bulk' });
    await stuck.heard();
    stuck.socket.pause();
    const bob = await ReadMail.of(await broker.link('bob'), 'bulk');
    const refusals: string[] = [];
    const body = Buffer.alloc(1_000_000, 'x');
    const toStuck = () =>
      boss.tell(letter(members.ann.mailbox, { kind: 'bulk', body }), (why) =>
        refusals.push(why.reason),
      );
    let told = 0;
    while (refusals.length === 0 && told < 200) {
      toStuck();
      told += 1;
      // It has heard of the letters before when it answers.
      await boss.present();
    }
    expect(refusals).toEqual(['full']);
    // Eight mebibytes, and what the system has taken from us.
    expect(told).toBeLessThan(40);
    boss.tell(letter(members.bob.mailbox, { kind: 'bulk' }));
    expect((await bob.next()).body.toString()).toBe('text');
    stuck.socket.terminate();
  });
});

describe('links of one credential that say no hello', () => {
  it('leave places for the others #principal-share', async () => {
    await using own = await BrokerProcess.start();
    const opened = Array.from(
      { length: 1_200 },
      () => new RawBrokerLink(own.url, { secret: own.secretOf('ann') }),
    );
    const statuses = await Promise.all(opened.map((link) => link.status));
    // On a slow machine the first have been ended, because they said nothing, before the last come.
    expect(new Set(statuses)).toContain(503);
    await own.link('bob');
    for (const link of opened) link.socket.terminate();
  });
});

describe('a broker that has no descriptors left', () => {
  it('goes on with its links, and accepts connections again later #one-bad-neighbour', async () => {
    await using own = await BrokerProcess.prepared();
    await own.launch([], ['sh', '-c', 'ulimit -n 128; exec "$@"', 'sh']);
    const boss = await own.link('boss');
    const sockets = Array.from({ length: 200 }, () => {
      const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
      return socket.on('error', () => {}).resume();
    });
    // Strangers are gone after five seconds; those that were not accepted at once.
    await Promise.all(sockets.map((socket) => new Promise((gone) => socket.once('close', gone))));
    await (await own.link('ann')).deliver(letter('boss'));
    expect(await boss.present()).toEqual([members.ann.mailbox]);
    expect((await own.kill('SIGTERM')).code).toBe(0);
  });
});

describe('five thousand connections', () => {
  it('at once: as many as there is room for are links, the others are told so, and later there is room again #no-growth', async () => {
    await using own = await BrokerProcess.start();
    const boss = await own.link('boss');
    const secrets = await Promise.all(
      [0, 1, 2, 3, 4].map((at) => own.admit(`w${at}`, { ...members.ann, mailbox: `w${at}.mcp` })),
    );
    await until(async () => {
      const link = await own.linkBy(secrets.at(-1) ?? '').catch(() => undefined);
      await link?.close();
      return link !== undefined;
    }, 'the last credential is known');
    const links: RawBrokerLink[] = [];
    const statuses: number[] = [];
    for (let batch = 0; batch < 50; batch += 1) {
      const opened = Array.from({ length: 100 }, (_, at) => {
        const number = batch * 100 + at;
        const link = new RawBrokerLink(own.url, { secret: secrets[number % 5] });
        void link.status.then((status) => status === 101 && link.hello(`s${number}`));
        return link;
      });
      links.push(...opened);
      statuses.push(...(await Promise.all(opened.map((link) => link.status))));
    }
    const count = (status: number) => statuses.filter((one) => one === status).length;
    // Each has three times as many as are left: five of 720, and 239 of the 3,839 that are not for orchestrators.
    expect([count(101), count(503)]).toEqual([3_600, 1_400]);
    await own.link('other');
    await until(async () => (await boss.present()).length === 5, 'all five are there');
    for (const link of links) link.socket.terminate();
    await until(async () => (await boss.present()).length === 0, 'all have left');
    await (await own.link('ann')).deliver(letter('boss'));
  });
});
