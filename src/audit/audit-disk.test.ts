// The real disk of the audit log: it notices that a file was moved, removed, replaced or changed by somebody else.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeAuditDisk } from './audit-disk.ts';

async function opened() {
  const top = mkdtempSync(join(tmpdir(), 'holdfast-audit-'));
  const folder = join(top, 'audit', '1');
  const path = join(folder, '1.jsonl');
  const file = await nodeAuditDisk.open(path);
  onTestFinished(async () => {
    await file.close();
    rmSync(top, { recursive: true });
  });
  await file.append(Buffer.from('one\n'));
  return { folder, path, file };
}

describe('a file of the audit log', () => {
  it('is as it was left, whatever it says #audit', async () => {
    const { file, path } = await opened();
    expect([await file.isInPlace(), await file.isAsLeft(4)]).toEqual([true, true]);
    await file.append(Buffer.from('two\n'));
    expect([await file.isAsLeft(4), await file.isAsLeft(8)]).toEqual([false, true]);
    await file.cut(4);
    const end = { size: 4, end: Buffer.from('ne\n') };
    expect([await file.isAsLeft(4), await nodeAuditDisk.readEnd(path, 3)]).toEqual([true, end]);
  });

  it.each([
    ['moved', (path: string) => renameSync(path, `${path}.old`)],
    ['removed', (path: string) => rmSync(path)],
    ['removed with its folder', (path: string) => rmSync(join(path, '..'), { recursive: true })],
    [
      'replaced by another',
      (path: string) => {
        writeFileSync(`${path}.new`, 'one\n');
        renameSync(`${path}.new`, path);
      },
    ],
    [
      'below what is no folder any more',
      (path: string) => {
        rmSync(join(path, '..'), { recursive: true });
        writeFileSync(join(path, '..'), '');
      },
    ],
  ])('is not in its place if it was %s #audit', async (_, change) => {
    const { file, path } = await opened();
    change(path);
    expect([await file.isInPlace(), await file.isAsLeft(4)]).toEqual([false, false]);
  });

  it('is not as it was left if somebody has cut it #audit', async () => {
    const { file, path } = await opened();
    writeFileSync(path, 'one');
    expect([await file.isInPlace(), await file.isAsLeft(4)]).toEqual([true, false]);
  });
});
