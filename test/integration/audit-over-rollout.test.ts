// The audit log over rollouts: former and next process write at once, each a track of its own, and whoever comes later
// continues what is free. Real files and the real claims of tracks.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { nodeAuditDisk } from '../../src/audit/audit-disk.ts';
import { AuditTrail } from '../../src/audit/audit-trail.ts';
import { openAuditLog } from '../../src/audit/open-track.ts';
import { recentCalls } from '../../src/audit/recent.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import { trackClaims } from '../../src/instance/track-claim.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { auditKey } from '../support/audit-log.ts';

const root = mkdtempSync(join(tmpdir(), 'holdfast-audit-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function trailOf(folder: string, process: string): AuditTrail {
  const clock = systemClock;
  const report = (line: string) => {
    throw new Error(line);
  };
  const caught = (error: unknown) => {
    throw error;
  };
  const open = () =>
    openAuditLog({
      ...{ disk: nodeAuditDisk, clock, folder, report },
      key: async () => auditKey,
      claim: trackClaims('1.0.0', () => clock.wallNow()),
      process: { process, pid: 1, program: '0', startedBy: 'serve' },
      maxFileBytes: 2_000,
    });
  return new AuditTrail({ clock, folder, report, process, caught, open });
}

async function call(trail: AuditTrail, id: string, isEnded = true): Promise<void> {
  const asked = { principal: 'token:ci', role: 'reader', path: null, server: 'files' };
  const of = { ...asked, what: 'tool', name: 'echo', method: 'tools/call' } as const;
  await trail.keep({ kind: 'begin', at: 1, id, ...of });
  if (isEnded) await end(trail, id);
}

async function end(trail: AuditTrail, id: string): Promise<void> {
  await trail.keep({ kind: 'end', at: 2, id, outcome: 'ok', dispatched: 'yes', ms: 1 } as never);
}

describe('the audit log over rollouts', () => {
  it('has every call of every process, verifies, and needs no more tracks than processes at once', async () => {
    const folder = join(root, 'config', 'audit');
    let former = trailOf(folder, 'p0');
    await call(former, 'p0-1');
    for (let rollout = 1; rollout <= 6; rollout += 1) {
      await call(former, `p${rollout - 1}-late`, false);
      const next = trailOf(folder, `p${rollout}`);
      await Promise.all([
        ...[1, 2, 3].map((number) => call(next, `p${rollout}-${number}`)),
        end(former, `p${rollout - 1}-late`),
      ]);
      expect((await verifyAudit(nodeAuditDisk, folder, auditKey)).faults).toEqual([]);
      await former[Symbol.asyncDispose]();
      former = next;
    }
    await former[Symbol.asyncDispose]();
    const { tracks, faults } = await verifyAudit(nodeAuditDisk, folder, auditKey);
    expect(faults).toEqual([]);
    expect(tracks.map(({ track }) => track)).toEqual(['1', '2']);
    expect(tracks.map(({ isOpen, unfinished, lost }) => [isOpen, unfinished, lost])).toEqual([
      [false, 0, 0],
      [false, 0, 0],
    ]);
    const calls = await recentCalls(nodeAuditDisk, folder, { limit: 1_000 });
    expect(new Set(calls.map(({ id }) => id)).size).toBe(1 + 6 * 4);
    expect(calls.every(({ outcome }) => outcome === 'ok')).toBe(true);
  });
});
