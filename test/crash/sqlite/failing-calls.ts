// System calls of SQLite that fail: each write, each forcing to the disk and each cut of a file once, or
// from one on for good, with the errors of a broken and of a full disk; and a kill at each of them. What
// was told before and after must be there when the files are read again. A write that fails is refused,
// and the store says so.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sideBySide } from '../side-by-side.ts';
import type { Violation } from '../subjects/subject.ts';
import { countsIn } from './calls.ts';
import { type SqliteOptions, sampled } from './options.ts';
import { Reader } from './readings.ts';
import type { Ended } from './traced.ts';
import { type Workload, workload } from './workload.ts';
import { type WriterOptions, WrittenHome } from './written-home.ts';

export const failedCalls = 'database: system calls that failed or killed it';
export const killedBy = '  of these killed it';
export const toldBy = '  of these were told by the store';

interface Case {
  /** Whether there is no database yet. */
  readonly isFirst: boolean;
  readonly call: string;
  /** Which of them, counted from 1; `isLasting`: all that follow, too. */
  readonly number: number;
  readonly isLasting: boolean;
  readonly harm: 'error=EIO' | 'error=ENOSPC' | 'signal=KILL';
}

const harms: readonly Pick<Case, 'harm' | 'isLasting'>[] = [
  { harm: 'error=EIO', isLasting: false },
  { harm: 'error=EIO', isLasting: true },
  { harm: 'error=ENOSPC', isLasting: false },
  { harm: 'signal=KILL', isLasting: false },
];

export async function failCalls(options: SqliteOptions): Promise<void> {
  const { node, build, tally, dice, signal } = options;
  const work = workload(dice, { groups: 8, largest: 9_000 });
  const all = [await casesOf(work, true, options), await casesOf(work, false, options)];
  const cases = sampled(all.flat(), options);
  await sideBySide(cases, async (queue) => {
    using reader = new Reader(node, build);
    for (const one of queue) {
      if (signal.aborted) return;
      tally.tried(failedCalls);
      tally.found(await tryOut(one, work, reader, options), `database, ${wordsOf(one)}`);
    }
  });
}

/** Every call of a run without faults. */
async function casesOf(
  work: Workload,
  isFirst: boolean,
  { node, build }: SqliteOptions,
): Promise<readonly Case[]> {
  using home = new WrittenHome();
  await write(home, work, isFirst, { node, build, isLogged: true });
  const counts = countsIn(home.calls(), home.folder, home.told);
  const calls = ['pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'unlink'];
  return calls.flatMap((call) =>
    Array.from({ length: counts.get(call) ?? 0 }, (_, at) => at + 1).flatMap((number) =>
      harms.map((harm) => ({ isFirst, call, number, ...harm })),
    ),
  );
}

/** All of it in one process, or the second half of it in another. */
async function write(
  home: WrittenHome,
  work: Workload,
  isFirst: boolean,
  options: WriterOptions,
): Promise<Ended> {
  if (isFirst) return home.write(work, options);
  const { groups } = work;
  const half = groups.length / 2;
  await home.write({ ...work, groups: groups.slice(0, half) }, { ...options, isTraced: false });
  return home.write({ ...work, groups: groups.slice(half) }, options);
}

async function tryOut(
  one: Case,
  work: Workload,
  reader: Reader,
  { node, build, tally }: SqliteOptions,
): Promise<readonly Violation[]> {
  using home = new WrittenHome();
  const inject = [`${one.call}:${one.harm}:when=${one.number}${one.isLasting ? '+' : ''}`];
  const ended = await write(home, work, one.isFirst, { node, build, inject });
  const found: Violation[] = [];
  if (one.harm !== 'signal=KILL' && ended.code !== 0) {
    const text = `the writer ended with ${ended.code ?? ended.signal}: ${ended.stderr.slice(-300)}`;
    found.push({ wrong: 'died', text });
  }
  const lines = home.lines();
  if (ended.code !== 0) tally.tried(killedBy);
  else if (lines.some(({ did, isWell }) => did !== 'claimed' && !isWell)) tally.tried(toldBy);
  for (const { step, did, isWell, reason } of lines) {
    if (did !== 'refused') continue;
    if (reason !== 'not_kept') found.push({ wrong: 'call', text: `step ${step}: ${reason}` });
    if (isWell) found.push({ wrong: 'silent', text: `step ${step} is refused, and all is well` });
  }
  const image = join(home.folder, 'image');
  mkdirSync(image);
  const reading = await reader.read(home.copyTo(image));
  found.push(...home.history(work).judge(reading, false));
  rmSync(image, { recursive: true });
  return found;
}

function wordsOf({ isFirst, call, number, isLasting, harm }: Case): string {
  return `${isFirst ? 'new' : 'old'}, ${harm} at ${call} ${number}${isLasting ? ' and after' : ''}`;
}
