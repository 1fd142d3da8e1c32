import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../kernel/system-clock.ts';
import { InstanceRecord, recordsDir } from '../contain/instance-record.ts';
import type { ProcessTable } from '../watch/process-table.ts';
import { sweepOrphans } from './orphan-sweep.ts';

const procDir = '/proc';
const holder = { pid: 50, start: 'born-50' };

/** Only the holder lives. */
const table: ProcessTable = {
  seesEnvironments: true,
  find: async (pid) =>
    pid === holder.pid ? { ...holder, parent: 1, group: 50, session: 50, isZombie: false } : null,
  rows: async () => [],
  carrying: async () => new Set(),
  descendants: async () => [],
  residentBytes: async () => 0,
};

it('a record of a former serving process is the next one’s while their pid-holder lives #rollout', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-sweep-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const host = { pid: 60, start: 'born-60' };
  const notice = () => {};
  await new InstanceRecord({ stateDir, instance: 'me', procDir, host, holder, notice }).open();
  const swept = async (by: { readonly instance?: string; readonly holder?: number } = {}) => {
    const sweeping = { stateDir, procDir, table, clock: systemClock, instance: 'other', notice };
    await sweepOrphans({ ...sweeping, ...by });
    return readdirSync(recordsDir(stateDir));
  };
  expect(await swept()).toEqual(['me.json']);
  expect(await swept({ holder: 51 })).toEqual(['me.json']);
  // A successor has what the record names.
  expect(await swept({ holder: holder.pid, instance: 'me' })).toEqual(['me.json']);
  // The next one after one that was killed finds its processes left behind.
  expect(await swept({ holder: holder.pid })).toEqual([]);
});
