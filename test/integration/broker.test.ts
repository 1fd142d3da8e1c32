// The command `holdfast broker` with its real database passes the suite of brokers, with kill -9 as a restart; how
// it begins and ends, and what it does with credentials that change while it runs.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Link } from '../../src/broker/contract.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { brokerSuite } from '../support/broker-suite/broker-suite.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { members } from '../support/broker-suite/subject.ts';
import { until } from '../support/until.ts';

brokerSuite({ name: 'the command holdfast broker', start: () => BrokerProcess.start() });

const letter = (id: string, to = 'boss') => ({ id, to, kind: 'note', body: Buffer.from(id) });

describe('a credential of a running broker', () => {
  it('that is revoked ends the links that use it, and no others #revoked', async () => {
    await using broker = await BrokerProcess.start();
    const ann = await broker.link('ann');
    const bob = await broker.link('bob');
    await broker.revoke(members.ann.mailbox);
    const why = await ann.ended;
    expect([why.reason, why.isPermanent]).toEqual(['unauthorized', true]);
    await expect(broker.link('ann')).rejects.toMatchObject({ reason: 'unauthorized' });
    expect(await bob.present()).toEqual([]);
  });

  it('whose time is over ends its links, and opens none #revoked', async () => {
    await using broker = await BrokerProcess.start();
    const soon = { ...members.ann, expiresAt: Date.now() + 1_500 };
    const secret = await broker.admit('ann', soon);
    const open = async () => {
      try {
        return await broker.linkBy(secret);
      } catch {
        return undefined;
      }
    };
    const opened: Link[] = [];
    await until(async () => {
      const link = await open();
      if (link !== undefined) opened.push(link);
      return link !== undefined;
    }, 'it is let in');
    expect((await opened[0]?.ended)?.reason).toBe('unauthorized');
    await expect(broker.linkBy(secret)).rejects.toMatchObject({ reason: 'unauthorized' });
  });

  it('of an orchestrator that is replaced ends its links; the new one gets the mail that waited', async () => {
    await using broker = await BrokerProcess.start();
    const ann = await broker.link('ann');
    await ann.deliver(letter('early', 'boss'));
    const boss = await broker.link('boss');
    const secret = await broker.admit('new boss', members.boss);
    expect((await boss.ended).reason).toBe('unauthorized');
    const mail = await ReadMail.of(await broker.linkBy(secret), 'note');
    expect(await mail.texts(1)).toEqual(['early']);
  });

  it('that is added while it runs is let in', async () => {
    await using broker = await BrokerProcess.start();
    const about = { ...members.ann, mailbox: 'eve.mcp' };
    const secret = await broker.admit('eve', about);
    await until(async () => {
      const link = await broker.linkBy(secret).catch(() => undefined);
      await link?.close();
      return link !== undefined;
    }, 'it is let in');
  });
});

describe('the end of a broker', () => {
  it('by SIGTERM comes when what it has taken is on the disk: nothing that was confirmed is lost, and nothing else is #broker-durable', async () => {
    await using broker = await BrokerProcess.start();
    const ann = await broker.link('ann');
    const sent = Array.from({ length: 200 }, (_, at) => `letter-${at}`);
    const outcomes = sent.map((id) =>
      ann.deliver(letter(id)).then(
        () => id,
        () => undefined,
      ),
    );
    const ended = await broker.kill('SIGTERM');
    expect([ended.code, ended.signal, ended.stderr]).toEqual([0, null, '']);
    expect((await ann.ended).reason).toBe('lost');
    const confirmed = (await Promise.all(outcomes)).filter((id) => id !== undefined);
    await broker.launch();
    const mail = await ReadMail.of(await broker.link('boss'), 'note');
    // One more marks the end.
    await (await broker.link('ann')).deliver(letter('last'));
    await until(() => mail.all.some(({ id }) => id === 'last'), 'all have come');
    const came = mail.all.map(({ id }) => id);
    expect(came.slice(0, -1).filter((id) => !confirmed.includes(id))).toEqual([]);
    expect(confirmed.filter((id) => !came.includes(id))).toEqual([]);
  });
});

describe('a broker that starts', () => {
  it('without the database that it had before says so, once #broker-durable', async () => {
    await using broker = await BrokerProcess.start();
    const stderrOf = async () => (await broker.kill('SIGTERM')).stderr;
    expect(await stderrOf()).toBe('');
    const files = readdirSync(broker.dir).filter((name) => name.startsWith('broker.db'));
    for (const name of files) rmSync(join(broker.dir, name));
    await broker.launch();
    const stderr = await stderrOf();
    expect(stderr).toContain('broker.db is not there, although this broker had it before');
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    await broker.launch();
    expect(await stderrOf()).toBe('');
  });
});

describe('a broker that cannot start', () => {
  it('says so in one line: the directory is used by another, the port is taken, TLS is missing or unreadable #command-line', async () => {
    await using broker = await BrokerProcess.start();
    const elsewhere = join(broker.dir, '..', 'elsewhere');
    const file = join(broker.dir, '..', 'file');
    writeFileSync(file, 'no certificate', { mode: 0o600 });
    const own = new URL(broker.url).host;
    for (const [words, code, told] of [
      [['--dir', broker.dir], 3, `is in use by another broker (process ${broker.pid})`],
      [['--dir', elsewhere, '--listen', own], 3, 'is in use by another program'],
      [['--dir', elsewhere, '--listen', '0.0.0.0:0'], 2, 'set --tls-cert FILE and --tls-key FILE'],
      [['--dir', elsewhere, '--listen', '[::]:0'], 2, 'without TLS'],
      [['--dir', elsewhere, '--listen', '4200'], 2, 'it is not HOST:PORT'],
      [['--dir', elsewhere, '--tls-cert', file], 2, 'set --tls-key FILE'],
      [['--dir', elsewhere, '--tls-key', file], 2, 'set --tls-cert FILE'],
      [['--dir', elsewhere, '--tls-cert', '/none', '--tls-key', file], 2, 'does not exist'],
      [['--dir', elsewhere, '--tls-cert', file, '--tls-key', file], 2, 'is no certificate in PEM'],
      [['--dir', file], 2, 'is not a directory'],
      [['--dir', '/proc/none'], 3, 'name another one with --dir DIR'],
      [['--dir', ''], 2, '--dir is empty'],
      [[], 2, 'name it with --dir DIR, or a config with --config FILE'],
    ] as const) {
      const ended = await broker.run(words);
      expect(ended.stderr).toContain(told);
      expect([ended.code, ended.stdout]).toEqual([code, '']);
      expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
    }
    // The one that runs has not noticed.
    await (await broker.link('ann')).deliver(letter('still'));
  });

  it('because its database cannot be used keeps nothing in memory instead #broker-durable', async () => {
    await using broker = await BrokerProcess.start();
    await broker.kill('SIGTERM');
    const database = join(broker.dir, 'broker.db');
    rmSync(database);
    mkdirSync(database);
    const { code, stderr, stdout } = await broker.run(['--dir', broker.dir]);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('the broker cannot start, because');
    expect(stderr).toContain(`${database} cannot be used`);
  });
});

describe('a broker with TLS', () => {
  it('listens on every address; who does not trust its certificate gets no link, for good', async () => {
    await using broker = await BrokerProcess.prepared();
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => join(broker.dir, name));
    execFileSync(
      'openssl',
      // biome-ignore format: one option with its value each
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
        '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-out', cert ?? '', '-keyout', key ?? ''],
      { stdio: 'ignore' },
    );
    await broker.launch([
      '--listen',
      '0.0.0.0:0',
      '--tls-cert',
      cert ?? '',
      '--tls-key',
      key ?? '',
    ]);
    expect(broker.url).toMatch(/^wss:\/\/127\.0\.0\.1:\d+\/$/);
    const ca = readFileSync(cert ?? '');
    const ann = await broker.linkBy(broker.secretOf('ann'), 'seat', { ca });
    await ann.deliver(letter('sealed'));
    const error = await broker.link('ann').catch((why: unknown) => why);
    expect(error).toMatchObject({ reason: 'unsupported', isPermanent: true });
    const plain = { url: broker.url.replace('wss:', 'ws:') };
    await expect(broker.linkBy(broker.secretOf('ann'), 'seat', plain)).rejects.toThrow(
      'begins with wss://',
    );
  });
});
