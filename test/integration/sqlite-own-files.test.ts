// A database is used only if its files are files of this user that others cannot change; everything else is
// reported, left as it is, and the data is kept in memory. What the store writes beside it is never written
// through a link.

import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/sqlite/open-database.ts';
import { OpenError } from '../../src/store/sqlite/open-error.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { crashImage, driver, newFolder, openHere } from '../support/sqlite-place.ts';

const durable = { durability: 'durable' } as const;
const frameBytes = 4096 + 24;

/** A database with five changes in its log, as a kill leaves it. */
async function killed(): Promise<string> {
  const file = join(newFolder(), 'state.db');
  const { store } = openHere(file, new ManualClock());
  for (const key of ['1', '2', '3', '4', '5']) await store.records('things', durable).put(key, key);
  const image = crashImage(file);
  await store.close();
  return image;
}

function whyRefused(file: string): string {
  try {
    openDatabase(driver(), file).engine.close();
    return 'it was opened';
  } catch (error) {
    if (error instanceof OpenError) return `${error.kind}: ${error.message}`;
    throw error;
  }
}

const names = ['state.db', 'state.db-wal', 'state.db-shm', 'state.db-journal'];

describe('a database is not used', () => {
  it.each(names)('if others can change %s #own-state', async (name) => {
    const file = await killed();
    const one = join(file, '..', name);
    if (!existsSync(one)) writeFileSync(one, '');
    for (const mode of [0o620, 0o602]) {
      chmodSync(one, mode);
      const before = readFileSync(file);
      expect(whyRefused(file)).toBe(`unsafe: ${name} can be changed by others`);
      expect(readFileSync(file)).toEqual(before);
    }
    chmodSync(one, 0o644);
    expect(whyRefused(file)).toBe('it was opened');
  });

  // Only root can give files away.
  it.skipIf(process.geteuid?.() !== 0).each(names)(
    'if %s belongs to another user #own-state',
    async (name) => {
      const file = await killed();
      const one = join(file, '..', name);
      if (!existsSync(one)) writeFileSync(one, '', { mode: 0o600 });
      chownSync(one, 65_534, 65_534);
      expect(whyRefused(file)).toBe(`unsafe: ${name} belongs to another user`);
    },
  );

  it.each(names)('if %s is a folder, or a link to a file #own-state', async (name) => {
    const file = await killed();
    const one = join(file, '..', name);
    if (existsSync(one)) renameSync(one, `${one}.moved`);
    else writeFileSync(`${one}.moved`, '');
    mkdirSync(one);
    expect(whyRefused(file)).toBe(`unsafe: ${name} is not a regular file`);
    renameSync(one, `${one}.folder`);
    symlinkSync(`${one}.moved`, one);
    expect(whyRefused(file)).toBe(`unsafe: ${name} is a symbolic link`);
    expect(lstatSync(one).isSymbolicLink()).toBe(true);
  });
});

describe('a link in place of what is written beside a database', () => {
  function lured(path: string): string {
    const target = join(newFolder(), 'target');
    writeFileSync(target, 'of somebody else');
    symlinkSync(target, path);
    return target;
  }

  it('is not followed by the note of a loss, and the database is not used #own-state', async () => {
    const file = await killed();
    const target = lured(`${file}-lost`);
    truncateSync(`${file}-wal`, readFileSync(`${file}-wal`).length - 2 * frameBytes);
    expect(whyRefused(file)).toMatch(/^unusable: acknowledged changes are missing/);
    expect(readFileSync(target, 'utf8')).toBe('of somebody else');
  });

  it('is not followed by the copy of a damaged log #own-state', async () => {
    const file = await killed();
    const wal = readFileSync(`${file}-wal`);
    const at = wal.length - 3 * frameBytes;
    wal[at] = (wal[at] ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, wal);
    const target = lured(`${file}-wal.damaged`);
    expect(whyRefused(file)).toBe('it was opened');
    expect(readFileSync(target, 'utf8')).toBe('of somebody else');
    expect(readFileSync(`${file}-wal.damaged`)).toEqual(wal);
    expect(lstatSync(`${file}-wal.damaged`).isFile()).toBe(true);
  });

  it('is not followed by a file that is set aside #own-state', async () => {
    const file = await killed();
    writeFileSync(file, 'no database');
    writeFileSync(`${file}-wal`, '');
    const target = lured(`${file}.damaged`);
    expect(whyRefused(file)).toBe('it was opened');
    expect(readFileSync(target, 'utf8')).toBe('of somebody else');
    expect(readFileSync(`${file}.damaged`, 'utf8')).toBe('no database');
  });
});
