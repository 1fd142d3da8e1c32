// The writer of the audit log: what it does when the disk is busy, full, hanging or torn, and that the log
// says itself what is missing in it.

import { describe, expect, it } from 'vitest';
import {
  auditFolder,
  auditKey,
  auditTrail,
  beginRecord,
  wholeLog,
} from '../../test/support/audit-log.ts';
import type { FakeAuditDisk } from '../../test/support/fake-audit-disk.ts';
import { settled } from '../../test/support/manual-clock.ts';
import { ignored } from '../kernel/contain.ts';
import { NotAudited } from './audit-trail.ts';
import { verifyAudit } from './verify.ts';

const end = (number: number) =>
  ({
    kind: 'end',
    at: number,
    id: `p1-${number}`,
    outcome: 'ok',
    dispatched: 'yes',
    ms: 1,
  }) as const;

async function faultsOf(disk: FakeAuditDisk) {
  return (await verifyAudit(disk, auditFolder, auditKey)).faults;
}

const kindsIn = (disk: FakeAuditDisk, track = '1') =>
  disk.records(`${auditFolder}/${track}`).map(({ kind }) => kind);

describe('a record that is kept', () => {
  it('is on the disk when its caller goes on; those that come meanwhile share one write #audit', async () => {
    const { trail, disk } = auditTrail();
    let release = () => {};
    disk.held = new Promise((resolve) => {
      release = resolve;
    });
    const kept = Array.from({ length: 200 }, (_, index) => trail.keep(beginRecord(index + 1)));
    await settled();
    expect(disk.syncs).toBe(0);
    release();
    await Promise.all(kept);
    expect(disk.writes).toBe(2);
    expect(disk.syncs).toBe(2);
    await trail[Symbol.asyncDispose]();
    const ids = disk
      .records(`${auditFolder}/1`)
      .flatMap(({ kind, id }) => (kind === 'begin' ? [id] : []));
    expect(ids).toEqual(Array.from({ length: 200 }, (_, index) => `p1-${index + 1}`));
    expect(await faultsOf(disk)).toEqual([]);
  });

  it('is refused when the disk is full, and nothing of it is left; the log tells how many were #audit', async () => {
    const { trail, disk, reports } = auditTrail();
    await trail.keep(beginRecord(1));
    disk.failing = 'ENOSPC';
    disk.tornBytes = 1_000_000;
    await expect(trail.keep(beginRecord(2))).rejects.toThrow(NotAudited);
    disk.tornBytes = 40;
    await expect(trail.keep(beginRecord(3))).rejects.toThrow('free space');
    expect(trail.health).toMatchObject({ problem: expect.stringContaining('ENOSPC'), refused: 2 });
    disk.failing = undefined;
    await trail.keep(beginRecord(4));
    await trail.keep(beginRecord(5));
    expect(trail.health).toEqual({ problem: null, lost: 0, refused: 2 });
    expect(reports).toHaveLength(2);
    await trail[Symbol.asyncDispose]();
    const [, , lost, last] = disk.records(`${auditFolder}/1`);
    expect(lost).toMatchObject({ kind: 'lost', records: 0, refused: 2 });
    expect(last).toMatchObject({ id: 'p1-4' });
    expect(kindsIn(disk)).toEqual(['start', 'begin', 'lost', 'begin', 'begin', 'stop']);
    expect(await faultsOf(disk)).toEqual([]);
  });

  it('is refused when the disk hangs, and may be written later #audit', async () => {
    const { trail, disk, clock } = auditTrail();
    let release = () => {};
    disk.held = new Promise((resolve) => {
      release = resolve;
    });
    const kept = trail.keep(beginRecord(1)).catch((error: unknown) => error);
    await settled();
    clock.advance(10_000);
    expect(await kept).toMatchObject({ isPending: true });
    release();
    disk.held = undefined;
    await trail.keep(beginRecord(2));
    expect(trail.health).toMatchObject({ refused: 1 });
    expect(kindsIn(disk)).toEqual(['start', 'begin', 'lost', 'begin']);
  });
});

describe('a disk that hangs', () => {
  it('holds up a bounded number of records: further ones are refused at once #audit #no-growth', async () => {
    const { trail, disk, clock, reports } = auditTrail({ maxWaiting: 10 });
    let release = () => {};
    disk.held = new Promise((resolve) => {
      release = resolve;
    });
    const ends: unknown[] = [];
    const keep = (number: number) => {
      const kept = trail.keep(beginRecord(number)).then(() => 'kept');
      kept
        .catch((error: unknown) => error)
        .then((end) => ends.push(end))
        .catch(ignored);
    };
    // The first is being written, ten wait.
    for (let number = 1; number <= 11; number += 1) keep(number);
    await settled();
    expect(ends).toEqual([]);
    keep(12);
    await settled();
    expect(ends).toEqual([expect.objectContaining({ isFull: true, isPending: false })]);
    expect(reports).toEqual([expect.stringContaining('10 lines wait for the disk')]);
    // Nobody waits for them any more, but they still have their places.
    clock.advance(10_000);
    await settled();
    expect(ends).toHaveLength(12);
    keep(13);
    await settled();
    expect(ends.at(-1)).toMatchObject({ isFull: true });
    expect(trail.health).toMatchObject({
      refused: 13,
      problem: expect.stringContaining('10 lines'),
    });
    release();
    disk.held = undefined;
    await settled();
    await trail.keep(beginRecord(14));
    expect(trail.health).toEqual({ problem: null, lost: 0, refused: 13 });
    const told = disk.records(`${auditFolder}/1`).filter(({ kind }) => kind === 'lost');
    expect(told.reduce((sum, { refused }) => sum + Number(refused), 0)).toBe(13);
    expect(await faultsOf(disk)).toEqual([]);
  });
});

describe('a record that is noted', () => {
  it('waits for nobody, and is written when the disk can be written again #audit', async () => {
    const { trail, disk, clock } = auditTrail();
    disk.failing = 'ENOSPC';
    trail.note(end(1));
    clock.advance(20);
    await settled();
    expect(trail.health.problem).toContain('ENOSPC');
    trail.note(end(2));
    disk.failing = undefined;
    clock.advance(1_000);
    await settled();
    expect(trail.health).toEqual({ problem: null, lost: 0, refused: 0 });
    expect(kindsIn(disk)).toEqual(['start', 'end', 'end']);
  });

  it('while a slow write is under way is written after it, and so are all that follow #audit', async () => {
    const { trail, disk, clock } = auditTrail();
    let release = () => {};
    disk.held = new Promise((resolve) => {
      release = resolve;
    });
    trail.note(end(1));
    clock.advance(20);
    await settled();
    trail.note(end(2));
    clock.advance(20);
    await settled();
    release();
    disk.held = undefined;
    await settled();
    for (const number of [3, 4]) {
      clock.advance(20);
      await settled();
      trail.note(end(number));
    }
    clock.advance(20);
    await settled();
    expect(kindsIn(disk)).toEqual(['start', 'end', 'end', 'end', 'end']);
  });

  it('is dropped when too many wait, and the log says how many are missing #audit #no-growth', async () => {
    const { trail, disk, clock } = auditTrail({ maxWaiting: 10 });
    disk.failing = 'ENOSPC';
    for (let number = 1; number <= 25; number += 1) trail.note(end(number));
    expect(trail.health.lost).toBe(15);
    disk.failing = undefined;
    clock.advance(1_000);
    await settled();
    expect(kindsIn(disk)).toEqual(['start', 'lost', ...Array(10).fill('end')]);
    expect(disk.records(`${auditFolder}/1`)[1]).toMatchObject({ records: 15 });
  });
});

describe('a process', () => {
  it('cuts off what a crash has left, and its first line says so #audit', async () => {
    const disk = await wholeLog(2);
    const [path = ''] = disk.files.keys();
    const torn = Buffer.from('{"v":1,"n":5,"pre');
    disk.files.set(path, Buffer.concat([disk.files.get(path) ?? torn, torn]));
    expect((await faultsOf(disk))[0]?.text).toContain('not complete (17 bytes)');
    await wholeLog(1, { disk, process: 'p2' });
    const start = disk.records(`${auditFolder}/1`).find(({ process }) => process === 'p2');
    expect(start).toMatchObject({ kind: 'start', cut: { bytes: 17 } });
    const { faults, tracks } = await verifyAudit(disk, auditFolder, auditKey);
    expect(faults).toEqual([]);
    expect(tracks[0]?.cuts).toBe(1);
  });

  it('notes that lines which it had written are gone #audit', async () => {
    const { trail, disk } = auditTrail();
    await trail.keep(beginRecord(1));
    await trail.keep(beginRecord(2));
    const [path = ''] = disk.files.keys();
    const bytes = disk.files.get(path) ?? Buffer.alloc(0);
    disk.files.set(path, bytes.subarray(0, bytes.lastIndexOf('\n', -2) + 1));
    await trail.keep(beginRecord(3));
    expect((await faultsOf(disk))[0]?.text).toContain(
      'lines up to 3 were written here and removed',
    );
    disk.files.delete(path);
    await trail.keep(beginRecord(4));
    expect(kindsIn(disk)).toEqual(['more', 'gap', 'begin']);
  });

  it('refuses a record whose file was moved away while it was written #audit', async () => {
    const { trail, disk, reports } = auditTrail();
    await trail.keep(beginRecord(1));
    const [path = ''] = disk.files.keys();
    let release = () => {};
    disk.held = new Promise((resolve) => {
      release = resolve;
    });
    const kept = trail.keep(beginRecord(2));
    await settled();
    disk.moveAfterWrite = path;
    release();
    await expect(kept).rejects.toThrow('moved away');
    disk.held = undefined;
    await trail.keep(beginRecord(3));
    expect(kindsIn(disk)).toEqual(['more', 'gap', 'lost', 'begin']);
    expect(reports.join()).toContain('must stay in its place');
  });

  it('goes on after an error that has left whole lines', async () => {
    const { trail, disk } = auditTrail();
    await trail.keep(beginRecord(1));
    // The write reaches the file, and neither is it confirmed nor can it be taken back.
    disk.failing = 'EIO';
    disk.tornBytes = 1_000_000;
    await expect(trail.keep(beginRecord(2))).rejects.toThrow(NotAudited);
    disk.failing = undefined;
    await trail.keep(beginRecord(3));
    expect(await faultsOf(disk)).toEqual([]);
  });

  it('takes a track that no other one has, and leaves a damaged one alone #audit', async () => {
    const disk = await wholeLog(1);
    const [path = ''] = disk.files.keys();
    const damaged = Buffer.concat([
      disk.files.get(path) ?? Buffer.alloc(0),
      Buffer.from('no line\n'),
    ]);
    disk.files.set(path, damaged);
    const { trail, reports } = auditTrail({ disk, process: 'p2', held: ['2'] });
    await trail.keep(beginRecord(1));
    expect(kindsIn(disk, '3')).toEqual(['start', 'begin']);
    expect(disk.files.get(path)).toEqual(damaged);
    expect(reports[0]).toContain('is left as it is');
  });

  it('leaves no file open while what a crash has left cannot be cut off #audit #no-growth', async () => {
    const disk = await wholeLog(1);
    const [path = ''] = disk.files.keys();
    const torn = Buffer.concat([disk.files.get(path) ?? Buffer.alloc(0), Buffer.from('{"v":1')]);
    disk.files.set(path, torn);
    disk.failing = 'EIO';
    const { trail } = auditTrail({ disk, process: 'p2' });
    for (let time = 1; time <= 5; time += 1) {
      await expect(trail.keep(beginRecord(time))).rejects.toThrow('EIO');
      expect(disk.opened).toBe(0);
    }
    disk.failing = undefined;
    await trail.keep(beginRecord(6));
    await trail[Symbol.asyncDispose]();
    expect([await faultsOf(disk), disk.opened]).toEqual([[], 0]);
  });

  it('uses another track where a file can only be appended to, and says so #audit', async () => {
    const disk = await wholeLog(1);
    const [path = ''] = disk.files.keys();
    const torn = Buffer.concat([disk.files.get(path) ?? Buffer.alloc(0), Buffer.from('{"v":1')]);
    disk.files.set(path, torn);
    disk.appendOnly.add(path);
    const { trail, reports } = auditTrail({ disk, process: 'p2' });
    await trail.keep(beginRecord(1));
    expect(kindsIn(disk, '2')).toEqual(['start', 'begin']);
    expect(disk.files.get(path)).toEqual(torn);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain('can only be appended to (chattr +a), and is left as it is');
    expect(disk.opened).toBe(1);
  });

  it('does the same when that happens while it writes, also if the next track fails at first #audit', async () => {
    const { trail, disk, reports } = auditTrail();
    await trail.keep(beginRecord(1));
    const [path = ''] = disk.files.keys();
    disk.appendOnly.add(path);
    disk.failing = 'ENOSPC';
    disk.tornBytes = 10;
    for (let time = 1; time <= 70; time += 1) {
      await expect(trail.keep(beginRecord(2))).rejects.toThrow('ENOSPC');
    }
    disk.failing = undefined;
    await trail.keep(beginRecord(3));
    await trail.keep(beginRecord(4));
    await trail[Symbol.asyncDispose]();
    expect(kindsIn(disk, '2')).toEqual(['start', 'lost', 'begin', 'begin', 'stop']);
    expect(disk.opened).toBe(0);
    expect(reports.filter((line) => line.includes('chattr +a'))).toHaveLength(1);
    // What is left of the line is all that `verify` finds.
    expect((await faultsOf(disk)).map(({ text }) => text)).toEqual([
      expect.stringContaining('not complete (10 bytes)'),
    ]);
  });

  it('continues a file that was begun when the disk was full', async () => {
    const options = { maxFileBytes: 600 };
    const { trail, disk } = auditTrail(options);
    await trail.keep(beginRecord(1));
    disk.failing = 'ENOSPC';
    await expect(trail.keep(beginRecord(2))).rejects.toThrow(NotAudited);
    expect([...disk.files.values()].map(({ length }) => length > 0)).toEqual([true, false]);
    disk.failing = undefined;
    await wholeLog(1, { disk, process: 'p2', ...options });
    expect(await faultsOf(disk)).toEqual([]);
  });

  it('that has written nothing leaves nothing', async () => {
    const { trail, disk } = auditTrail();
    await trail[Symbol.asyncDispose]();
    expect(disk.files.size).toBe(0);
  });
});
