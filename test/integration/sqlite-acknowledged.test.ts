// A database that has lost what was acknowledged says so, whatever took it: the end of the log, a bit of its
// last change, an older file in its place. What was refused is not a loss, and a change that finds nothing
// to write does not show that the disk works.

import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitNumberIn } from '../../src/store/sqlite/commit-number.ts';
import { headerOf, walState } from '../../src/store/sqlite/wal-check.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { crashImage, newFolder, openHere, refusing } from '../support/sqlite-place.ts';

const durable = { durability: 'durable' } as const;
const frameBytes = 4096 + 24;

/** Five records, the last three of them in the log only; the files as a kill leaves them. */
async function killed(): Promise<string> {
  const file = join(newFolder(), 'state.db');
  const first = openHere(file, new ManualClock()).store;
  for (const key of ['1', '2']) await first.records('things', durable).put(key, key);
  await first.close();
  const second = openHere(file, new ManualClock()).store;
  for (const key of ['3', '4', '5']) await second.records('things', durable).put(key, key);
  const image = crashImage(file);
  await second.close();
  return image;
}

async function readAt(file: string) {
  const { store, problems } = openHere(file, new ManualClock());
  const records = store.records('things', durable);
  const read = {
    keys: (await records.entries()).map(({ key }) => key).join(''),
    isWhole: await records.isWhole(),
    isWell: store.health().ok,
    isReported: problems.some(({ kind }) => kind === 'damaged'),
  };
  await store.close();
  return read;
}

/** Where each change of the log ends. */
function endsOf(wal: Buffer): readonly number[] {
  const frames = [...(headerOf(wal)?.frames() ?? [])];
  return frames.filter(({ isCommit }) => isCommit).map(({ end }) => end);
}

const loss = { isWhole: false, isWell: false, isReported: true };

describe('a database that has lost acknowledged changes', () => {
  it('with the end of its log says so, until its user has taken note #durable', async () => {
    const file = await killed();
    truncateSync(`${file}-wal`, readFileSync(`${file}-wal`).length - 2 * frameBytes);
    expect(await readAt(file)).toEqual({ keys: '1234', ...loss });
    expect(await readAt(file)).toEqual({ keys: '1234', ...loss });
    rmSync(`${file}-lost`);
    expect(await readAt(file)).toMatchObject({ keys: '1234', isWhole: true, isWell: true });
  });

  it('and cannot be told to have is not used: later changes would hide it #durable', async () => {
    const file = await killed();
    truncateSync(`${file}-wal`, readFileSync(`${file}-wal`).length - 2 * frameBytes);
    symlinkSync('/no/such/folder/note', `${file}-lost`);
    for (let start = 0; start < 2; start += 1) {
      expect(() => openHere(file, new ManualClock())).toThrow('acknowledged changes are missing');
    }
    rmSync(`${file}-lost`);
    expect(await readAt(file)).toEqual({ keys: '1234', ...loss });
  });

  it('says so also if something stands behind the number of the last commit #durable', async () => {
    const file = await killed();
    appendFileSync(`${file}-acknowledged`, ' ');
    truncateSync(`${file}-wal`, readFileSync(`${file}-wal`).length - 2 * frameBytes);
    expect(await readAt(file)).toEqual({ keys: '1234', ...loss });
  });

  it('by a flipped bit in its last change says so #durable', async () => {
    const file = await killed();
    const wal = readFileSync(`${file}-wal`);
    wal[wal.length - 1] = (wal.at(-1) ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, wal);
    expect(await readAt(file)).toEqual({ keys: '1234', ...loss });
  });

  it('because an older file is in its place, or an empty one, says so #durable', async () => {
    const [older, file] = [await killed(), await killed()];
    rmSync(`${older}-wal`);
    rmSync(`${file}-wal`);
    copyFileSync(older, file);
    expect(await readAt(file)).toEqual({ keys: '12', ...loss });
    const emptied = await killed();
    rmSync(`${emptied}-wal`);
    truncateSync(emptied, 0);
    expect(await readAt(emptied)).toEqual({ keys: '', ...loss });
    const zeroed = await killed();
    rmSync(`${zeroed}-wal`);
    writeFileSync(zeroed, Buffer.alloc(4096));
    expect(await readAt(zeroed)).toEqual({ keys: '', ...loss });
  });

  it('because its file is missing beside its log sets the log aside and says so #durable', async () => {
    const file = await killed();
    rmSync(file);
    expect(await readAt(file)).toEqual({ keys: '', ...loss });
    expect(existsSync(`${file}-wal.damaged`)).toBe(true);
  });

  it('because it was moved away, as is advised, is a new one', async () => {
    const file = await killed();
    await readAt(file);
    rmSync(file);
    expect(await readAt(file)).toEqual({
      keys: '',
      isWhole: true,
      isWell: true,
      isReported: false,
    });
  });
});

describe('a database whose loss was noted', () => {
  /** As a user does who has taken note of it, while it is in use or later. */
  const takeNote = (file: string) => {
    for (const end of ['-lost', '-wal.damaged']) rmSync(`${file}${end}`, { force: true });
  };
  const flip = (file: string, at: number) => {
    const bytes = readFileSync(file);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(file, bytes);
  };
  it.each(['1234', '123'])(
    'and that holds %s is well after a power cut in its next change #durable',
    async (left) => {
      const file = await killed();
      const [third = 0, fourth = 0] = endsOf(readFileSync(`${file}-wal`));
      if (left === '1234') truncateSync(`${file}-wal`, fourth + frameBytes);
      else flip(`${file}-wal`, third + 2_000);
      const { store, problems } = openHere(file, new ManualClock());
      expect(problems.map(({ kind }) => kind)).toContain('damaged');
      takeNote(file);
      const acknowledged = readFileSync(`${file}-acknowledged`);
      await store.records('things', durable).put('6', '6');
      const image = crashImage(file);
      await store.close();
      // The number is not forced to the disk, and the change is half there: that is reported, and is no loss.
      writeFileSync(`${image}-acknowledged`, acknowledged);
      flip(`${image}-wal`, (endsOf(readFileSync(`${image}-wal`)).at(-1) ?? 0) - 2_000);
      expect(await readAt(image)).toMatchObject({ keys: left, isWhole: true, isWell: true });
    },
  );
});

describe('a database whose first page was never written', () => {
  it.each(['with its journal', 'without one'])('%s is a new one #durable', async (journal) => {
    const file = join(newFolder(), 'state.db');
    // The file has grown, but the power was cut before any of its bytes were on the disk.
    writeFileSync(file, Buffer.alloc(4096), { mode: 0o600 });
    if (journal === 'with its journal') {
      writeFileSync(`${file}-journal`, Buffer.alloc(512), { mode: 0o600 });
    }
    const read = { keys: '', isWhole: true, isWell: true, isReported: false };
    expect(await readAt(file)).toEqual(read);
    expect(await readAt(file)).toEqual(read);
  });
});

describe('the log of a disk that has refused changes', () => {
  it('may lack any part of them, their numbers as well, which is not a loss #durable', async () => {
    const wal = readFileSync(`${await killed()}-wal`);
    const [third = 0, fourth = 0] = endsOf(wal);
    const header = wal.subarray(0, 32);
    const change = wal.subarray(third, fourth);
    const frames = Array.from({ length: change.length / frameBytes }, (_, at) => {
      return Buffer.from(change.subarray(at * frameBytes, (at + 1) * frameBytes));
    });
    const numbered = frames.find((frame) => commitNumberIn(frame) !== undefined);
    for (const lost of ['frame', 'page']) {
      const refused = frames.map((frame) => {
        const left = Buffer.from(frame);
        if (frame === numbered) left.fill(0, lost === 'page' ? 24 : 0);
        return left;
      });
      // Its next try was under way when the power was cut.
      expect(walState(Buffer.concat([header, ...refused, ...refused]))).toBe('torn');
    }
  });

  it('holds what is left of them, which is not a loss; a change after them is one #durable', async () => {
    const wal = readFileSync(`${await killed()}-wal`);
    const [third = 0, fourth = 0, fifth = 0] = endsOf(wal);
    const whole = wal.subarray(0, third);
    const broken = Buffer.from(wal.subarray(third, fourth));
    broken[100] = (broken[100] ?? 0) ^ 1;
    // The fourth change was tried three times, and never succeeded.
    expect(walState(Buffer.concat([whole, broken, broken, broken]))).toBe('torn');
    expect(walState(Buffer.concat([whole, broken, wal.subarray(fourth, fifth)]))).toBe('damaged');
  });
});

describe('the log of a database with many pages', () => {
  it('is damaged by a flipped bit in any page of the last change but one #durable', async () => {
    const file = join(newFolder(), 'state.db');
    const { store } = openHere(file, new ManualClock());
    const records = store.records('things', durable);
    for (let n = 0; n < 40; n += 1) await records.put(`k${n}`, 'x'.repeat(900));
    const wal = readFileSync(`${file}-wal`);
    await store.close();
    const frames = [...(headerOf(wal)?.frames() ?? [])];
    const ends = frames.filter(({ isCommit }) => isCommit).map(({ end }) => end);
    const [from = 0, to = 0] = [ends.at(-3), ends.at(-2)];
    const change = frames.filter(({ end }) => end > from && end <= to);
    expect(change.length).toBeGreaterThan(1);
    const states = change.map(({ end }) => {
      const flipped = Buffer.from(wal);
      flipped[end - 2_000] = (flipped[end - 2_000] ?? 0) ^ 1;
      return walState(flipped);
    });
    expect(states).toEqual(change.map(() => 'damaged'));
  });
});

describe('a disk that refuses', () => {
  it('is not taken for one that works because a change found nothing to write #disk-faults #durable', async () => {
    let isRefusing = false;
    const used = refusing(() => isRefusing);
    const { store } = openHere(join(newFolder(), 'state.db'), new ManualClock(), used);
    const records = store.records('things', durable);
    await records.put('key', 1);
    isRefusing = true;
    await expect(records.put('key', 2)).rejects.toMatchObject({ reason: 'not_kept' });
    isRefusing = false;
    await records.remove('absent');
    expect(await store.queue('work', durable).claim(1_000)).toBeUndefined();
    expect(store.health().ok).toBe(false);
    await records.put('key', 2);
    expect(store.health().ok).toBe(true);
    await store.close();
  });
});
