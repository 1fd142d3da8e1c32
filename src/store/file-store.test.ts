import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FakeDisk, onFakeDisk } from '../../test/support/fake-disk.ts';
import { ManualClock, settled } from '../../test/support/manual-clock.ts';
import { storeSuite } from '../../test/support/store-suite/store-suite.ts';
import { FileStore } from './file-store.ts';
import type { StoreProblem } from './problem.ts';

const forgetful = { durability: 'forgetful' } as const;
const durable = { durability: 'durable' } as const;

function setUp(maxUnsavedBytes?: number) {
  const disk = new FakeDisk();
  const clock = new ManualClock();
  const problems: StoreProblem[] = [];
  const report = (problem: StoreProblem) => void problems.push(problem);
  const limit = maxUnsavedBytes === undefined ? {} : { maxUnsavedBytes };
  const open = () => new FileStore({ disk, clock, report, ...limit });
  const store = open();
  return { disk, clock, problems, open, store, verdicts: store.records('verdicts', forgetful) };
}
const kindsOf = (problems: readonly StoreProblem[]) => problems.map(({ kind }) => kind);

storeSuite('the file store', onFakeDisk);

describe('the file store', () => {
  it('finds after a restart what was put before', async () => {
    const { store, verdicts, open } = setUp();
    await verdicts.put('key', { a: 1 }, { ttlMs: 1_000 });
    await store.close();
    expect((await open().records('verdicts', forgetful).get('key'))?.value).toEqual({ a: 1 });
  });

  it('lets the wall clock decide after a restart, since monotonic time begins anew', async () => {
    const { clock, verdicts, open } = setUp();
    await verdicts.put('key', 1, { ttlMs: 1_000 });
    clock.jumpWall(1_000);
    expect(await open().records('verdicts', forgetful).get('key')).toBeUndefined();
  });

  it('puts neither key nor value into the names of its files', async () => {
    const { disk, verdicts } = setUp();
    await verdicts.put('../../secret', 'x');
    expect([...disk.files.keys()]).toEqual([
      expect.stringMatching(/^verdicts\/[0-9a-f]{64}\.record$/),
    ]);
  });
});

describe('the records of a collection', () => {
  it('are read while the disk takes its time with those of another #revoked', async () => {
    const { disk, store, verdicts } = setUp();
    const tokens = store.records('tokens', durable);
    await tokens.put('ann', 1);
    disk.replace = () => new Promise(() => {});
    verdicts.put('key', 1).catch(() => {});
    await settled();
    expect((await tokens.entries()).map(({ key }) => key)).toEqual(['ann']);
    expect(await tokens.isWhole()).toBe(true);
  });

  it.each([durable, forgetful])('are all asked for at once: %j #revoked', async (kind) => {
    const { disk, store } = setUp();
    const records = store.records('tokens', kind);
    for (const key of ['ann', 'bob', 'eve']) await records.put(key, 1);
    let waiting = 0;
    disk.read = () => {
      waiting += 1;
      return new Promise(() => {});
    };
    records.entries().catch(() => {});
    await settled();
    expect(waiting).toBe(3);
  });
});

describe('the file store on a full disk', () => {
  it('and on one that hangs ends within a time, and says what may be lost #stop-ladder', async () => {
    const { disk, clock, verdicts, store, problems } = setUp();
    disk.replace = () => new Promise(() => {});
    verdicts.put('key', 1).catch(() => {});
    let isClosed = false;
    const closing = store.close().then(() => {
      isClosed = true;
    });
    await clock.advanceAsync(9_999);
    expect(isClosed).toBe(false);
    await clock.advanceAsync(1);
    await closing;
    const detail = expect.stringMatching(/ at the end: .* look whether that disk hangs$/);
    expect(problems).toMatchObject([{ kind: 'dropped', detail }]);
    expect(clock.waiting).toBe(0);
  });

  it('goes on from memory, says so once, and shows it as its health', async () => {
    const { disk, verdicts, store, problems } = setUp();
    await verdicts.put('key', 'old');
    disk.failing.replace = 'ENOSPC';
    await verdicts.put('key', 'new');
    await verdicts.put('other', 1);
    expect((await verdicts.get('key'))?.value).toBe('new');
    expect((await verdicts.entries()).map(({ value }) => value)).toEqual(['new', 1]);
    expect(problems).toMatchObject([{ kind: 'unwritable', code: 'ENOSPC' }]);
    expect(problems[0]?.detail).toMatch(
      /^\/state\/verdicts\/.* \(ENOSPC\).*: free space on that disk$/,
    );
    expect(store.health()).toMatchObject({ ok: false, problem: expect.stringContaining('ENOSPC') });
  });

  it('writes everything as soon as one write succeeds, and says that too', async () => {
    const { disk, verdicts, store, problems, open } = setUp();
    disk.failing.replace = 'EIO';
    await verdicts.put('a', 1);
    await verdicts.put('b', 2);
    delete disk.failing.replace;
    await verdicts.put('c', 3);
    await store.close();
    expect(store.health()).toEqual({ ok: true });
    expect(kindsOf(problems)).toEqual(['unwritable', 'recovered']);
    expect(await open().records('verdicts', forgetful).entries()).toHaveLength(3);
  });

  it('tries again by itself, soon and then less and less often', async () => {
    const { disk, clock, verdicts, store } = setUp();
    disk.failing.replace = 'EIO';
    await verdicts.put('a', 1);
    await clock.advanceAsync(6_500);
    delete disk.failing.replace;
    await clock.advanceAsync(400);
    expect(store.health().ok).toBe(false);
    await clock.advanceAsync(100);
    expect(store.health()).toEqual({ ok: true });
    expect(disk.files.size).toBe(1);
  });

  it('lists what was saved while it was listing', async () => {
    const { disk, verdicts } = setUp();
    await verdicts.put('a', 'old');
    disk.failing.replace = 'EIO';
    await verdicts.put('a', 'new');
    delete disk.failing.replace;
    const list = disk.list.bind(disk);
    disk.list = async (folder) => {
      const names = await list(folder);
      const read = disk.read.bind(disk);
      disk.read = async (name) => {
        const bytes = await read(name);
        disk.read = read;
        await verdicts.put('b', 1);
        return bytes;
      };
      return names;
    };
    expect((await verdicts.entries()).find(({ key }) => key === 'a')?.value).toBe('new');
  });

  it('tries again by itself after a while', async () => {
    const { disk, clock, verdicts, store } = setUp();
    disk.failing.replace = 'EROFS';
    await verdicts.put('a', 1);
    delete disk.failing.replace;
    clock.advance(600_000);
    // The fake disk only ever waits for microtasks: they are all done before the next turn.
    await new Promise(setImmediate);
    expect(store.health()).toEqual({ ok: true });
    expect(disk.files.size).toBe(1);
  });

  it('says it again when the disk fails anew after it had recovered', async () => {
    const { disk, verdicts, problems } = setUp();
    for (let round = 0; round < 2; round += 1) {
      disk.failing.replace = 'ENOSPC';
      await verdicts.put('a', round);
      delete disk.failing.replace;
      await verdicts.put('a', round);
    }
    expect(kindsOf(problems)).toEqual(['unwritable', 'recovered', 'unwritable', 'recovered']);
  });

  it('remembers a removal that the disk refused', async () => {
    const { disk, verdicts } = setUp();
    await verdicts.put('key', 1);
    disk.failing.remove = 'EROFS';
    await verdicts.remove('key');
    expect(await verdicts.get('key')).toBeUndefined();
    expect(await verdicts.entries()).toEqual([]);
  });

  it('keeps only so much in memory, and says what it drops', async () => {
    const { disk, verdicts, problems } = setUp(300);
    disk.failing.replace = 'ENOSPC';
    for (const key of ['a', 'b', 'c', 'd']) await verdicts.put(key, 'x'.repeat(50));
    expect((await verdicts.entries()).map(({ key }) => key)).toEqual(['c', 'd']);
    expect(kindsOf(problems)).toEqual(['unwritable', 'dropped']);
  });

  it('saves at the end what it could not save before', async () => {
    const { disk, verdicts, store } = setUp();
    disk.failing.replace = 'ENOSPC';
    await verdicts.put('a', 1);
    delete disk.failing.replace;
    await store.close();
    expect(disk.files.size).toBe(1);
  });

  it('does not hide a defect of ours as a failing disk', async () => {
    const { disk, verdicts } = setUp();
    disk.replace = async () => {
      throw new TypeError('a defect');
    };
    await expect(verdicts.put('a', 1)).rejects.toThrow(TypeError);
  });
});

describe('a file of the store that cannot be trusted', () => {
  it.each([
    ['cut short', (bytes: Buffer) => bytes.subarray(0, bytes.length - 1)],
    ['empty', () => Buffer.alloc(0)],
    ['changed', (bytes: Buffer) => Buffer.from(bytes.toString().replace('value', 'VALUE'))],
  ])('because it is %s is moved aside and reported, once', async (_, damage) => {
    const { disk, verdicts, problems } = setUp();
    await verdicts.put('key', 'value');
    const [[name, bytes] = ['', Buffer.alloc(0)]] = disk.files;
    disk.files.set(name, damage(bytes));
    expect(await verdicts.get('key')).toBeUndefined();
    expect(await verdicts.get('key')).toBeUndefined();
    expect([...disk.files.keys()]).toEqual([`${name}.damaged`]);
    expect(problems).toMatchObject([{ kind: 'damaged', file: `/state/${name}` }]);
    expect(problems[0]?.detail).toContain(`/state/${name}.damaged`);
  });

  it('because it belongs to another key is moved aside too', async () => {
    const { disk, verdicts, problems } = setUp();
    await verdicts.put('a', 1);
    const [bytes] = disk.files.values();
    await verdicts.put('b', 2);
    const [, name = ''] = disk.files.keys();
    disk.files.set(name, bytes ?? Buffer.alloc(0));
    expect(await verdicts.get('b')).toBeUndefined();
    expect((await verdicts.get('a'))?.value).toBe(1);
    expect(kindsOf(problems)).toEqual(['damaged']);
  });

  it('does not take the record with it that replaces it meanwhile', async () => {
    const { disk, verdicts } = setUp();
    await verdicts.put('key', 'old');
    const [name = ''] = disk.files.keys();
    disk.files.set(name, Buffer.from('rubbish'));
    const reading = verdicts.get('key');
    const writing = verdicts.put('key', 'new');
    await Promise.all([reading, writing]);
    expect((await verdicts.get('key'))?.value).toBe('new');
  });

  it('is reported even when it cannot be moved', async () => {
    const { disk, verdicts, problems } = setUp();
    await verdicts.put('key', 1);
    const [name = ''] = disk.files.keys();
    disk.files.set(name, Buffer.from('rubbish'));
    disk.failing.setAside = 'EACCES';
    expect(await verdicts.get('key')).toBeUndefined();
    expect(problems[0]?.detail).toContain('could not be moved aside: delete it');
  });

  it('counts as absent when it cannot be read at all', async () => {
    const { disk, verdicts, problems } = setUp();
    await verdicts.put('key', 1);
    disk.failing.read = 'EIO';
    expect(await verdicts.get('key')).toBeUndefined();
    expect(problems).toMatchObject([{ kind: 'unreadable', code: 'EIO' }]);
  });
});

describe('a file of the store that cannot be read now', () => {
  it('is shown as the health of the disk until it can, and then is there', async () => {
    const { disk, clock, verdicts, store, problems } = setUp();
    await verdicts.put('key', 1);
    disk.failing.read = 'EIO';
    await verdicts.get('key');
    expect(store.health()).toMatchObject({ ok: false, problem: expect.stringContaining('EIO') });
    delete disk.failing.read;
    await clock.advanceAsync(1_000);
    expect(store.health()).toEqual({ ok: true });
    expect((await verdicts.get('key'))?.value).toBe(1);
    expect(kindsOf(problems)).toEqual(['unreadable', 'recovered']);
  });

  it('is a folder that is listed again, where it is the folder', async () => {
    const { disk, clock, verdicts, store } = setUp();
    disk.failing.list = 'EACCES';
    expect(await verdicts.entries()).toEqual([]);
    expect(store.health().ok).toBe(false);
    delete disk.failing.list;
    await clock.advanceAsync(1_000);
    expect(store.health()).toEqual({ ok: true });
  });

  it('is set aside when a folder has its place', async () => {
    const { disk, verdicts, problems } = setUp();
    await verdicts.put('key', 1);
    disk.failing.read = 'EISDIR';
    expect(await verdicts.get('key')).toBeUndefined();
    expect([...disk.files.keys()]).toEqual([expect.stringMatching(/\.damaged$/)]);
    expect(problems).toMatchObject([{ kind: 'damaged' }]);
  });
});

describe('whether all records could be read', () => {
  it('is so while everything in it can be read, and when there is nothing', async () => {
    const { verdicts, store } = setUp();
    expect(await verdicts.isWhole()).toBe(true);
    await verdicts.put('key', 1);
    expect(await verdicts.isWhole()).toBe(true);
    expect(await store.records('tokens', forgetful).isWhole()).toBe(true);
  });

  it.each(['read', 'list'] as const)('is not so when a %s fails', async (operation) => {
    const { disk, verdicts } = setUp();
    await verdicts.put('key', 1);
    disk.failing[operation] = 'EIO';
    expect(await verdicts.isWhole()).toBe(false);
    delete disk.failing[operation];
    expect(await verdicts.isWhole()).toBe(true);
  });

  it('is not so after damage, in later starts too, until what was set aside is deleted', async () => {
    const { disk, verdicts, open, problems } = setUp();
    await verdicts.put('key', 1);
    const [name = ''] = disk.files.keys();
    disk.files.set(name, Buffer.from('rubbish'));
    expect(await verdicts.get('key')).toBeUndefined();
    expect(await verdicts.isWhole()).toBe(false);
    expect(kindsOf(problems)).toEqual(['damaged']);
    const later = open().records('verdicts', forgetful);
    expect(await later.isWhole()).toBe(false);
    expect(await later.isWhole()).toBe(false);
    expect(kindsOf(problems)).toEqual(['damaged', 'damaged']);
    expect(problems[1]?.detail).toBe(
      `/state/${name}.damaged was set aside because it is damaged, and is missing: put a good copy at /state/${name}, or delete it`,
    );
    disk.files.delete(`${name}.damaged`);
    expect(await later.isWhole()).toBe(true);
  });

  it('is not so while a newer Holdfast has written there', async () => {
    const { disk, verdicts } = setUp();
    await verdicts.put('key', 1);
    const [name = ''] = disk.files.keys();
    const body = '{}\n';
    const sum = createHash('sha256').update('2\n').update(body).digest('hex');
    disk.files.set(name, Buffer.from(`holdfast-record 2 ${sum}\n${body}`));
    expect(await verdicts.isWhole()).toBe(false);
  });
});

describe('a value of a newer version', () => {
  const isOld = (value: unknown) => (value as { is?: unknown }).is === 'old';
  const known = { ...forgetful, shape: isOld, version: 1 };

  it('is said to be newer, not damaged, and stays where it is #durable', async () => {
    const { disk, verdicts, open, problems } = setUp();
    await verdicts.put('key', { is: 'something new', version: 2 });
    const before = new Map(disk.files);
    const older = open().records('verdicts', known);
    expect(await older.get('key')).toBeUndefined();
    await older.put('key', { is: 'old', version: 1 });
    expect(await older.get('key')).toBeUndefined();
    expect(await older.entries()).toEqual([]);
    await older.remove('key');
    expect(disk.files).toEqual(before);
    expect(problems).toMatchObject([{ kind: 'newer' }]);
    expect(problems[0]?.detail).toContain('was written by a newer Holdfast (version 2)');
    // The newer one uses it again.
    expect((await verdicts.get('key'))?.value).toEqual({ is: 'something new', version: 2 });
  });

  it('that the newer Holdfast has removed can be written again', async () => {
    const { verdicts, open } = setUp();
    await verdicts.put('key', { version: 2 });
    const older = open().records('verdicts', known);
    await older.get('key');
    await verdicts.remove('key');
    await older.put('key', { is: 'old' });
    expect((await older.get('key'))?.value).toEqual({ is: 'old' });
  });

  it('is judged by its shape if its version is known, or it has none', async () => {
    const { verdicts, open, problems } = setUp();
    await verdicts.put('key', { is: 'wrong', version: 1 });
    await verdicts.put('other', { is: 'wrong' });
    const older = open().records('verdicts', known);
    for (const key of ['key', 'other']) expect(await older.get(key)).toBeUndefined();
    expect(kindsOf(problems)).toEqual(['damaged', 'damaged']);
  });
});

describe('the sweep of the file store', () => {
  it('of what crashes left begins when records are first opened', async () => {
    const disk = new FakeDisk();
    const tidied: [string, number][] = [];
    disk.tidy = async (folder, before) => void tidied.push([folder, before]);
    const clock = new ManualClock();
    await using store = new FileStore({ disk, clock, report: () => {} });
    store.records('verdicts', forgetful);
    await store.records('verdicts', forgetful).put('key', 1);
    expect(tidied).toEqual([['verdicts', clock.wallNow() - 60_000]]);
  });

  it('removes what is over and leaves what lives', async () => {
    const { disk, clock, verdicts, store } = setUp();
    await verdicts.put('short', 1, { ttlMs: 1_000 });
    await verdicts.put('long', 1, { ttlMs: 86_400_000 });
    clock.advance(600_000);
    await settled();
    expect(disk.files.size).toBe(1);
    await store.close();
    expect(clock.waiting).toBe(0);
  });

  it('does not hold up the end: no further file is read #stop-ladder', async () => {
    const { disk, clock, verdicts, store } = setUp();
    for (const key of ['a', 'b', 'c', 'd']) await verdicts.put(key, 1);
    const read = disk.read.bind(disk);
    let reads = 0;
    let closing: Promise<void> | undefined;
    disk.read = (...args) => {
      reads += 1;
      closing ??= store.close();
      return read(...args);
    };
    clock.advance(600_000);
    await settled();
    await closing;
    expect(reads).toBe(1);
  });

  it('and reading again what could not be read end with the store #stop-ladder', async () => {
    const { disk, clock, verdicts, store } = setUp();
    const keys = ['a', 'b', 'c', 'd'];
    for (const key of keys) await verdicts.put(key, 1);
    disk.failing.read = 'EIO';
    for (const key of keys) await verdicts.get(key);
    const read = disk.read.bind(disk);
    let reads = 0;
    let closing: Promise<void> | undefined;
    disk.read = (...args) => {
      reads += 1;
      closing ??= store.close();
      return read(...args);
    };
    clock.advance(60_000);
    await settled();
    await closing;
    expect(reads).toBe(1);
  });

  it('goes on after a listing that failed', async () => {
    const { disk, clock, verdicts, problems } = setUp();
    await verdicts.put('short', 1, { ttlMs: 1_000 });
    disk.failing.list = 'EIO';
    clock.advance(600_000);
    await settled();
    delete disk.failing.list;
    clock.advance(600_000);
    await settled();
    expect(disk.files.size).toBe(0);
    expect(kindsOf(problems)).toEqual(['unreadable']);
  });
});

describe('a value that is not what its records hold', () => {
  it('is damaged like a torn one: reported once, set aside, and missing', async () => {
    const { disk, problems, open, verdicts } = setUp();
    await verdicts.put('key', 'a text');
    await verdicts.put('other', { a: 1 });
    const later = open().records('verdicts', {
      durability: 'forgetful',
      shape: (value) => typeof value === 'object',
    });
    expect(await later.get('key')).toBeUndefined();
    expect(await later.get('key')).toBeUndefined();
    expect(await later.entries()).toMatchObject([{ key: 'other', value: { a: 1 } }]);
    expect(await later.isWhole()).toBe(false);
    expect(kindsOf(problems)).toEqual(['damaged']);
    expect(problems[0]?.detail).toMatch(/its value is not one of verdicts.*delete it/);
    expect([...disk.files.keys()].filter((name) => name.endsWith('.damaged'))).toHaveLength(1);
  });
});

describe('a durable record on files', () => {
  const setUpTokens = () => {
    const world = setUp();
    return { ...world, tokens: world.store.records('tokens', durable) };
  };

  it('is read only when it is on the disk #kept-or-refused', async () => {
    const { disk, tokens } = setUpTokens();
    const written: unknown[] = [];
    const replace = disk.replace.bind(disk);
    disk.replace = async (name, bytes) => {
      await replace(name, bytes);
      written.push('written');
    };
    const putting = tokens.put('key', 1).then(() => written.push('resolved'));
    const reading = tokens.get('key').then((entry) => written.push(entry?.value));
    await Promise.all([putting, reading]);
    expect(written).toEqual(['written', 'resolved', 1]);
  });

  it('that is refused keeps the store unwell until it is written after all #kept-or-refused', async () => {
    const { disk, tokens, verdicts, store, problems } = setUpTokens();
    disk.failing.replace = 'EROFS';
    await expect(tokens.put('key', 1)).rejects.toMatchObject({ reason: 'not_kept' });
    expect(problems).toMatchObject([{ kind: 'refused', code: 'EROFS' }]);
    expect(problems[0]?.detail).toMatch(/\/state\/tokens\/.* the change is not kept: set HOLDFAST/);
    delete disk.failing.replace;
    await verdicts.put('key', 1);
    expect(store.health()).toMatchObject({ ok: false, problem: expect.stringContaining('tokens') });
    await tokens.put('key', 1);
    expect(store.health()).toEqual({ ok: true });
    expect(kindsOf(problems)).toEqual(['refused', 'recovered']);
  });

  it('is rejected when it cannot be read, and is never replaced then', async () => {
    const { disk, tokens } = setUpTokens();
    await tokens.put('key', 'old');
    disk.failing.read = 'EIO';
    const unreadable = { reason: 'unreadable', code: 'overloaded' };
    await expect(tokens.get('key')).rejects.toMatchObject(unreadable);
    await expect(tokens.putIfAbsent('key', 'new')).rejects.toMatchObject(unreadable);
    expect(await tokens.entries()).toEqual([]);
    expect(await tokens.isWhole()).toBe(false);
    delete disk.failing.read;
    expect((await tokens.get('key'))?.value).toBe('old');
  });

  it('that is too large is refused, and the one before it stays', async () => {
    const { tokens } = setUpTokens();
    await tokens.put('key', 'old');
    const put = tokens.put('key', 'x'.repeat(100_000));
    await expect(put).rejects.toMatchObject({ reason: 'too_large', code: 'invalid_request' });
    expect((await tokens.get('key'))?.value).toBe('old');
  });

  it('does not hide a defect of ours as a failing disk', async () => {
    const { disk, tokens } = setUpTokens();
    disk.replace = async () => {
      throw new TypeError('a defect');
    };
    await expect(tokens.put('a', 1)).rejects.toThrow(TypeError);
  });

  it('of a Holdfast that wrote no versions has one, and can be compared', async () => {
    const { disk, tokens } = setUpTokens();
    const body = '{"collection":"tokens","key":"key","expiresAt":null}\n"old"\n';
    const sum = createHash('sha256').update('1\n').update(body).digest('hex');
    const name = `tokens/${createHash('sha256').update('key').digest('hex')}.record`;
    disk.files.set(name, Buffer.from(`holdfast-record 1 ${sum}\n${body}`));
    const { value, version = '' } = (await tokens.get('key')) ?? {};
    expect([value, version]).toEqual(['old', sum]);
    expect((await tokens.compareAndSet('key', `${version}x`, 'new')).isPut).toBe(false);
    expect((await tokens.compareAndSet('key', version, 'new')).isPut).toBe(true);
    expect((await tokens.get('key'))?.value).toBe('new');
  });
});
