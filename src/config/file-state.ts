// The state of a file as one text: another one if the file has changed, been replaced, come or gone. With it
// the files of a config, and the records of tokens, are compared with what was read, without reading them again.

import { type BigIntStats, statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../kernel/errno.ts';

export function stateOfFile(file: string): string {
  try {
    return textOf(file, statSync(file, { bigint: true }));
  } catch (error) {
    return absent(file, error);
  }
}

/** One text for all files. */
export async function stateOfFiles(files: readonly string[]): Promise<string> {
  const states = files.map(async (file) => {
    try {
      return textOf(file, await stat(file, { bigint: true }));
    } catch (error) {
      return absent(file, error);
    }
  });
  return joinedStates(await Promise.all(states));
}

/** One text for all files in these folders. */
export async function stateOfFilesIn(folders: readonly string[]): Promise<string> {
  const states = folders.map(async (folder) => {
    try {
      const names = await readdir(folder);
      return await stateOfFiles(names.sort().map((name) => join(folder, name)));
    } catch (error) {
      return absent(folder, error);
    }
  });
  return joinedStates(await Promise.all(states));
}

export function joinedStates(states: readonly string[]): string {
  return states.join('\n');
}

function textOf(file: string, { ino, dev, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [file, dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function absent(file: string, error: unknown): string {
  return `${file} ${errnoOf(error) ?? 'unknown'}`;
}
