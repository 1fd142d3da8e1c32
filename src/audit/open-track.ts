// Chooses the track that a process writes. Several processes of one config write at once (an instance, a
// gateway on stdio, a command without an instance), and each needs a chain of its own: a process takes the
// first track that nobody has, and the next process continues it. A track that cannot be continued is left
// as it is, for `verify` to report, and another one is used: also while the log is written. At its start a process writes down where the
// other tracks end, so that what is removed from them later is missed.

import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { errnoOf } from '../kernel/errno.ts';
import type { AuditDisk } from './audit-disk.ts';
import { keyName } from './audit-line.ts';
import type { StartRecord, TrackEnd } from './audit-record.ts';
import type { AuditSink } from './audit-trail.ts';
import { DamagedTrack, endOfTrack, Track } from './track.ts';
import { configOf, tracksIn } from './track-files.ts';

export interface TrackClaim {
  release(): Promise<void>;
}

/** Makes the folder of a track this process's own; undefined if another process has it. */
export type ClaimTrack = (folder: string) => Promise<TrackClaim | undefined>;

export interface AuditLogOptions {
  readonly disk: AuditDisk;
  readonly clock: Clock;
  readonly folder: string;
  /** Null: the lines have no MAC. Throws if there should be a key, and it cannot be had. */
  readonly key: () => Promise<Buffer | null>;
  /** Null: the process has a track that no other one ever uses. */
  readonly claim: ClaimTrack | null;
  readonly process: Pick<StartRecord, 'process' | 'pid' | 'program' | 'startedBy'>;
  /** One line for each track that cannot be continued. */
  readonly report: (line: string) => void;
  /** Lines that this process had written are not there any more. */
  readonly gapFound?: () => void;
  readonly maxFileBytes?: number;
}

/** More processes at once than anybody has. */
const mostTracks = 64;

export async function openAuditLog(options: AuditLogOptions): Promise<AuditSink> {
  const key = await options.key();
  const left = new LeftTracks(options);
  let own = await firstTrack(options, left, key);
  return {
    async append(records, isSynced) {
      try {
        await own.track.append(records, isSynced);
      } catch (error) {
        if (!(error instanceof DamagedTrack)) throw error;
        // Nothing was written.
        left.add(own.name, error);
        const next = await firstTrack(options, left, key);
        await own.claim.release();
        own = next;
        await own.track.append(records, isSynced);
      }
    },
    close: (last) => own.track.close(last).finally(() => own.claim.release()),
  };
}

/** Tracks that this process cannot continue; each is reported once. */
class LeftTracks {
  readonly #report: (line: string) => void;
  /** By name; at most `mostTracks`. */
  readonly #names = new Set<string>();

  constructor({ report }: AuditLogOptions) {
    this.#report = report;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  add(name: string, { message }: DamagedTrack): void {
    if (this.#names.has(name)) return;
    this.#names.add(name);
    this.#report(`${message}, and is left as it is; see: holdfast audit verify`);
  }
}

/** The first track that nobody has and that can be continued. */
async function firstTrack(options: AuditLogOptions, left: LeftTracks, key: Buffer | null) {
  for (const name of trackNames(options)) {
    const claim = left.has(name) ? undefined : await claimed(options, name);
    if (claim === undefined) continue;
    try {
      return { name, claim, track: await openTrack(options, name, key) };
    } catch (error) {
      await claim.release();
      if (!(error instanceof DamagedTrack)) throw error;
      left.add(name, error);
    }
  }
  throw new Error(`${mostTracks} processes write it already, or its files are damaged`);
}

function trackNames({ claim, process }: AuditLogOptions): readonly string[] {
  if (claim === null) return [`own-${process.process}`];
  return Array.from({ length: mostTracks }, (_, index) => String(index + 1));
}

async function claimed({ folder, claim }: AuditLogOptions, name: string) {
  if (claim === null) return { release: async () => {} };
  return await claim(join(folder, name));
}

async function openTrack(
  { disk, clock, folder, process, maxFileBytes, report, gapFound }: AuditLogOptions,
  name: string,
  key: Buffer | null,
): Promise<Track> {
  return await Track.open({
    disk,
    clock,
    folder: join(folder, name),
    key,
    gapFound: (told) => {
      report(told);
      gapFound?.();
    },
    start: {
      ...process,
      config: configOf(folder),
      track: name,
      key: key && keyName(key),
      others: await endsOfOthers(disk, folder, name),
    },
    ...(maxFileBytes === undefined ? {} : { maxFileBytes }),
  });
}

async function endsOfOthers(disk: AuditDisk, folder: string, own: string): Promise<TrackEnd[]> {
  const ends: TrackEnd[] = [];
  for (const track of await tracksIn(disk, folder)) {
    if (track === own || ends.length === mostTracks) continue;
    const end = await endOfTrack(disk, join(folder, track)).catch(ifUnreadable);
    if (end) ends.push({ track, ...end });
  }
  return ends;
}

/** It is reported by `verify`. */
function ifUnreadable(error: unknown): undefined {
  if (errnoOf(error) === undefined) throw error;
}
