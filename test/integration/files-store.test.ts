import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { openFilesStore } from '../../src/store/file-store.ts';
import type { StoreProblem } from '../../src/store/problem.ts';
import { encodeRecord } from '../../src/store/record.ts';
import { builtModule } from '../support/build.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { storeSuite } from '../support/store-suite/store-suite.ts';
import { until } from '../support/until.ts';

const forgetful = { durability: 'forgetful' } as const;

let root: string;
let problems: StoreProblem[];
const report = (problem: StoreProblem) => void problems.push(problem);
const open = (folder = join(root, 'state')) =>
  openFilesStore(folder, { clock: systemClock, report });
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const recordsIn = (collection: string) =>
  readdirSync(join(root, 'state', collection)).map((name) => join(root, 'state', collection, name));

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-store-'));
  problems = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

let stores = 0;
storeSuite('the file store on a real disk', {
  offers: { records: ['durable', 'forgetful'], logs: [], queues: [], counters: [] },
  boundsRecords: false,
  outlivesClosing: true,
  place: () => {
    stores += 1;
    const number = stores;
    return { open: (clock) => openFilesStore(join(root, `state-${number}`), { clock, report }) };
  },
});

describe('the files of a store', () => {
  it('are for this user alone, even in a folder that was open to others', async () => {
    mkdirSync(join(root, 'state'));
    chmodSync(join(root, 'state'), 0o755);
    await using store = open();
    await store.records('verdicts', forgetful).put('key', 1);
    expect(modeOf(join(root, 'state'))).toBe('700');
    expect(modeOf(join(root, 'state/verdicts'))).toBe('700');
    expect(recordsIn('verdicts').map(modeOf)).toEqual(['600']);
  });

  it('are seen by another process that shares the folder', async () => {
    await using one = open();
    await using other = open();
    await one.records('verdicts', forgetful).put('key', 1);
    expect((await other.records('verdicts', forgetful).get('key'))?.value).toBe(1);
    await other.records('verdicts', forgetful).put('key', 2);
    expect((await one.records('verdicts', forgetful).get('key'))?.value).toBe(2);
  });

  it('are moved aside when they are damaged, with a report of where to', async () => {
    await using store = open();
    await store.records('verdicts', forgetful).put('key', 1);
    const [file = ''] = recordsIn('verdicts');
    writeFileSync(file, readFileSync(file).subarray(0, 40));
    expect(await store.records('verdicts', forgetful).get('key')).toBeUndefined();
    expect(existsSync(`${file}.damaged`)).toBe(true);
    expect(problems).toMatchObject([{ kind: 'damaged', file }]);
  });

  it('are not read when they are larger than any record: they are damaged, and moved aside #durable', async () => {
    await using store = open();
    for (const name of ['verdicts', 'catalogues']) {
      const records = store.records(name, forgetful);
      await records.put('key', 1);
      const [file = ''] = recordsIn(name);
      truncateSync(file, 3 * 2 ** 30);
      expect(await records.get('key')).toBeUndefined();
      expect(await records.entries()).toEqual([]);
      expect(await records.isWhole()).toBe(false);
      expect(existsSync(`${file}.damaged`)).toBe(true);
      expect(problems.pop()).toMatchObject({
        kind: 'damaged',
        file,
        detail: expect.stringMatching(/it has more than \d+ bytes.*moved to .*delete it/),
      });
      expect(problems).toEqual([]);
    }
  });

  it('are not written when they would be too large to be read back, which is said once', async () => {
    await using store = open();
    const verdicts = store.records('verdicts', forgetful);
    await verdicts.put('key', 1);
    await verdicts.put('key', 'x'.repeat(100_000));
    await verdicts.put('key', 'x'.repeat(200_000));
    expect(await verdicts.get('key')).toBeUndefined();
    expect(recordsIn('verdicts')).toEqual([]);
    expect(problems).toMatchObject([{ kind: 'dropped', code: null }]);
    await verdicts.put('key', 2);
    expect((await verdicts.get('key'))?.value).toBe(2);
  });

  it('are not read through a link', async () => {
    await using store = open();
    await store.records('verdicts', forgetful).put('key', 1);
    const [file = ''] = recordsIn('verdicts');
    renameSync(file, join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), file);
    expect(await store.records('verdicts', forgetful).get('key')).toBeUndefined();
    expect(problems).toMatchObject([{ kind: 'unreadable', code: 'ELOOP' }]);
  });

  it('stay in memory while the folder cannot be made, and follow when it can', async () => {
    writeFileSync(join(root, 'state'), 'in the way');
    await using store = open();
    const verdicts = store.records('verdicts', forgetful);
    await verdicts.put('a', 1);
    expect((await verdicts.get('a'))?.value).toBe(1);
    expect(store.health().ok).toBe(false);
    rmSync(join(root, 'state'));
    await verdicts.put('b', 2);
    await store.close();
    expect(store.health()).toEqual({ ok: true });
    expect(recordsIn('verdicts')).toHaveLength(2);
  });

  it('that a crash left half-written are cleared away after a while', async () => {
    const clock = new ManualClock(Date.now() + 7_200_000);
    await using store = openFilesStore(join(root, 'state'), { clock, report });
    const verdicts = store.records('verdicts', forgetful);
    await verdicts.put('key', 1);
    const [file = ''] = recordsIn('verdicts');
    writeFileSync(`${file}.draft.tmp`, 'half');
    clock.advance(600_000);
    await until(() => recordsIn('verdicts').length === 1, 'the sweep');
    expect(recordsIn('verdicts')).toEqual([file]);
    expect(problems).toEqual([]);
  });
});

describe('a process that may open few files', () => {
  const program = `
    import { openFilesStore } from ${JSON.stringify(builtModule('store/file-store.js'))};
    import { systemClock } from ${JSON.stringify(builtModule('kernel/system-clock.js'))};
    const report = ({ detail }) => process.stdout.write(detail + '\\n');
    const store = openFilesStore(process.argv[1], { clock: systemClock, report });
    const records = store.records('verdicts', { durability: 'forgetful' });
    const keys = Array.from({ length: 1500 }, (_, count) => 'key-' + count);
    const values = await Promise.all(keys.map((key) => records.get(key)));
    process.stdout.write(values.filter((entry) => entry?.value === 1).length + ' read');
    process.exit(0);`;

  it('reads the records of many servers, which are wanted at once', async () => {
    const folder = join(root, 'state');
    const file = (key: string) => `${hash('sha256', key, 'hex')}.record`;
    mkdirSync(join(folder, 'verdicts'), { recursive: true });
    for (let count = 0; count < 1500; count += 1) {
      const key = `key-${count}`;
      const bytes = encodeRecord({
        collection: 'verdicts',
        key,
        expiresAt: null,
        version: '1',
        text: '1',
      });
      writeFileSync(join(folder, 'verdicts', file(key)), bytes);
    }
    const script = 'ulimit -n 256; exec "$0" "$@"';
    const args = ['--input-type=module', '-e', program, folder];
    const child = spawn('sh', ['-c', script, process.execPath, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await text(child.stdout)).toBe('1500 read');
  });
});

describe('a process killed while it writes to its store', () => {
  // Each put is acknowledged on stdout only after it resolved; two keys take turns.
  const program = `
    import { openFilesStore } from ${JSON.stringify(builtModule('store/file-store.js'))};
    import { systemClock } from ${JSON.stringify(builtModule('kernel/system-clock.js'))};
    const store = openFilesStore(process.argv[1], { clock: systemClock, report: () => process.exit(9) });
    const records = store.records('verdicts', { durability: 'forgetful' });
    for (let count = Number(process.argv[2]); ; count += 1) {
      await records.put('key-' + (count % 2), { count, pad: 'x'.repeat(count % 5000) });
      process.stdout.write(count + '\\n');
    }`;

  it('loses nothing that was acknowledged and leaves nothing damaged', async () => {
    const folder = join(root, 'state');
    let acknowledged = 0;
    for (const patience of [1, 2, 3, 7, 20, 55]) {
      const args = ['--input-type=module', '-e', program, folder];
      const child = spawn(process.execPath, [...args, String(acknowledged + 1)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(child, 'exit');
      let heard = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged = Number(line);
        heard += 1;
        if (heard === patience) child.kill('SIGKILL');
      }
      expect(await exited).toEqual([null, 'SIGKILL']);
      await using store = open(folder);
      const counts = await Promise.all(
        ['key-0', 'key-1'].map(async (key) => {
          const entry = await store.records('verdicts', forgetful).get(key);
          return (entry?.value as { count: number } | undefined)?.count ?? 0;
        }),
      );
      const newest = Math.max(...counts);
      expect(newest === acknowledged || newest === acknowledged + 1).toBe(true);
      if (acknowledged > 1) expect(Math.abs((counts[0] ?? 0) - (counts[1] ?? 0))).toBe(1);
      expect(problems).toEqual([]);
      acknowledged = newest;
    }
  });
});
