// Whether `verify` finds what somebody has done to the files: any single change is drawn by dice.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  auditFolder,
  auditKey,
  auditTrail,
  beginRecord,
  wholeLog,
} from '../../test/support/audit-log.ts';
import { FakeAuditDisk } from '../../test/support/fake-audit-disk.ts';
import { chainBegin, nextLine } from './audit-line.ts';
import { verifyAudit } from './verify.ts';

const small = { maxFileBytes: 1_500 };

/** Two tracks, of which the first has three processes and several files. */
async function someLog(key: Buffer | null = auditKey): Promise<FakeAuditDisk> {
  const disk = new FakeAuditDisk();
  for (const process of ['p1', 'p2', 'p3']) await wholeLog(6, { disk, process, key, ...small });
  await wholeLog(3, { disk, process: 'p4', key, held: ['1'] });
  return disk;
}

function copyOf({ files }: FakeAuditDisk): FakeAuditDisk {
  const copy = new FakeAuditDisk();
  for (const [path, bytes] of files) copy.files.set(path, Buffer.from(bytes));
  return copy;
}

const linesOf = (bytes: Buffer) => bytes.toString('latin1').split('\n').slice(0, -1);
const fileOf = (lines: readonly string[]) =>
  Buffer.from(lines.map((line) => `${line}\n`).join(''), 'latin1');

/** One change; the dice are used as far as they are needed. The new bytes of that file. */
type Change = (bytes: Buffer, dice: readonly number[], track: string) => Buffer;

const changes: Readonly<Record<string, Change>> = {
  'a changed byte': (bytes, [at = 0, by = 0]) => {
    const changed = Buffer.from(bytes);
    const place = at % bytes.length;
    changed[place] = ((bytes[place] ?? 0) + 1 + (by % 255)) % 256;
    return changed;
  },
  'a removed byte': (bytes, [at = 0]) => {
    const place = at % bytes.length;
    return Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)]);
  },
  'an inserted byte': (bytes, [at = 0, byte = 0]) => {
    const place = at % (bytes.length + 1);
    return Buffer.concat([
      bytes.subarray(0, place),
      Buffer.from([byte % 256]),
      bytes.subarray(place),
    ]);
  },
  // The last line of the last track is the one that nobody has noted.
  'a removed line': (bytes, [at = 0], track) => {
    const lines = linesOf(bytes);
    return fileOf(lines.toSpliced(at % (track === '2' ? lines.length - 1 : lines.length), 1));
  },
  'a line that is there twice': (bytes, [at = 0, to = 0]) => {
    const lines = linesOf(bytes);
    const line = lines[at % lines.length] ?? '';
    return fileOf(lines.toSpliced(to % (lines.length + 1), 0, line));
  },
  'two lines in each other’s place': (bytes, [at = 0, distance = 0]) => {
    const lines = linesOf(bytes);
    const one = at % lines.length;
    const other = (one + 1 + (distance % (lines.length - 1))) % lines.length;
    const [first = '', second = ''] = [lines[one], lines[other]];
    return fileOf(lines.with(one, second).with(other, first));
  },
};

describe('verify', () => {
  it('finds nothing in a log that nobody has touched #audit', async () => {
    const { faults, tracks } = await verifyAudit(await someLog(), auditFolder, auditKey);
    expect(faults).toEqual([]);
    expect(tracks.map(({ track, starts, isOpen }) => ({ track, starts, isOpen }))).toEqual([
      { track: '1', starts: 3, isOpen: false },
      { track: '2', starts: 1, isOpen: false },
    ]);
    expect(tracks[0]?.files).toBeGreaterThan(3);
  });

  for (const [name, change] of Object.entries(changes)) {
    for (const [how, key] of [
      ['with a key', auditKey] as const,
      ['without a key', null] as const,
    ]) {
      it(`finds ${name}, ${how} #audit`, async () => {
        const whole = await someLog(key);
        const paths = [...whole.files.keys()].filter(
          (path) => linesOf(whole.files.get(path) ?? Buffer.alloc(0)).length > 1,
        );
        const dice = fc.array(fc.nat(1_000_000), { minLength: 2, maxLength: 2 });
        await fc.assert(
          fc.asyncProperty(fc.constantFrom(...paths), dice, async (path, numbers) => {
            const disk = copyOf(whole);
            const before = whole.files.get(path) ?? Buffer.alloc(0);
            const after = change(before, numbers, path.split('/').at(-2) ?? '');
            fc.pre(!after.equals(before));
            disk.files.set(path, after);
            const { faults } = await verifyAudit(disk, auditFolder, key);
            expect(faults.length).toBeGreaterThan(0);
          }),
          { numRuns: 60 },
        );
      });
    }
  }

  it('finds a file that is missing between others, and names the lines #audit', async () => {
    const disk = await someLog();
    const [, second = '', third = ''] = [...disk.files.keys()].sort();
    disk.files.delete(second);
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([
      { file: third, line: null, text: expect.stringMatching(/^lines \d+ to \d+ are missing/) },
    ]);
  });

  it('says that files are missing at the beginning, which is no fault #audit', async () => {
    const disk = await someLog();
    const [first = ''] = [...disk.files.keys()].sort();
    disk.files.delete(first);
    const { faults, tracks } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([]);
    expect(tracks[0]?.first).toBeGreaterThan(1);
    expect(tracks.map(({ isComplete }) => isComplete)).toEqual([false, true]);
  });

  it('finds lines removed from the end of a track, once another process has seen them #audit', async () => {
    const disk = await someLog();
    const last =
      [...disk.files.keys()]
        .filter((path) => path.includes('/1/'))
        .sort()
        .at(-1) ?? '';
    disk.files.set(last, fileOf(linesOf(disk.files.get(last) ?? Buffer.alloc(0)).slice(0, -1)));
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([
      expect.objectContaining({ line: 1, text: expect.stringContaining('track 1 has a line') }),
    ]);
  });

  it('finds a genuine line of another track, with the same number, in the place of one #audit', async () => {
    const disk = await someLog();
    const file = (track: string) => `${auditFolder}/${track}/000000000000001.jsonl`;
    const [own, other] = ['1', '2'].map((track) =>
      linesOf(disk.files.get(file(track)) ?? Buffer.alloc(0)),
    );
    disk.files.set(file('1'), fileOf((own ?? []).with(1, other?.[1] ?? '')));
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults[0]).toMatchObject({ file: file('1'), line: 2 });
  });

  it.each([auditKey, null])('finds any change of the very last line #audit', async (key) => {
    const whole = await someLog(key);
    const last = [...whole.files.keys()].sort().at(-1) ?? '';
    const bytes = whole.files.get(last) ?? Buffer.alloc(0);
    for (let at = bytes.lastIndexOf('\n', -2) + 1; at < bytes.length; at += 1) {
      const disk = copyOf(whole);
      disk.files.set(last, changes['a changed byte']?.(bytes, [at, 0], '2') ?? bytes);
      expect((await verifyAudit(disk, auditFolder, key)).faults).toHaveLength(1);
    }
  });

  it('says that a line which is there twice was inserted', async () => {
    const disk = await someLog();
    const [first = ''] = [...disk.files.keys()].sort();
    const lines = linesOf(disk.files.get(first) ?? Buffer.alloc(0));
    disk.files.set(first, fileOf(lines.toSpliced(2, 0, lines[1] ?? '')));
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([
      { file: first, line: 3, text: expect.stringContaining('inserted or moved') },
    ]);
  });

  it('finds lines cut from the beginning of a file that was renamed to hide it #audit', async () => {
    const disk = await someLog();
    const [first = ''] = [...disk.files.keys()].sort();
    const lines = linesOf(disk.files.get(first) ?? Buffer.alloc(0));
    disk.files.delete(first);
    disk.files.set(first.replace('1.jsonl', '2.jsonl'), fileOf(lines.slice(1)));
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults[0]?.text).toContain('a file begins with the line of a start');
  });

  it('finds the same where the cut is before the line of a start #audit', async () => {
    const disk = new FakeAuditDisk();
    for (const process of ['p1', 'p2']) await wholeLog(6, { disk, process });
    const [path = ''] = [...disk.files.keys()];
    const lines = linesOf(disk.files.get(path) ?? Buffer.alloc(0));
    const start = lines.findLastIndex((line) => line.includes('"kind":"start"'));
    expect(start).toBeGreaterThan(1);
    disk.files.delete(path);
    const renamed = path.replace(/\d+(?=\.jsonl)/, String(start + 1).padStart(15, '0'));
    disk.files.set(renamed, fileOf(lines.slice(start)));
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([
      { file: renamed, line: 1, text: expect.stringContaining(`lines 1 to ${start} are missing`) },
    ]);
  });

  it('finds a track that is a copy of another one #audit', async () => {
    const disk = await someLog();
    for (const [path, bytes] of [...disk.files]) {
      if (path.includes('/2/')) disk.files.set(path.replace('/2/', '/3/'), bytes);
    }
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([
      expect.objectContaining({ line: 1, text: expect.stringContaining('written in track 2') }),
    ]);
  });

  it('finds a log of another config with the same key #audit', async () => {
    const disk = await someLog();
    const other = new FakeAuditDisk();
    for (const [path, bytes] of disk.files) other.files.set(path.replace('/state/', '/b/'), bytes);
    const { faults } = await verifyAudit(other, auditFolder.replace('/state/', '/b/'), auditKey);
    expect(faults[0]?.text).toContain('written for another config');
  });

  it('reads what earlier versions have written, without the place of a line #audit', async () => {
    const disk = new FakeAuditDisk();
    const old = { process: 'p0', pid: 1, program: '0', startedBy: 'test', key: null, others: [] };
    const { line } = nextLine(chainBegin, { kind: 'start', at: 0, ...old } as never, auditKey);
    disk.files.set(`${auditFolder}/1/000000000000001.jsonl`, Buffer.from(line));
    await wholeLog(2, { disk });
    const { faults, tracks } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([]);
    expect(tracks[0]).toMatchObject({ starts: 2, isComplete: true });
  });

  it('finds a whole track that is gone #audit', async () => {
    const disk = await someLog();
    for (const path of [...disk.files.keys()]) if (path.includes('/1/')) disk.files.delete(path);
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toHaveLength(1);
  });

  it('finds a log that was written anew without the key #audit', async () => {
    const { faults } = await verifyAudit(await someLog(null), auditFolder, auditKey);
    expect(faults[0]?.text).toContain('not written with the key');
  });

  it('says that the key is missing or another one', async () => {
    const disk = await someLog();
    const without = await verifyAudit(disk, auditFolder, null);
    expect(without.faults[0]?.text).toContain('there is none to check it with');
    const other = await verifyAudit(disk, auditFolder, Buffer.alloc(32, 8));
    expect(other.faults[0]?.text).toContain('written with another key');
  });

  it('does not judge lines of a newer version', async () => {
    const disk = new FakeAuditDisk();
    const file = `${auditFolder}/1/000000000000001.jsonl`;
    disk.files.set(file, Buffer.from('{"v":2,"n":1,"is":"other"}\n'));
    const { faults } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([
      { file, line: 1, text: expect.stringContaining('newer version of Holdfast (format 2)') },
    ]);
  });

  it('counts calls that have no end', async () => {
    const { trail, disk } = auditTrail();
    await trail.keep(beginRecord(1));
    await trail.keep(beginRecord(2));
    trail.note({ kind: 'end', at: 3, id: 'p1-1', outcome: 'ok', dispatched: 'yes', ms: 1 });
    await trail[Symbol.asyncDispose]();
    const { tracks } = await verifyAudit(disk, auditFolder, auditKey);
    expect(tracks[0]?.unfinished).toBe(1);
  });
});
