// The store of an instance over a rollout: the database goes from one process to the next, and what is asked of the
// former one goes to the next. Both are stores in this process, on one real file, with a played link between them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { memoryBackend } from '../../src/store/memory/memory-operations.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { FormerStore } from '../../src/store/remote/former-store.ts';
import { StoreOverRollout } from '../../src/store/remote/store-over-rollout.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { builtModule } from '../support/build.ts';
import { caughtInTest, nextDatabase } from '../support/handed-store.ts';
import { ManualClock, settled } from '../support/manual-clock.ts';
import { type PlayedLink, playedLink } from '../support/played-link.ts';
import { crashImage, driver, newFolder, openHere, sqliteSubject } from '../support/sqlite-place.ts';
import { storeSuite } from '../support/store-suite/store-suite.ts';

const durable = { durability: 'durable' } as const;
const process = { durability: 'process' } as const;
async function handedOver(file: string, clock: ManualClock) {
  const link = playedLink();
  const { store: former } = openHere(file, clock);
  const handing = former.handOver(link.former);
  const next = await nextDatabase(link, file, clock);
  await handing;
  return { link, former, next };
}

storeSuite(
  'a store whose database another process has taken over',
  sqliteSubject(() => {
    let file: string | undefined;
    return {
      open: async (clock) => {
        file = file === undefined ? newFile() : crashImage(file);
        const { former, next } = await handedOver(file, clock);
        const close = async () => {
          await former.close();
          await next.close();
        };
        const store: Store = {
          records: (...given) => former.records(...given),
          log: (...given) => former.log(...given),
          queue: (...given) => former.queue(...given),
          counter: (...given) => former.counter(...given),
          health: () => former.health(),
          close,
          [Symbol.asyncDispose]: close,
        };
        return store;
      },
    };
  }),
);

function newFile(): string {
  return join(newFolder(), 'state.db');
}

describe('a store that is handed over', () => {
  it('ends what is under way, and what comes meanwhile is run by the next process, once and in its order', async () => {
    const [file, clock, link] = [newFile(), new ManualClock(), playedLink()];
    const { store: former } = openHere(file, clock);
    const log = former.log('events', durable);
    const counter = former.counter('counts', durable);
    const window = { limit: 1_000, windowMs: null };
    const before = [1, 2, 3].map((value) => log.append(value));
    const takes = [1, 1].map((amount) => counter.take('key', amount, window));
    const handing = former.handOver(link.former);
    const after = [4, 5, 6].map((value) => log.append(value));
    takes.push(counter.take('key', 1, window));
    const next = await nextDatabase(link, file, clock);
    await handing;
    expect(await Promise.all([...before, ...after])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await next.log('events', durable).append(7)).toBe(7);
    const read = await next.log('events', durable).read();
    expect(read.map(({ value }) => value)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect((await Promise.all(takes)).at(-1)).toEqual({ isTaken: true, left: 997 });
    // What either of them changes is what the other one reads.
    const [ours, theirs] = [former, next].map((store) => store.records('things', durable));
    await theirs?.put('key', 'theirs');
    expect((await ours?.get('key'))?.value).toBe('theirs');
    await ours?.put('key', Buffer.from('ours'));
    expect(Buffer.from((await theirs?.get('key'))?.value as Uint8Array).toString()).toBe('ours');
    await former.close();
    await next.close();
  });

  it('refuses what was on its way when the next process was gone, and everything later, as not kept', async () => {
    const { link, former, next } = await handedOver(newFile(), new ManualClock());
    const records = former.records('things', durable);
    await records.put('one', 1);
    link.cutsAt = (head) => (head as { readonly what: string }).what === 'applied';
    await expect(records.put('two', 2)).rejects.toMatchObject({ reason: 'not_kept' });
    await expect(records.put('three', 3)).rejects.toMatchObject({ reason: 'not_kept' });
    await expect(records.get('one')).rejects.toMatchObject({ reason: 'not_kept' });
    expect(former.health()).toMatchObject({ ok: false });
    // It was applied once, and its caller could not know.
    const there = await next.records('things', durable).entries();
    expect(there.map(({ key }) => key)).toEqual(['one', 'two']);
    await former.close();
    await next.close();
  });

  it('can be handed on by the next process, and all of them use the one that is open', async () => {
    const [file, clock] = [newFile(), new ManualClock()];
    const first = await handedOver(file, clock);
    const link = playedLink();
    const putting = first.former.records('things', durable).put('before', 1);
    const handing = first.next.handOver(link.former);
    const late = first.former.records('things', durable).put('late', 2);
    const third = await nextDatabase(link, file, clock);
    await Promise.all([handing, putting, late]);
    await first.former.records('things', durable).put('after', 3);
    const keys = async (store: Store) =>
      (await store.records('things', durable).entries()).map(({ key }) => key);
    expect(await keys(third)).toEqual(['after', 'before', 'late']);
    expect(await keys(first.former)).toEqual(['after', 'before', 'late']);
    for (const store of [first.former, first.next, third]) await store.close();
  });

  it('takes what is in memory along, with its versions and what is left of its time', async () => {
    const [file, clock, link] = [newFile(), new ManualClock(), playedLink()];
    const { store: former } = openHere(file, clock);
    const records = former.records('answers', process);
    const bytes = Buffer.from([0, 255, 10]);
    const version = await records.put('bytes', bytes, { ttlMs: 1_000 });
    await records.put('gone', 1);
    await records.remove('gone');
    await former.log('news', process).append('one');
    await former.queue('work', process).put('item');
    const claim = await former.queue('work', process).claim(500);
    await former.counter('counts', process).take('key', 3, { limit: 5, windowMs: 1_000 });
    clock.advance(400);
    const handing = former.handOver(link.former);
    const late = records.putIfAbsent('bytes', 'other');
    const next = await nextDatabase(link, file, clock);
    await handing;
    const theirs = next.records('answers', process);
    expect(await late).toMatchObject({ isPut: false });
    expect(await theirs.get('bytes')).toEqual({
      key: 'bytes',
      value: new Uint8Array(bytes),
      version,
    });
    expect(await theirs.get('gone')).toBeUndefined();
    expect(Number(await theirs.put('new', 1))).toBeGreaterThan(Number(version) + 1);
    expect(await records.compareAndSet('bytes', version, 'ours')).toMatchObject({ isPut: true });
    expect(await next.log('news', process).append('two')).toBe(2);
    await next.queue('work', process).ack(claim?.id ?? '');
    const window = { limit: 5, windowMs: 1_000 };
    expect(await next.counter('counts', process).take('key', 3, window)).toEqual({
      isTaken: false,
      left: 2,
      retryAfterMs: 600,
    });
    await former.close();
    await next.close();
  });

  it('puts into the database what a process without one has kept in memory', async () => {
    const [file, clock, link] = [newFile(), new ManualClock(), playedLink()];
    const memory = new MemoryStore({ clock, claims: 'durable' });
    const findings = { damaged: [], setAside: [], lossNote: null, isTorn: false };
    const missing = { problem: 'the disk is full', isWhole: true };
    const backend = memoryBackend({ memory, clock });
    const report = () => {};
    const former = new SqliteStore({ backend, memory, file, clock, report, findings, missing });
    await former.records('keys', durable).put('key', 'claimed', { ttlMs: 1_000 });
    expect(former.health()).toEqual({ ok: false, problem: 'the disk is full' });
    const handing = former.handOver(link.former);
    const next = await nextDatabase(link, file, clock);
    await handing;
    expect(await next.records('keys', durable).putIfAbsent('key', 'again')).toMatchObject({
      isPut: false,
      entry: { value: 'claimed' },
    });
    clock.advance(1_001);
    expect(await former.records('keys', durable).get('key')).toBeUndefined();
    await former.close();
    await next.close();
  });

  it('says of damage that the next process has found that something may be missing', async () => {
    const [file, clock, link] = [newFile(), new ManualClock(), playedLink()];
    const { store: former } = openHere(file, clock);
    const records = former.records('keys', durable);
    await records.put('key', 1);
    expect(await records.isWhole()).toBe(true);
    const handing = former.handOver(link.former);
    const asked = records.isWhole();
    await handing;
    const database = driver().open(file);
    database.exec("UPDATE records SET text = '2'");
    database.close();
    const next = await nextDatabase(link, file, clock);
    expect(await asked).toBe(false);
    expect(await next.records('keys', durable).isWhole()).toBe(false);
    await former.close();
    await next.close();
  });

  it('runs nothing before its process is the serving one: another one would be told the same again #rollout', async () => {
    const [file, clock, link] = [newFile(), new ManualClock(), playedLink()];
    const { store: former } = openHere(file, clock);
    let begin = () => {};
    const taking = new FormerStore({
      ...{ link: link.next, caught: caughtInTest },
      mayBegin: new Promise<void>((resolve) => {
        begin = resolve;
      }),
    });
    const run: unknown[] = [];
    const operate = async (operation: unknown) => {
      run.push(operation);
      return { ok: true, value: undefined } as const;
    };
    taking.serve({ operate });
    await former.handOver(link.former);
    const asked = former.counter('calls', durable).take('key', 1, { limit: 5, windowMs: 1_000 });
    await taking.released;
    for (let turn = 0; turn < 20; turn += 1) await settled();
    expect(run).toEqual([]);
    begin();
    await asked;
    expect(run).toMatchObject([{ word: 'counter', action: 'take' }]);
    await former.close();
  });

  it('ends the link at a message that is none, and nothing else', async () => {
    const strange = [
      {
        what: 'apply',
        batch: 1,
        operations: [{ word: 'records', action: 'sweep', name: 'x', now: 1 }],
      },
      {
        what: 'apply',
        batch: 1,
        operations: [{ word: 'records', action: 'get', name: 'X', now: 1, key: 'k' }],
      },
      {
        what: 'apply',
        batch: 1,
        operations: [{ word: 'records', action: 'get', name: 'x', now: 1 }],
      },
      {
        what: 'apply',
        batch: 1,
        operations: [{ word: '__proto__', action: 'get', name: 'x', now: 1 }],
      },
      {
        what: 'apply',
        batch: 1,
        operations: [
          {
            word: 'log',
            action: 'append',
            name: 'x',
            now: 1,
            maxEntries: 1,
            text: { kind: 'text', length: 5 },
          },
        ],
      },
      { what: 'apply', batch: 'one', operations: [] },
      {
        what: 'memory',
        place: { word: 'records', name: 'x', durability: 'process', last: 0 },
        values: [],
      },
      null,
      'apply',
    ];
    for (const head of strange) {
      const { link, former, next } = await handedOver(newFile(), new ManualClock());
      link.former.send('store', head as never);
      await link.next.closed;
      expect(link.next.fault).toBeInstanceOf(TypeError);
      await expect(former.records('x', durable).get('k')).rejects.toMatchObject({
        reason: 'not_kept',
      });
      expect(await next.records('x', durable).get('k')).toBeUndefined();
      await former.close();
      await next.close();
    }
  });
});

describe('the store of an instance in its thread', () => {
  const program = new URL(builtModule('store/sqlite/worker.js'));
  const report = ({ detail }: { readonly detail: string }) => {
    throw new Error(detail);
  };
  const options = { clock: systemClock, report, program };
  const taking = (link: PlayedLink) => new FormerStore({ link: link.next, caught: caughtInTest });

  it('is opened when the former process has closed it, and not before, also if it is used before', async () => {
    const [file, link] = [newFile(), playedLink()];
    const first = new StoreOverRollout();
    const former = openSqliteStore(file, options);
    first.hasDatabase(former);
    await former.records('things', durable).put('key', 'before');
    const rollout = new StoreOverRollout(taking(link));
    const next = openSqliteStore(file, { ...options, former: rollout.former });
    rollout.hasDatabase(next);
    const early = next.records('things', durable).get('key');
    await former.records('things', durable).put('key', 'last');
    await first.handOver(link.former);
    expect((await early)?.value).toBe('last');
    await former.records('things', durable).put('key', Buffer.from('late'));
    expect((await next.records('things', durable).get('key'))?.value).toEqual(
      new Uint8Array(Buffer.from('late')),
    );
    expect([former.health(), next.health()]).toEqual([{ ok: true }, { ok: true }]);
    await former.close();
    await next.close();
  });

  it('that was never opened is not opened any more', async () => {
    const [file, link] = [newFile(), playedLink()];
    const former = openSqliteStore(file, { ...options, openAfter: new Promise(() => {}) });
    const next = openSqliteStore(file, { ...options, former: taking(link) });
    const early = next.records('things', durable).get('key');
    // Until another one, which waits for nobody, is open.
    await using other = openSqliteStore(newFile(), options);
    await other.records('things', durable).get('key');
    expect(existsSync(file)).toBe(false);
    await former.handOver(link.former);
    expect(await early).toBeUndefined();
    await former.records('things', durable).put('key', 1);
    expect((await next.records('things', durable).get('key'))?.value).toBe(1);
    await former.close();
    await next.close();
  });

  it('is opened when the former process has ended without handing it over', async () => {
    const [file, link] = [newFile(), playedLink()];
    const next = openSqliteStore(file, { ...options, former: taking(link) });
    const putting = next.records('things', durable).put('key', 1);
    link.cut();
    await putting;
    expect(next.health()).toEqual({ ok: true });
    await next.close();
  });

  it('is refused by a process that has none any more, and waits for none that has none', async () => {
    const link = playedLink();
    const former = openSqliteStore(newFile(), { ...options, report: () => {} });
    await former.records('things', durable).put('key', 1);
    new StoreOverRollout(taking(link)).hasNothing();
    await former.handOver(link.former);
    const put = former.records('things', durable).put('key', 2);
    await expect(put).rejects.toMatchObject({ reason: 'not_kept' });
    await former.close();
    const other = playedLink();
    const next = openSqliteStore(newFile(), { ...options, former: taking(other) });
    await new StoreOverRollout().handOver(other.former);
    await next.records('things', durable).put('key', 1);
    await next.close();
  });
});
