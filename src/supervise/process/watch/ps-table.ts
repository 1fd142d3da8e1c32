// The table of processes from `ps`, for machines without /proc: macOS. Written for it, tried only with
// the `ps` of Linux. It sees neither environments nor sessions; the start time is exact to a second.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { below, type ProcessRow, type ProcessTable } from './process-table.ts';

export const psTable: ProcessTable = {
  seesEnvironments: false,
  find: async (pid) => (await psRows(['-p', String(pid)]))[0] ?? null,
  rows: () => psRows(['-A']),
  carrying: async () => new Set(),
  descendants: async (pid) => below(pid, await psRows(['-A'])),
  residentBytes: async (processes) => {
    const pids = new Set(processes.map(({ pid }) => pid));
    const rows = await psRows(['-A']);
    return rows.reduce((sum, row) => sum + (pids.has(row.pid) ? row.residentBytes : 0), 0);
  },
};

const psColumns = ['pid=', 'ppid=', 'pgid=', 'stat=', 'rss=', 'lstart='];

async function psRows(selection: string[]): Promise<(ProcessRow & { residentBytes: number })[]> {
  const args = [...selection, ...psColumns.flatMap((column) => ['-o', column])];
  const run = promisify(execFile)('ps', args, {
    // The start of a process must read the same after a change of the time zone.
    env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' },
  });
  const { stdout } = await run.catch((error: { code: unknown; stdout: string }) => {
    // It exits with 1 when there is no such process; any other error must not pass for that.
    if (error.code === 1) return error;
    throw error;
  });
  return stdout.split('\n').flatMap((line) => {
    const [pid, parent, group, state, kilobytes, ...start] = line.trim().split(/\s+/);
    if (start.length === 0) return [];
    return {
      pid: Number(pid),
      start: start.join('_'),
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      isZombie: state?.startsWith('Z') === true,
      residentBytes: Number(kilobytes) * 1024,
    };
  });
}
