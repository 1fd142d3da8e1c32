import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lookAtDisk } from './disk-check.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-look-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('looking at the disk of a state directory', () => {
  it('finds nothing wrong with one that can be written, or is yet to be made', async () => {
    expect(await lookAtDisk(folder)).toEqual({ ok: true });
    expect(await lookAtDisk(join(folder, 'a', 'b'))).toEqual({ ok: true });
  });

  it('tells what has its place, and what to do', async () => {
    const file = join(folder, 'state');
    writeFileSync(file, '');
    expect(await lookAtDisk(file)).toEqual({
      ok: false,
      problem: `${file} cannot be used (ENOTDIR): something of another type exists at that path: move it away`,
    });
  });
});
