// The table of processes from /proc. It is read synchronously, which is many times cheaper than the
// thread pool, but in slices, so that a machine with thousands of processes never blocks the event
// loop. A process that ends during the look is treated as absent.

import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { below, type ProcessRow, type ProcessTable } from './process-table.ts';

export function procfsTable(dir: string): ProcessTable {
  const row = (pid: number): ProcessRow | null => {
    const text = readLine(`${dir}/${pid}/stat`);
    return text === null ? null : rowFrom(text);
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

/** So many files are read before the event loop gets its turn. */
const sliceFiles = 32;

/** A tree larger than this is a fork bomb; further counting is useless. */
const maxWalked = 4096;

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

/** Null when the process has ended meanwhile or we may not read it: both are normal. */
function readProc(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    return nullIfGone(error);
  }
}

const lineBuffer = Buffer.allocUnsafe(1024);

/** The same for one short line, at half the cost: these are read by the thousand. */
function readLine(file: string): string | null {
  try {
    const descriptor = openSync(file, 'r');
    try {
      return lineBuffer.toString('latin1', 0, readSync(descriptor, lineBuffer));
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return nullIfGone(error);
  }
}

/** Any other error (too many open files) must not be taken for the end of a process. */
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
