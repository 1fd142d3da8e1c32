// What Linux says about a process: its processor time, its memory and its descendants.

import { readdirSync, readFileSync } from 'node:fs';

/** User and system time of the threads that it has now, to the nanosecond; 0 for a process that is gone. */
export function cpuSeconds(pid: number): number {
  const threads = whileThere(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  return threads.reduce((sum, thread) => {
    const text = whileThere(() => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
    return sum + Number(text?.split(' ')[0] ?? 0) / 1e9;
  }, 0);
}

/** What is read of a process or thread; undefined if it ended between being listed and being read. */
function whileThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/**
 * What these processes take together: what is their own, and of each file that several have mapped (Node's program and
 * the system's libraries) the pages once, as many as the one that has most of them.
 */
export function togetherMb(pids: readonly number[]): number {
  let kilobytes = 0;
  const files = new Map<string, number>();
  for (const pid of pids) {
    const resident = new Map<string, number>();
    for (const { file, own, all } of mappingsOf(pid)) {
      kilobytes += own;
      resident.set(file, (resident.get(file) ?? 0) + all - own);
    }
    for (const [file, size] of resident) files.set(file, Math.max(files.get(file) ?? 0, size));
  }
  return [...files.values()].reduce((sum, size) => sum + size, kilobytes) / 1024;
}

interface Mapping {
  readonly file: string;
  /** Kilobytes that belong to the process alone: the heap, and changed pages of a file. */
  readonly own: number;
  /** Resident, in kilobytes. */
  readonly all: number;
}

function mappingsOf(pid: number): readonly Mapping[] {
  const text = readFileSync(`/proc/${pid}/smaps`, 'utf8');
  return text.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).map((mapping) => ({
    file: /^(?:\S+ +){5}(.*)$/m.exec(mapping)?.[1] ?? '',
    own: Number(/^Anonymous: +(\d+) kB$/m.exec(mapping)?.[1] ?? 0),
    all: Number(/^Rss: +(\d+) kB$/m.exec(mapping)?.[1] ?? 0),
  }));
}

export function descendantsOf(pid: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    const fields = /^\d+$/.test(entry) ? statFields(Number(entry)) : undefined;
    if (fields) parents.set(Number(entry), Number(fields[1]));
  }
  const found = [pid];
  for (const ancestor of found) {
    for (const [child, parent] of parents) if (parent === ancestor) found.push(child);
  }
  return found.slice(1);
}

/** Itself, and the serving process below it where it is a pid-holder. */
export function ownProcesses(pid: number): readonly number[] {
  const isServing = (one: number) =>
    whileThere(() => readFileSync(`/proc/${one}/environ`, 'latin1'))?.includes('HOLDFAST_HOLDER=');
  return [pid, ...descendantsOf(pid).filter(isServing)];
}

/** The fields after the command's name, which may itself contain spaces and brackets. */
function statFields(pid: number): readonly string[] | undefined {
  const stat = whileThere(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}
