// An audit log on a disk in memory, as one process after another writes it.

import type { AuditRecord } from '../../src/audit/audit-record.ts';
import { AuditTrail } from '../../src/audit/audit-trail.ts';
import { openAuditLog } from '../../src/audit/open-track.ts';
import { FakeAuditDisk } from './fake-audit-disk.ts';
import { ManualClock } from './manual-clock.ts';

export const auditFolder = '/state/audit';
export const auditKey = Buffer.alloc(32, 7);

export interface LogOptions {
  readonly disk?: FakeAuditDisk;
  readonly key?: Buffer | null;
  readonly process?: string;
  readonly maxFileBytes?: number;
  readonly maxWaiting?: number;
  /** Tracks that other processes have. */
  readonly held?: readonly string[];
}

export function auditTrail(options: LogOptions = {}) {
  const { disk = new FakeAuditDisk(), key = auditKey, process = 'p1', held = [] } = options;
  const clock = new ManualClock();
  const reports: string[] = [];
  const report = (line: string) => void reports.push(line);
  const errors: unknown[] = [];
  const { maxFileBytes, maxWaiting } = options;
  const trail = new AuditTrail({
    clock,
    folder: auditFolder,
    report,
    process,
    caught: (error) => errors.push(error),
    ...(maxWaiting === undefined ? {} : { maxWaiting }),
    open: () =>
      openAuditLog({
        disk,
        clock,
        folder: auditFolder,
        key: async () => key,
        claim: async (folder) =>
          held.some((track) => folder.endsWith(`/${track}`))
            ? undefined
            : { release: async () => {} },
        process: { process, pid: 1, program: '0', startedBy: 'test' },
        report,
        ...(maxFileBytes === undefined ? {} : { maxFileBytes }),
      }),
  });
  return { disk, clock, trail, reports, errors };
}

export function beginRecord(number: number, name = 'echo'): AuditRecord {
  const asked = { principal: 'token:ci', role: 'reader', path: null, server: 'files' };
  const call = { ...asked, what: 'tool', name, method: 'tools/call' };
  return { kind: 'begin', at: number, id: `p1-${number}`, ...call };
}

/** Writes so many records as one process, which ends in good order. */
export async function wholeLog(count: number, options: LogOptions = {}): Promise<FakeAuditDisk> {
  const { trail, disk } = auditTrail(options);
  for (let number = 1; number <= count; number += 1) await trail.keep(beginRecord(number));
  await trail[Symbol.asyncDispose]();
  return disk;
}
