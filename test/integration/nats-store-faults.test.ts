// The NATS store when its server is killed, away, silent, of the wrong kind, or has lost what it was given.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { RecordChange } from '../../src/store/contract/records.ts';
import { openFilesStore } from '../../src/store/file-store.ts';
import { tokenOf } from '../../src/store/nats/stream-names.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { NatsServer } from '../support/nats-server.ts';
import { isWell, newNamespace, openNats, startPlainNats } from '../support/nats-store-place.ts';
import { refusal } from '../support/store-suite/subject.ts';
import { until } from '../support/until.ts';

const durable = { durability: 'durable' } as const;
const soon = { firstMs: 20, longestMs: 100, refusedMs: 200, steadyMs: 0 };

/** The server as its operator sees it. */
async function operator(
  url: string,
): Promise<AsyncDisposable & { call: Call; nats: NatsConnection }> {
  const nats = await connect({ servers: url.replace('nats://', '') });
  const call: Call = async (verb, body = {}) =>
    (await nats.request(`$JS.API.${verb}`, JSON.stringify(body))).json();
  return { nats, call, [Symbol.asyncDispose]: () => nats.close() };
}
type Call = (verb: string, body?: object) => Promise<Record<string, unknown>>;

describe('a NATS server that is killed', () => {
  it('has everything that it had acknowledged, and nothing that was replaced or removed #store-nats #durable', async () => {
    await using server = await startPlainNats();
    const address = `${server.url}/${newNamespace()}`;
    await using opened = openNats(address, { policy: soon }).store;
    const records = opened.records('things', durable);
    const big = 'x'.repeat(200_000);
    await records.put('removed', 'old');
    await records.put('replaced', 'old', {});
    await records.put('short', 'old');
    // The first blocks of the server's file are full, and not written again.
    for (let number = 0; number < 60; number += 1) await records.put(`big-${number}`, big);
    await records.remove('removed');
    await records.put('replaced', 'new');
    const acknowledged = new Map<string, number>();
    const puts = Array.from({ length: 40 }, async (_, writer) => {
      for (let number = 0; ; number += 1) {
        await records.put(`key-${writer}`, number);
        acknowledged.set(`key-${writer}`, number);
      }
    });
    const ended = Promise.allSettled(puts);
    await until(() => acknowledged.size === 40, 'every writer has written');
    await server.kill();
    for (const { reason } of (await ended) as readonly PromiseRejectedResult[]) {
      expect(reason).toMatchObject(refusal('not_kept'));
    }
    await server.startAgain();
    await isWell(opened);
    for (const [key, number] of acknowledged) {
      const value = Number((await records.get(key))?.value);
      // The one that was under way may have been kept.
      expect([number, number + 1]).toContain(value);
    }
    expect(await records.get('removed')).toBeUndefined();
    expect((await records.get('replaced'))?.value).toBe('new');
    expect(await records.isWhole()).toBe(true);
  });
});

describe('a record on a NATS server that somebody has overwritten', () => {
  it('counts as absent, and is reported once #store-nats #durable', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    const address = `${server.url}/${namespace}`;
    const { store, problems } = openNats(address);
    await using opened = store;
    const shape = (value: unknown) => typeof value === 'string';
    const records = opened.records('things', { ...durable, shape });
    const forgetful = { durability: 'forgetful', shared: true, shape } as const;
    const others = opened.records('others', forgetful);
    for (const key of ['good', 'garbage', 'number']) await records.put(key, 'x');
    await records.put('number', 7);
    await others.put('number', 7);
    await using nats = await operator(server.url);
    const garbage = Buffer.from('garbage');
    const subject = async () => {
      const info = await nats.call(`STREAM.INFO.hf_${namespace}_r_things`, {
        subjects_filter: '>',
      });
      const { subjects } = info['state'] as { readonly subjects: object };
      const token = tokenOf('garbage');
      return Object.keys(subjects).find((one) => one.endsWith(`.${token}`)) ?? '';
    };
    nats.nats.publish(await subject(), garbage);
    await nats.nats.flush();
    for (let time = 0; time < 3; time += 1) {
      expect((await records.entries()).map(({ key }) => key)).toEqual(['good']);
      expect(await others.entries()).toEqual([]);
    }
    expect(problems.map(({ kind, detail }) => [kind, detail])).toEqual([
      ['damaged', expect.stringMatching(/^2 records of "things" at nats:.* count as absent/)],
    ]);
  });
});

describe('a count on a NATS server that somebody has overwritten', () => {
  it('is reported once, however often it is asked for #store-nats', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    const { store, problems } = openNats(`${server.url}/${namespace}`);
    await using _store = store;
    await using nats = await operator(server.url);
    const window = { limit: 5, windowMs: null };
    const counter = store.counter('takes', durable);
    const shape = (value: unknown) => typeof value === 'number';
    const counts = store.records('spent', { ...durable, shape });
    await counter.take('key', 3, window);
    await counts.put('key', 3);
    for (const stream of [`hf_${namespace}_n_takes`, `hf_${namespace}_r_spent`]) {
      const { message } = (await nats.call(`STREAM.MSG.GET.${stream}`, { seq: 1 })) as {
        readonly message: { readonly subject: string };
      };
      nats.nats.publish(message.subject, Buffer.from('"key"\n"garbage"'));
    }
    await nats.nats.flush();
    for (let time = 0; time < 3; time += 1) {
      expect(await counter.take('key', 0, window)).toEqual({ isTaken: true, left: 5 });
      await expect(counts.get('key')).rejects.toMatchObject(refusal('unreadable'));
      const changed = counts.putIfAbsent('key', 1);
      await expect(changed).rejects.toMatchObject(refusal('unreadable'));
    }
    expect(problems.map(({ kind, detail }) => [kind, detail])).toEqual([
      ['damaged', expect.stringMatching(/^a value of "takes" at nats:.* is damaged/)],
      ['damaged', expect.stringMatching(/^a value of "spent" at nats:.* is damaged/)],
    ]);
  });
});

describe('what is absent in a NATS store', () => {
  it('is erased after a while, and never comes back #store-nats #no-growth', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    const address = `${server.url}/${namespace}`;
    const clock = new ManualClock();
    // By the shared time everything was put eleven minutes ago.
    const later = () => systemClock.wallNow() + 660_000;
    await using store = openNats(address, { clock, sharedTime: later }).store;
    const records = store.records('things', durable);
    const big = 'x'.repeat(200_000);
    for (const key of ['removed', 'over', 'kept']) await records.put(key, 'old');
    for (let number = 0; number < 60; number += 1) await records.put(`big-${number}`, big);
    await records.remove('removed');
    await records.put('over', 'new', { ttlMs: 1 });
    await records.put('kept', 'new');
    await using nats = await operator(server.url);
    const messages = async () => {
      const { state } = (await nats.call(`STREAM.INFO.hf_${namespace}_r_things`)) as {
        readonly state: { readonly messages: number };
      };
      return state.messages;
    };
    await until(async () => (await messages()) === 63, 'what was replaced is erased');
    await until(async () => {
      clock.advance(600_000);
      return (await messages()) === 61;
    }, 'what is absent is swept');
    await server.restart();
    await using next = openNats(address).store;
    const found = (await next.records('things', durable).entries()).map(({ key }) => key);
    expect(found.filter((key) => !key.startsWith('big-'))).toEqual(['kept']);
    expect((await next.records('things', durable).get('kept'))?.value).toBe('new');
  });
});

describe('a store whose NATS server is not there', () => {
  it('rejects at once, says so in one line, and comes back by itself #store-nats', async () => {
    await using server = await startPlainNats();
    const address = `${server.url}/${newNamespace()}`;
    await server.kill();
    const { store, problems } = openNats(address, { policy: soon });
    await using _ = store;
    const records = store.records('things', durable);
    await expect(records.put('key', 1)).rejects.toMatchObject(refusal('not_kept'));
    await expect(records.get('key')).rejects.toMatchObject(refusal('unreadable'));
    expect(store.health()).toMatchObject({ ok: false });
    await until(() => problems.length > 0, 'it is reported');
    await server.startAgain();
    await isWell(store);
    await records.put('key', 1);
    await server.kill();
    await until(() => !store.health().ok, 'the loss is noticed');
    await expect(records.put('key', 2)).rejects.toMatchObject(refusal('not_kept'));
    await server.startAgain();
    await isWell(store);
    expect((await records.get('key'))?.value).toBe(1);
    expect(problems.map(({ kind }) => kind)).toEqual([
      'refused',
      'recovered',
      'refused',
      'recovered',
    ]);
  });

  it('does not let a change hang when the server falls silent #store-nats', async () => {
    await using server = await startPlainNats();
    await using store = openNats(`${server.url}/${newNamespace()}`, { policy: soon }).store;
    const records = store.records('things', durable);
    await records.put('key', 1);
    server.freeze();
    // It may answer once more before it has stopped.
    let refused: unknown;
    await until(async () => {
      refused = await records.put('key', 2).catch((error: unknown) => error);
      return refused instanceof Error;
    }, 'a change is refused');
    expect(refused).toMatchObject(refusal('not_kept'));
    await expect(records.get('key')).rejects.toMatchObject(refusal('unreadable'));
    await expect(records.entries()).rejects.toMatchObject(refusal('unreadable'));
    server.thaw();
    await until(async () => {
      const entry = await records.get('key').catch(() => undefined);
      return entry !== undefined;
    }, 'it answers again');
  });

  it.each([
    ['without JetStream', async () => await plainServer(''), 'JetStream is not enabled'],
    [
      'that wants another password',
      async () => await plainServer('authorization { user: ann, password: right }', true),
      'does not accept this credential',
    ],
  ])('is told apart from one %s, which is not hammered #store-nats', async (_, start, words) => {
    await using server = await start();
    const url = server.url.replace('nats://', 'nats://ann:wrong-secret@');
    const { store, problems } = openNats(url, { policy: { ...soon, refusedMs: 1e9 } });
    await using _store = store;
    const records = store.records('things', durable);
    await expect(records.put('key', 1)).rejects.toMatchObject(refusal('not_kept'));
    const health = store.health();
    expect(health).toMatchObject({ ok: false, problem: expect.stringContaining(words) });
    expect(problems.map(({ detail }) => detail)).toEqual([expect.stringContaining(words)]);
    expect(JSON.stringify([health, problems])).not.toContain('wrong-secret');
  });

  it('says so where a web server answers #store-nats', async () => {
    const web = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => void web.listen(0, '127.0.0.1', resolve));
    const { port } = web.address() as { readonly port: number };
    const { store, problems } = openNats(`nats://127.0.0.1:${port}`);
    await using _store = store;
    await until(() => problems.length > 0, 'it is reported');
    expect(problems[0]?.detail).toContain('is no NATS server; check the address');
    web.close();
  });
});

async function plainServer(line: string, hasJetStream = false) {
  return hasJetStream ? await startPlainNats(line) : await NatsServer.start([], () => line);
}

describe('watchers of a NATS store', () => {
  it('are told of changes by another process, and to look again after a reconnection #store-watch', async () => {
    await using server = await startPlainNats();
    const address = `${server.url}/${newNamespace()}`;
    await using one = openNats(address, { policy: soon }).store;
    await using other = openNats(address, { policy: soon }).store;
    const told: RecordChange[] = [];
    using _watch = one.records('things', durable).watch?.('', (change) => told.push(change));
    await until(() => told.length > 0, 'the watcher is ready');
    await other.records('things', durable).put('key', 1);
    await until(() => told.length > 1, 'the change is told');
    expect(told).toEqual([{ kind: 'gap' }, { kind: 'changed', key: 'key' }]);
    await server.restart();
    await until(() => told.length > 2, 'the gap is told');
    expect(told[2]).toEqual({ kind: 'gap' });
    await isWell(other);
    await other.records('things', durable).remove('key');
    await until(() => told.length > 3, 'the removal is told');
    expect(told[3]).toEqual({ kind: 'changed', key: 'key' });
  });
});

describe('several processes on one NATS store', () => {
  it('share time, also where a clock is two hours wrong #store-nats', async () => {
    await using server = await startPlainNats();
    const address = `${server.url}/${newNamespace()}`;
    await using right = openNats(address).store;
    const clock = new ManualClock(7_200_000);
    await using wrong = openNats(address, { clock }).store;
    const [ours, theirs] = [right.records('things', durable), wrong.records('things', durable)];
    await ours.put('short', 1, { ttlMs: 300_000 });
    expect((await theirs.get('short'))?.value).toBe(1);
    clock.advance(290_000);
    expect((await theirs.get('short'))?.value).toBe(1);
    clock.advance(20_000);
    expect(await theirs.get('short')).toBeUndefined();
    expect((await ours.get('short'))?.value).toBe(1);
  });

  it('agree on one winner, one holder and one limit #store-nats', async () => {
    await using server = await startPlainNats();
    const address = `${server.url}/${newNamespace()}`;
    await using one = openNats(address).store;
    await using other = openNats(address).store;
    const both = [one, other];
    const puts = both.flatMap((store) =>
      Array.from({ length: 10 }, (_, number) =>
        store.records('things', durable).putIfAbsent(`key-${number}`, number),
      ),
    );
    expect((await Promise.all(puts)).filter(({ isPut }) => isPut)).toHaveLength(10);
    const window = { limit: 25, windowMs: 3_600_000 };
    const takes = both.flatMap((store) =>
      Array.from({ length: 20 }, () => store.counter('taken', durable).take('key', 1, window)),
    );
    expect((await Promise.all(takes)).filter(({ isTaken }) => isTaken)).toHaveLength(25);
    const queues = both.map((store) => store.queue('work', durable));
    for (let number = 0; number < 10; number += 1) await queues[0]?.put(number);
    const claims = queues.flatMap((queue) =>
      Array.from({ length: 10 }, async () => await queue.claim(60_000)),
    );
    const got = (await Promise.all(claims)).flatMap((claim) => (claim ? [claim.value] : []));
    expect(got.map(Number).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('share forgetful records where that is asked for, and no others #store-nats', async () => {
    await using server = await startPlainNats();
    const address = `${server.url}/${newNamespace()}`;
    await using one = openNats(address).store;
    await using other = openNats(address).store;
    const shared = { durability: 'forgetful', shared: true, maxEntries: 3 } as const;
    for (const key of ['a', 'b', 'c', 'd']) await one.records('cached', shared).put(key, key);
    const entries = await other.records('cached', shared).entries();
    expect(entries.map(({ key }) => key)).toEqual(['b', 'c', 'd']);
    const own = { durability: 'forgetful' } as const;
    await one.records('own', own).put('key', 1);
    expect(await other.records('own', own).get('key')).toBeUndefined();
  });
});

describe('values that are larger than a message', () => {
  const value = { text: 'é"'.repeat(4_000_000) };

  it('are kept in parts, which go with them #store-nats', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    const address = `${server.url}/${namespace}`;
    await using store = openNats(address).store;
    const records = store.records('things', durable);
    const version = await records.put('key', value);
    expect((await records.get('key'))?.value).toEqual(value);
    expect((await records.compareAndSet('key', version, { text: 'x'.repeat(2e6) })).isPut).toBe(
      true,
    );
    expect((await records.entries())[0]?.value).toEqual({ text: 'x'.repeat(2e6) });
    await using nats = await operator(server.url);
    const stream = `hf_${namespace}_p_r-things`;
    const left = async () => {
      const { state } = (await nats.call(`STREAM.INFO.${stream}`)) as {
        readonly state: { readonly messages: number };
      };
      return state.messages;
    };
    await until(async () => (await left()) === 8, 'the parts of the first value are gone');
    await records.remove('key');
    await until(async () => (await left()) === 0, 'all parts are gone');
  });

  it('are unreadable when a part is missing, and do not end the list #store-nats', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    await using store = openNats(`${server.url}/${namespace}`).store;
    const records = store.records('things', durable);
    await records.put('large', value);
    await records.put('small', 1);
    await using nats = await operator(server.url);
    await nats.call(`STREAM.MSG.DELETE.hf_${namespace}_p_r-things`, { seq: 3 });
    await expect(records.get('large')).rejects.toMatchObject(refusal('unreadable'));
    expect((await records.entries()).map(({ key }) => key)).toEqual(['small']);
  });
});

/** A server removes the files after its answer; a stream that is made before that is broken. */
async function deleteStream({ url, folder }: NatsServer, stream: string): Promise<void> {
  await using nats = await operator(url);
  await nats.call(`STREAM.DELETE.${stream}`);
  const files = join(folder, 'store/jetstream/$G/streams', stream);
  await until(() => !existsSync(files), 'the files are removed');
}

describe('a server that tells nobody of changes', () => {
  it('does not lose its connection for that, and is said to be so once #store-nats', async () => {
    await using server = await startPlainNats(
      'authorization { users: [ { user: a, password: b, permissions: { publish: {',
      '  deny: ["$JS.API.CONSUMER.CREATE.>"] } } } ] }',
    );
    const address = `${server.url.replace('nats://', 'nats://a:b@')}/${newNamespace()}`;
    const clock = new ManualClock();
    const { store, problems } = openNats(address, { clock, sharedTime: () => clock.wallNow() });
    await using _store = store;
    const records = store.records('things', durable);
    await records.put('key', 'old');
    using _watch = records.watch?.('', () => {});
    const told = () => problems.filter(({ detail }) => detail.includes('changes of')).length;
    await until(() => told() === 1, 'it is said');
    for (let round = 0; round < 5; round += 1) {
      clock.advance(60_000);
      await records.put('key', round);
    }
    expect([told(), problems.length, store.health()]).toEqual([1, 1, { ok: true }]);
  });
});

describe('a stream that was deleted', () => {
  it('is made anew, and the store does not pretend to be whole #store-nats', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    const { store, problems } = openNats(`${server.url}/${namespace}`);
    await using _store = store;
    const records = store.records('things', durable);
    const version = await records.put('key', 'old');
    await deleteStream(server, `hf_${namespace}_r_things`);
    expect(await records.get('key')).toBeUndefined();
    expect(await records.isWhole()).toBe(false);
    expect(store.health()).toMatchObject({ ok: false, isReached: true });
    expect(problems.map(({ kind }) => kind)).toEqual(['damaged']);
    // The same number in another stream is another version.
    const again = await records.put('key', 'new');
    expect(again.split('.')[1]).toBe(version.split('.')[1]);
    expect((await records.compareAndSet('key', version, 'late')).isPut).toBe(false);
  });

  it('while nothing ran is noticed by what this machine remembers #store-nats', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-memory-'));
    await using files = openFilesStore(folder, { clock: systemClock, report: () => {} });
    const memory = { records: files.records('nats-streams', durable), folder };
    const before = openNats(`${server.url}/${namespace}`, { memory });
    await before.store.records('things', durable).put('key', 'old');
    await before.store.close();
    await deleteStream(server, `hf_${namespace}_r_things`);
    for (const isWhole of [false, false, true]) {
      if (isWhole) await memory.records.remove(`${server.url}/hf-${namespace}-r-things`);
      const { store, problems } = openNats(`${server.url}/${namespace}`, { memory });
      await using _store = store;
      expect(await store.records('things', durable).isWhole()).toBe(isWhole);
      const told = problems.map(({ detail }) => detail);
      expect(told).toEqual(isWhole ? [] : [expect.stringContaining(`remove ${folder}`)]);
    }
    await files.close();
    rmSync(folder, { recursive: true });
  });

  it('and made anew by another process is noticed by a read and by a write #store-nats', async () => {
    await using server = await startPlainNats();
    const namespace = newNamespace();
    for (const notices of ['read', 'write']) {
      await using one = openNats(`${server.url}/${namespace}`).store;
      await using other = openNats(`${server.url}/${namespace}`).store;
      await one.records('things', durable).put('key', 'old');
      await deleteStream(server, `hf_${namespace}_r_things`);
      // 2.10 may refuse a stream whose name was free just now.
      await until(async () => {
        const put = other.records('things', durable).put('key', 'new');
        return (await put.catch(() => undefined)) !== undefined;
      }, 'the other process has made it anew');
      const records = one.records('things', durable);
      if (notices === 'read') expect((await records.get('key'))?.value).toBe('new');
      else expect((await records.putIfAbsent('key', 'newer')).isPut).toBe(false);
      expect(await records.isWhole()).toBe(false);
    }
  });
});
