// Reads the latest calls from an audit log: the two lines of each joined, newest files first, until there
// are enough. Nothing is checked here; `verify` does that. A line that cannot be read is skipped.

import { join } from 'node:path';
import { errnoOf } from '../kernel/errno.ts';
import { FileTooLarge } from '../kernel/file-too-large.ts';
import type { AuditDisk } from './audit-disk.ts';
import { readLine } from './audit-line.ts';
import type { AuditedCall } from './audit-record.ts';
import { filesOf, linesIn, maxReadBytes, tracksIn } from './track-files.ts';

/** One call; `outcome` is null if the log has no end of it. */
export interface AuditEntry extends Omit<AuditedCall, 'token'> {
  readonly token: string | null;
  readonly at: number;
  readonly id: string;
  readonly outcome: string | null;
  readonly dispatched: string | null;
  readonly ms: number | null;
  /** Why it was denied; null: it was not. */
  readonly reason: string | null;
  /** How often, if the line stands for several denials; else 1. */
  readonly count: number;
}

export interface RecentOptions {
  readonly limit: number;
  /** Asked for every call that is read; absent: all of them are wanted. */
  readonly isWanted?: (entry: AuditEntry) => boolean;
}

/** The oldest first. */
export async function recentCalls(
  disk: AuditDisk,
  folder: string,
  options: RecentOptions,
): Promise<readonly AuditEntry[]> {
  let entries: AuditEntry[] = [];
  for (const track of await tracksIn(disk, folder)) {
    entries = [...entries, ...(await recentOf(disk, join(folder, track), options))];
  }
  entries.sort((one, other) => one.at - other.at);
  return options.limit === 0 ? [] : entries.slice(-options.limit);
}

async function recentOf(
  disk: AuditDisk,
  folder: string,
  { limit, isWanted = () => true }: RecentOptions,
): Promise<readonly AuditEntry[]> {
  let found: AuditEntry[] = [];
  /** Ends whose beginning is in an older file. */
  const ends = new Map<string, Members>();
  for (const { path } of [...(await filesOf(disk, folder))].reverse()) {
    const entries = entriesIn(await membersOf(disk, path), ends).filter(isWanted);
    found = [...entries, ...found];
    if (found.length >= limit) break;
  }
  return found.slice(-limit);
}

type Members = Readonly<Record<string, unknown>>;

async function membersOf(disk: AuditDisk, path: string): Promise<readonly Members[]> {
  try {
    const { lines } = linesIn(await disk.read(path, maxReadBytes));
    return lines.flatMap((line) => {
      const read = readLine(line);
      return read === undefined ? [] : [read.members];
    });
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof FileTooLarge)) throw error;
    return [];
  }
}

function entriesIn(lines: readonly Members[], ends: Map<string, Members>): readonly AuditEntry[] {
  for (const line of lines) if (line['kind'] === 'end') ends.set(textIn(line, 'id') ?? '', line);
  return lines.flatMap((line) => {
    const isDenied = line['kind'] === 'denied';
    if (line['kind'] !== 'begin' && !isDenied) return [];
    const id = textIn(line, 'id') ?? '';
    const end = ends.get(id) ?? {};
    return {
      at: numberIn(line, 'at') ?? 0,
      id,
      principal: textIn(line, 'principal') ?? '',
      token: textIn(line, 'token'),
      role: textIn(line, 'role'),
      path: textIn(line, 'path'),
      server: textIn(line, 'server'),
      what: textIn(line, 'what') ?? '',
      name: textIn(line, 'name'),
      method: textIn(line, 'method') ?? '',
      outcome: isDenied ? 'denied' : textIn(end, 'outcome'),
      dispatched: isDenied ? 'no' : textIn(end, 'dispatched'),
      ms: numberIn(end, 'ms'),
      reason: textIn(line, 'reason'),
      count: numberIn(line, 'count') ?? 1,
    };
  });
}

function textIn(
  members: Members,
  name: keyof AuditedCall | 'id' | 'outcome' | 'dispatched' | 'reason',
): string | null {
  const value = members[name];
  return typeof value === 'string' ? value : null;
}

function numberIn(members: Members, name: 'at' | 'ms' | 'count'): number | null {
  const value = members[name];
  return typeof value === 'number' ? value : null;
}
