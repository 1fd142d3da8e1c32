// The SQLite store: the suite of every store, with the database in this thread and in its worker, and what
// only a database on disk has: files of others, newer files, damage, and a second process.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { StoreProblem } from '../../src/store/problem.ts';
import { loadDriver } from '../../src/store/sqlite/driver.ts';
import { openDatabase } from '../../src/store/sqlite/open-database.ts';
import { OpenError } from '../../src/store/sqlite/open-error.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { applicationId, schemaVersion } from '../../src/store/sqlite/tables.ts';
import { walState } from '../../src/store/sqlite/wal-check.ts';
import { builtModule } from '../support/build.ts';
import { ManualClock } from '../support/manual-clock.ts';
import {
  crashImage,
  driver,
  newFolder,
  openHere,
  sqliteHere,
  sqliteInWorker,
} from '../support/sqlite-place.ts';
import { storeSuite } from '../support/store-suite/store-suite.ts';

const program = new URL(builtModule('store/sqlite/worker.js'));
const durable = { durability: 'durable' } as const;

storeSuite('the SQLite store', sqliteHere);
storeSuite(
  'the SQLite store in its thread',
  sqliteInWorker((file, clock) => openSqliteStore(file, { clock, report: () => {}, program })),
);

// The title says it, for store-suite-node-22.test.ts.
describe(`the driver ${driver().name}, as a store`, () => {
  it('is the one of Node itself where there is one', async () => {
    const own = await import('node:sqlite' as string).catch(() => undefined);
    expect(driver().name).toBe(own === undefined ? 'libsql' : 'node:sqlite');
  });
});

function newFile(): string {
  return join(newFolder(), 'state.db');
}

/** Opens it with its worker, and collects what it reports. */
function opened(file: string, worker = program) {
  const problems: StoreProblem[] = [];
  const report = (problem: StoreProblem) => void problems.push(problem);
  return {
    store: openSqliteStore(file, { clock: systemClock, report, program: worker }),
    problems,
  };
}

describe('a database that cannot be used', () => {
  it('of a newer version is left as it is: everything is kept in memory, and the store says so', async () => {
    const file = newFile();
    const newer = driver().open(file);
    newer.exec(
      `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion + 1}; CREATE TABLE t (a)`,
    );
    newer.close();
    const before = readFileSync(file);
    const { store, problems } = opened(file);
    const records = store.records('things', durable);
    await records.put('key', 1);
    expect((await records.get('key'))?.value).toBe(1);
    expect(store.health()).toEqual({
      ok: false,
      problem: expect.stringContaining('newer version'),
    });
    // What the file holds is not known.
    expect(await records.isWhole()).toBe(false);
    expect(problems.map(({ detail }) => detail)).toEqual([expect.stringContaining(file)]);
    await store.close();
    expect(readFileSync(file)).toEqual(before);
  });

  it('of the version before is used, and an earlier Holdfast does not open it any more', async () => {
    const file = newFile();
    const before = openHere(file, new ManualClock()).store;
    await before.records('things', durable).put('key', 1);
    await before.close();
    const older = driver().open(file);
    older.exec('PRAGMA user_version = 1');
    older.close();
    const { store, problems } = openHere(file, new ManualClock());
    expect((await store.records('things', durable).get('key'))?.value).toBe(1);
    expect(problems).toEqual([]);
    await store.close();
    const now = driver().open(file);
    expect(now.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: schemaVersion });
    now.close();
  });

  it('of another program is not touched', () => {
    const file = newFile();
    const other = driver().open(file);
    other.exec('CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)');
    other.close();
    expect(() => openDatabase(driver(), file)).toThrow(OpenError);
    const again = driver().open(file);
    expect(again.prepare('SELECT a FROM theirs').get()).toMatchObject({ a: 1 });
    again.close();
  });

  it('in a folder that is not there, or is a folder itself, is reported with a next step', async () => {
    for (const file of [join(newFolder(), 'missing', 'state.db'), newFolder()]) {
      const { store, problems } = opened(file);
      await store.records('things', durable).put('key', 1);
      expect(problems[0]?.detail).toMatch(/cannot be used .*kept in memory.*: \w/);
      await store.close();
    }
  });

  it('without a driver that can be loaded is reported, too', async () => {
    const missing = join(newFolder(), 'no-driver.mjs');
    const detail = 'neither can be loaded';
    writeFileSync(
      missing,
      `import { parentPort } from 'node:worker_threads';
       parentPort.postMessage({ kind: 'failed', why: 'missing', detail: '${detail}', code: null });`,
    );
    const { store, problems } = opened(newFile(), pathToFileURL(missing));
    await store.records('things', durable).put('key', 1);
    expect(problems[0]?.detail).toContain('Node 22.13');
    await store.close();
    expect(
      loadDriver(() => {
        throw new Error('not found');
      }),
    ).toBeUndefined();
  });

  it('whose thread ends by itself refuses what waits, and everything afterwards', async () => {
    const dying = join(newFolder(), 'dying.mjs');
    writeFileSync(
      dying,
      `import { parentPort } from 'node:worker_threads';
       const findings = { damaged: [], setAside: [], lossNote: null, isTorn: false };
       parentPort.postMessage({ kind: 'opened', driver: 'none', findings });
       parentPort.on('message', () => process.exit(1));`,
    );
    const { store } = opened(newFile(), pathToFileURL(dying));
    const records = store.records('things', durable);
    const refused = expect.objectContaining({ reason: 'not_kept' });
    await expect(records.put('key', 1)).rejects.toEqual(refused);
    await expect(records.put('key', 1)).rejects.toEqual(refused);
    expect(store.health()).toMatchObject({
      ok: false,
      problem: expect.stringContaining('database'),
    });
    await store.close();
  });

  it('is used by one process only', async () => {
    const file = newFile();
    const { store } = openHere(file, new ManualClock());
    await store.records('things', durable).put('key', 1);
    const other = `
      const { loadDriver } = await import(${JSON.stringify(builtModule('store/sqlite/driver.js'))});
      const { openDatabase } = await import(${JSON.stringify(builtModule('store/sqlite/open-database.js'))});
      try { openDatabase(loadDriver(), ${JSON.stringify(file)}); console.log('opened'); }
      catch (error) { console.log(error.kind, error.code); }`;
    const said = spawnSync(process.execPath, ['--input-type=module', '-e', other]);
    expect(said.stdout.toString().trim()).toBe('unusable SQLITE_BUSY');
    await store.close();
  });
});

describe('the files of the database', () => {
  it('are for this user only', async () => {
    const file = newFile();
    chmodSync(join(file, '..'), 0o700);
    const { store } = opened(file);
    await store.records('things', durable).put('key', 1);
    for (const one of [file, `${file}-wal`]) {
      expect((statSync(one).mode & 0o077).toString(8)).toBe('0');
    }
    await store.close();
  });

  it('say nothing on standard error while they are opened', () => {
    const file = newFile();
    const code = `
      const { openSqliteStore } = await import(${JSON.stringify(builtModule('store/sqlite/open-sqlite-store.js'))});
      const clock = { now: () => 0, wallNow: () => 0, after: () => ({ [Symbol.dispose]() {} }) };
      const store = openSqliteStore(${JSON.stringify(file)}, { clock, report: console.error });
      await store.records('things', { durability: 'durable' }).put('key', 1);
      await store.close();`;
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', code]);
    expect(ended.stderr.toString()).toBe('');
    expect(ended.status).toBe(0);
  });
});

describe('damage', () => {
  /** A database with some records, some of them in the log only. */
  async function filled(): Promise<{ file: string; values: ReadonlyMap<string, string> }> {
    const file = newFile();
    const clock = new ManualClock();
    const first = openHere(file, clock).store;
    const values = new Map<string, string>();
    const put = async (store: typeof first, from: number, to: number) => {
      for (let number = from; number < to; number += 1) {
        const text = `${number} `.repeat(60);
        values.set(`key ${number}`, text);
        const value = number % 2 === 0 ? text : Buffer.from(text);
        await store.records('things', durable).put(`key ${number}`, value);
      }
    };
    await put(first, 0, 200);
    await first.close();
    const second = openHere(file, clock).store;
    await put(second, 200, 205);
    const image = crashImage(file);
    await second.close();
    return { file: image, values };
  }

  /** What is there after the damage; a value that is wrong must never be. */
  async function lostAfter(file: string, values: ReadonlyMap<string, string>) {
    const opened = openOrRefuse(file);
    if (opened === undefined) return { lost: values.size, isWhole: false, isReported: true };
    const { store, problems } = opened;
    const records = store.records('things', durable);
    let lost = 0;
    for (const [key, value] of values) {
      const found = await records.get(key).catch(() => undefined);
      if (found === undefined) lost += 1;
      else expect(asText(found.value)).toBe(value);
    }
    const isWhole = await records.isWhole();
    await store.close();
    return { lost, isWhole, isReported: problems.some(({ kind }) => kind === 'damaged') };
  }

  /** Every other value was put as bytes. */
  function asText(value: unknown): unknown {
    return value instanceof Uint8Array ? Buffer.from(value).toString() : value;
  }

  /** Undefined: it is refused, which is told. */
  function openOrRefuse(file: string) {
    try {
      return openHere(file, new ManualClock());
    } catch (error) {
      if (error instanceof OpenError) return undefined;
      throw error;
    }
  }

  it.each(['', '-wal'])(
    'of any byte of the file%s costs nothing that is not reported, and shows no wrong value #durable',
    async (end) => {
      const { file, values } = await filled();
      const bytes = readFileSync(`${file}${end}`);
      // Every header, and the rest in steps that hit each part of a page.
      const places = Array.from({ length: bytes.length }, (_, at) => at).filter(
        (at) => at < 100 || at % 1_499 === 0,
      );
      let noticed = 0;
      for (const at of places) {
        const copy = crashImage(file);
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
        writeFileSync(`${copy}${end}`, damaged);
        const { lost, isReported } = await lostAfter(copy, values);
        if (isReported) noticed += 1;
        if (lost > 0) expect({ at, lost, isReported }).toEqual({ at, lost, isReported: true });
      }
      expect(noticed).toBeGreaterThan(places.length / 4);
    },
    120_000,
  );

  it('that cuts the file or the log is reported where something acknowledged is lost', async () => {
    const { file, values } = await filled();
    for (const end of ['', '-wal']) {
      const { size } = statSync(`${file}${end}`);
      for (const share of [0.2, 0.5, 0.9]) {
        const copy = crashImage(file);
        truncateSync(`${copy}${end}`, Math.floor(size * share));
        const { lost, isReported } = await lostAfter(copy, values);
        // The end of a log that is missing cannot be told from one that was never written.
        if (lost > 0 && end === '')
          expect({ end, share, isReported }).toMatchObject({ isReported: true });
      }
    }
  });

  it('to the file sets it aside, and from then on the store says that something may be missing #durable', async () => {
    const { file, values } = await filled();
    const bytes = readFileSync(file);
    bytes.fill(0xff, 3 * 4096, 8 * 4096);
    writeFileSync(file, bytes);
    expect(await lostAfter(file, values)).toMatchObject({ isReported: true, isWhole: false });
    expect(existsSync(`${file}.damaged`)).toBe(true);
    expect(await lostAfter(file, values)).toMatchObject({ isReported: true, isWhole: false });
  });

  it('is not seen in a log that is whole, or that ends with a change that was never finished', async () => {
    const { file } = await filled();
    const wal = readFileSync(`${file}-wal`);
    expect(walState(wal)).toBe('good');
    expect(walState(Buffer.alloc(0))).toBe('good');
    expect(walState(wal.subarray(0, wal.length - 4096 - 24))).toBe('good');
    expect(walState(wal.subarray(0, wal.length - 4096))).toBe('torn');
    const torn = Buffer.from(wal);
    torn.fill(0xff, torn.length - 100);
    expect(walState(torn)).toBe('torn');
    const early = Buffer.from(wal);
    early.fill(0xff, 100, 200);
    expect(walState(early)).toBe('damaged');
  });

  it('by removing or replacing the file while it is open refuses every change, and says so #durable', async () => {
    for (const harm of [unlinkSync, (file: string) => renameSync(crashImage(file), file)]) {
      const file = join(newFolder(), 'state.db');
      const { store, problems } = opened(file);
      const records = store.records('r', { durability: 'durable' });
      await records.put('before', 1);
      harm(file);
      await expect(records.put('after', 1)).rejects.toMatchObject({ reason: 'not_kept' });
      expect(problems.some(({ detail }) => detail.includes('removed or replaced'))).toBe(true);
      expect(store.health().ok).toBe(false);
      await store.close();
    }
  });
});
