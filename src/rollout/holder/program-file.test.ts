import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
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

  it.each([
    ['a file beside it', 'bin/chunk.js', 0o646, 'chunk.js can be changed by others'],
    ['its folder', 'bin', 0o757, 'bin can be changed by others'],
    ['a folder further out', '', 0o757, ' can be changed by others'],
  ])('may not be used if others can change %s #rollout', (_, what, mode, why) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-program-')));
    onTestFinished(() => rmSync(root, { recursive: true }));
    mkdirSync(join(root, 'bin'), { mode: 0o755 });
    const files = ['main.js', 'chunk.js', 'notes.txt'].map((name) => join(root, 'bin', name));
    for (const file of files) writeFileSync(file, '', { mode: 0o644 });
    chmodSync(files[2] as string, 0o666);
    const main = files[0] as string;
    expect(programFlaw(main)).toBeUndefined();
    chmodSync(join(root, what), mode);
    expect(programFlaw(main)).toContain(why);
  });

  it('has to be there', () => {
    expect(programFlaw('/nowhere/main.js')).toBe('/nowhere/main.js cannot be read now (ENOENT)');
  });
});
