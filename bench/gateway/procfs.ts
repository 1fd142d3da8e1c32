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
