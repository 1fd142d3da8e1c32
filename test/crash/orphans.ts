// After the death of a gateway: is anything that it had started still alive two seconds later? Found by
// the mark that every one of its descendants carries, wherever it has gone.

import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import type { Violation } from './subjects/subject.ts';

const graceMs = 2_000;
const table = systemProcesses();

/** Resolves two seconds from now. What is left is ended: it has been seen, and is nobody's any more. */
export async function orphansOf(mark: string): Promise<readonly Violation[]> {
  await new Promise((resolve) => setTimeout(resolve, graceMs));
  const rows = await table.rows();
  const carriers = await table.carrying(mark, rows, '0');
  const left = rows.filter(({ pid, isZombie }) => carriers.has(pid) && !isZombie);
  for (const { pid } of left) end(pid);
  return left.map(({ pid }) => {
    return { wrong: 'orphan', text: `process ${pid} outlived its gateway by ${graceMs} ms` };
  });
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
