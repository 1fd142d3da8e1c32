// The fingerprint of an installation, with real files.

import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InstalledFiles } from './installed-files.ts';

let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-installed-'));
  install('one');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function install(name: string): string {
  const folder = join(root, name, 'dist', 'cli');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, name, 'package.json'), '{}');
  for (const file of ['main.js', 'chunk-A.js']) writeFileSync(join(folder, file), file);
  return join(folder, 'main.js');
}

const inCli = (file: string) => join(root, 'one', 'dist', 'cli', file);

describe('the fingerprint of the installed files', () => {
  it('is the same while nothing changes', async () => {
    const files = new InstalledFiles(inCli('main.js'));
    const first = await files.look();
    expect(first.kind).toBe('print');
    readFileSync(inCli('main.js'));
    writeFileSync(inCli('main.js.map'), 'no part of the program');
    expect(await files.look()).toEqual(first);
    expect([files.isLaunchPathStable, files.hasChanged]).toEqual([true, false]);
  });

  it.each<[string, () => void]>([
    ['a file has another time', () => utimesSync(inCli('chunk-A.js'), 1, 1)],
    ['a file has another size', () => writeFileSync(inCli('main.js'), 'longer than before')],
    ['a file has come', () => writeFileSync(inCli('chunk-B.js'), '')],
    ['a file has gone', () => unlinkSync(inCli('chunk-A.js'))],
    ['package.json is another one', () => utimesSync(join(root, 'one', 'package.json'), 1, 1)],
    [
      'a file was replaced by one of the same size and time',
      () => {
        const at = new Date(1_000);
        writeFileSync(inCli('other'), 'main.js');
        for (const name of ['other', 'main.js']) utimesSync(inCli(name), at, at);
        renameSync(inCli('other'), inCli('main.js'));
      },
    ],
  ])('is another one when %s', async (_, change) => {
    const files = new InstalledFiles(inCli('main.js'));
    const first = await files.look();
    change();
    const second = await files.look();
    expect(second.kind).toBe('print');
    expect(second).not.toEqual(first);
  });

  it('is taken for the same by a brief look as long as its main file is', async () => {
    const files = new InstalledFiles(inCli('main.js'));
    const first = await files.look(true);
    utimesSync(inCli('chunk-A.js'), 1, 1);
    expect(await files.look(true)).toEqual(first);
    expect(await files.look()).not.toEqual(first);
    const second = await files.look(true);
    utimesSync(inCli('main.js'), 1, 1);
    expect(await files.look(true)).not.toEqual(second);
  });

  it.each(['main.js', '../../package.json', '..'])('is missing with %s', async (name) => {
    const files = new InstalledFiles(inCli('main.js'));
    rmSync(inCli(name), { recursive: true });
    expect(await files.look()).toEqual({ kind: 'missing' });
  });

  it('says when it cannot be looked at', async () => {
    const link = join(root, 'loop');
    symlinkSync(link, link);
    expect(await new InstalledFiles(link).look()).toEqual({ kind: 'unreadable', cause: 'ELOOP' });
  });

  it('follows the path by which the program was started, and says that it leads elsewhere', async () => {
    const link = join(root, 'holdfast');
    symlinkSync(inCli('main.js'), link);
    const files = new InstalledFiles(link);
    const first = await files.look();
    unlinkSync(link);
    expect([await files.look(), files.isLaunchPathStable]).toEqual([{ kind: 'missing' }, false]);
    symlinkSync(install('two'), link);
    const second = await files.look();
    expect(second.kind).toBe('print');
    expect(second).not.toEqual(first);
    expect(files.isLaunchPathStable).toBe(false);
  });
});
