import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openToOthers, programFlaw } from './program-file.ts';

const me = { uid: 1000, gid: 1000 };

describe('the file of a successor', () => {
  it.each([
    [{ mode: 0o100644, uid: 0, gid: 0 }, false],
    [{ mode: 0o100644, uid: 1000, gid: 1000 }, false],
    [{ mode: 0o100664, uid: 1000, gid: 1000 }, false],
    [{ mode: 0o041777, uid: 0, gid: 0 }, true],
  ])('%j may be used', (found, isFolder) => {
    expect(openToOthers(found, isFolder, me)).toBeUndefined();
  });

  it.each([
    [{ mode: 0o100644, uid: 1001, gid: 1000 }, 'another user'],
    [{ mode: 0o100646, uid: 1000, gid: 1000 }, 'by others'],
    [{ mode: 0o100664, uid: 1000, gid: 50 }, 'by its group'],
    [{ mode: 0o100664, uid: 0, gid: 50 }, 'by its group'],
  ])('%j may not: %s', (found, why) => {
    expect(openToOthers(found, false, me)).toContain(why);
  });

  it('and every module beside it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-program-'));
    try {
      const [main, chunk] = [join(folder, 'main.js'), join(folder, 'chunk.js')];
      for (const file of [main, chunk, join(folder, 'notes.txt')]) writeFileSync(file, '');
      chmodSync(join(folder, 'notes.txt'), 0o666);
      expect(programFlaw(main)).toBeUndefined();
      chmodSync(chunk, 0o666);
      expect(programFlaw(main)).toBe(`${chunk} can be changed by others`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has to be there', () => {
    expect(programFlaw('/nowhere/main.js')).toBe('/nowhere/main.js cannot be read now (ENOENT)');
  });
});
