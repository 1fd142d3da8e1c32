// Who is running on this machine, and who is ours. A process is identified by pid and start time
// together, because a pid alone may belong to a stranger a moment later. Where /proc exists it is
// read in slices, so that a machine with thousands of processes never holds up the event loop;
// elsewhere (macOS; written for it, tried only with the `ps` of Linux) the table comes from `ps`.
// Nothing here sends a signal.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; equal if and only if it is the same process. Without spaces. */
  readonly start: string;
}

export interface ProcessRow extends ProcessIdentity {
  readonly parent: number;
  readonly group: number;
  /** The process group where the session is unknown. */
  readonly session: number;
  /** Dead, but not yet collected by its parent: nothing is left to end. */
  readonly isZombie: boolean;
}

export interface ProcessTable {
  /** Can it see environments, and so markers? */
  readonly seesEnvironments: boolean;
  /** The process of this pid now; null when there is none. */
  find(pid: number): Promise<ProcessRow | null>;
  rows(): Promise<readonly ProcessRow[]>;
  /** Which of these, if they are not older than `since`, carry the token in their environment. */
  carrying(token: string, rows: readonly ProcessRow[], since: string): Promise<ReadonlySet<number>>;
  /** The processes below this one, itself not included. */
  descendants(pid: number): Promise<readonly ProcessRow[]>;
  /** The resident memory of these processes together, in bytes. */
  residentBytes(processes: readonly ProcessIdentity[]): Promise<number>;
}

/** `procDir` is an argument for the sake of tests on machines that have it. */
export function processTable(procDir = '/proc'): ProcessTable {
  return existsSync(`${procDir}/self/stat`) ? procfsTable(procDir) : psTable;
}

/** Inside a pid namespace without a /proc of its own every number in /proc is somebody else's. */
export function isForeign(procDir = '/proc'): boolean {
  try {
    return readlinkSync(`${procDir}/self`) !== String(process.pid);
  } catch {
    // There is none.
    return false;
  }
}

export function isSame(a: ProcessIdentity, b: ProcessIdentity | null): boolean {
  return b !== null && a.pid === b.pid && a.start === b.start;
}

/** All rows below `pid`, by parentage. */
export function below(pid: number, rows: readonly ProcessRow[]): readonly ProcessRow[] {
  const found = new Map<number, ProcessRow>();
  const parents = new Set([pid]);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const row of rows) {
      if (!parents.has(row.parent) || found.has(row.pid)) continue;
      found.set(row.pid, row);
      parents.add(row.pid);
    }
  }
  found.delete(pid);
  return [...found.values()];
}

/** So many files are read before the event loop gets its turn. */
const sliceFiles = 64;

/** A tree larger than this is a fork bomb; who counts it has seen enough. */
const maxWalked = 4096;

function procfsTable(dir: string): ProcessTable {
  const row = (pid: number): ProcessRow | null => {
    const text = readProc(`${dir}/${pid}/stat`);
    return text === null ? null : rowFrom(text.toString('latin1'));
  };
  const rows = async (): Promise<ProcessRow[]> => {
    const pids = readdirSync(dir).map(Number).filter(Number.isInteger);
    return sliced(pids, row);
  };
  const hasChildren = existsSync(`${dir}/self/task/${process.pid}/children`);
  return {
    seesEnvironments: true,
    find: async (pid) => row(pid),
    rows,
    carrying: async (token, candidates, since) => {
      const young = candidates.filter(({ start }) => !(Number(start) < Number(since)));
      const carriers = await sliced(young, ({ pid }) =>
        readProc(`${dir}/${pid}/environ`)?.includes(token) === true ? pid : null,
      );
      return new Set(carriers);
    },
    descendants: async (pid) =>
      hasChildren ? await walk(pid, dir, row) : below(pid, await rows()),
    residentBytes: async (processes) => {
      const sizes = await sliced(processes, ({ pid }) => residentOf(`${dir}/${pid}/status`));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
  };
}

/** Walks down by the lists of children: the cost is that of the tree, not of the machine. */
async function walk(
  root: number,
  dir: string,
  row: (pid: number) => ProcessRow | null,
): Promise<ProcessRow[]> {
  const found = new Map<number, ProcessRow>();
  let level = [root];
  while (level.length > 0 && found.size < maxWalked) {
    const children = (await sliced(level, (pid) => childrenOf(pid, dir))).flat();
    const known = await sliced(children, (pid) => (found.has(pid) ? null : row(pid)));
    for (const child of known) found.set(child.pid, child);
    level = known.map((child) => child.pid);
  }
  return [...found.values()];
}

/** Each thread keeps the list of the children it has forked. */
function childrenOf(pid: number, dir: string): number[] {
  let threads: string[] | null;
  try {
    threads = readdirSync(`${dir}/${pid}/task`);
  } catch (error) {
    threads = nullIfGone(error);
  }
  return (threads ?? []).flatMap((thread) => {
    const list = readProc(`${dir}/${pid}/task/${thread}/children`)?.toString('latin1').trim();
    return list === undefined || list === '' ? [] : list.split(' ').map(Number);
  });
}

/** `pid (name) state parent group session …`; the name may hold anything, also parentheses. */
function rowFrom(stat: string): ProcessRow | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, session] = fields;
  const start = fields[19];
  if (start === undefined) return null;
  return {
    pid: Number.parseInt(stat, 10),
    start,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    isZombie: state === 'Z' || state === 'X',
  };
}

function residentOf(file: string): number | null {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProc(file)?.toString('latin1') ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

/** Null when the process has ended meanwhile or is not ours to look at: both are every day's fare. */
function readProc(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    return nullIfGone(error);
  }
}

/** Any other error (too many open files) must not pass for the end of a process. */
function nullIfGone(error: unknown): null {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) return null;
  throw error;
}

async function sliced<T, R>(items: readonly T[], read: (item: T) => R | null): Promise<R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % sliceFiles === 0) await new Promise(setImmediate);
    const result = read(item);
    if (result !== null) results.push(result);
  }
  return results;
}

const psColumns = ['pid=', 'ppid=', 'pgid=', 'stat=', 'rss=', 'lstart='];

const psTable: ProcessTable = {
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

async function psRows(selection: string[]): Promise<(ProcessRow & { residentBytes: number })[]> {
  const args = [...selection, ...psColumns.flatMap((column) => ['-o', column])];
  const run = promisify(execFile)('ps', args, { env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' } });
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
