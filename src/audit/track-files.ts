// The files of the audit log by their names. It lies in one folder, with a folder for each track: a chain
// that one process at a time continues. A track is a row of files; the name of each is the number of its
// first line, so that they can be put in order, and a missing one is seen, without reading them.

import { basename, dirname, join } from 'node:path';
import { errnoOf } from '../kernel/errno.ts';
import type { AuditDisk } from './audit-disk.ts';

/** A file is not continued beyond this size. */
export const maxFileBytes = 16_777_216;
/** What is read of one: it may exceed the other limit by one batch, and no file of ours is larger. */
export const maxReadBytes = 4 * maxFileBytes;

const digits = 15;

export interface TrackFile {
  readonly path: string;
  /** The number of its first line. */
  readonly first: number;
}

export function fileFrom(folder: string, first: number): TrackFile {
  return { path: join(folder, `${String(first).padStart(digits, '0')}.jsonl`), first };
}

/** The oldest first. */
export async function filesOf(disk: AuditDisk, folder: string): Promise<readonly TrackFile[]> {
  const names = await disk.list(folder);
  return names
    .flatMap((name) => /^(\d{15})\.jsonl$/.exec(name)?.[1] ?? [])
    .map((first) => fileFrom(folder, Number(first)))
    .sort((one, other) => one.first - other.first);
}

/** The names of the tracks, in a fixed order. */
export async function tracksIn(disk: AuditDisk, folder: string): Promise<readonly string[]> {
  const names = (await disk.list(folder)).filter((name) => /^[0-9a-z-]{1,40}$/.test(name));
  const found: string[] = [];
  for (const name of names) {
    if (await isFolder(disk, join(folder, name))) found.push(name);
  }
  return found.sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));
}

async function isFolder(disk: AuditDisk, path: string): Promise<boolean> {
  try {
    await disk.list(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** Names the config that a log belongs to: the folder that the config has for itself. */
export function configOf(folder: string): string {
  return basename(dirname(folder));
}

/** The lines of a file without their breaks, and what comes after the last break. */
export function linesIn(bytes: Buffer): {
  readonly lines: readonly Buffer[];
  readonly rest: Buffer;
} {
  const lines: Buffer[] = [];
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(0x0a, start);
    if (end < 0) return { lines, rest: bytes.subarray(start) };
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
}
