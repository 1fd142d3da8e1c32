// What a role costs: calls over HTTP with a token whose role has 50 patterns, of which the last one matches,
// compared with calls without a token and without roles, in turns of the same run.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdfastOnHttp, holdfastWithRole } from './gateway/holdfast.ts';
import { type HttpGenerator, httpGenerator } from './gateway/http-generator.ts';
import { startOnHttp } from './gateway/http-subject.ts';
import { type Load, manyAtOnce, oneAtATime } from './gateway/load.ts';
import { type Sample, type Subject, sample } from './gateway/subject.ts';
import { Goals } from './goals.ts';
import { inTurns, median, ratioOf } from './ratios.ts';

const goals = { p50: 1.1, perSecond: 0.9 } as const;

/** As somebody would write them, for other servers. */
const patterns = [
  ...Array.from({ length: 49 }, (_, at) => `server-${at}/${at % 2 === 0 ? 'read_*' : '*list*'}`),
  'lean/*',
];

/** True if every goal is met. */
export async function benchRoles(rounds: number): Promise<boolean> {
  const generator = httpGenerator();
  const p50: [own: number[], base: number[]] = [[], []];
  const perSecond: [own: number[], base: number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    const { one, many } = await measureRound(generator);
    for (const [at, figure] of one.entries()) p50[at]?.push(figure);
    for (const [at, figure] of many.entries()) perSecond[at]?.push(figure);
  }
  const judged = new Goals();
  console.log('\na token with a role of 50 patterns, of calls without either:');
  judged.atMost(goals.p50, `p50, ${oneAtATime.title}`, ratioOf(...p50));
  const title = `calls a second, ${manyAtOnce.title}`;
  judged.atLeast(goals.perSecond, title, ratioOf(...perSecond));
  return judged.allMet;
}

/** Each round has processes of its own: how the code of one was compiled differs by more than what is asked here. */
async function measureRound(generator: HttpGenerator) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const subjects: Subject[] = [];
  try {
    subjects.push(await startOnHttp(holdfastWithRole(folder, patterns), generator));
    subjects.push(await startOnHttp(holdfastOnHttp(folder, 'none'), generator));
    const measured = async (load: Load, figure: (one: Sample) => number) => {
      const run = (subject: Subject) => sample(subject, load, 0.5);
      await inTurns(subjects, 1, run);
      const samples = await inTurns(subjects, 4, run);
      return subjects.map((one) => median((samples.get(one) ?? []).map(figure)));
    };
    return {
      one: await measured(oneAtATime, ({ p50Us }) => p50Us),
      many: await measured(manyAtOnce, ({ perSecond }) => perSecond),
    };
  } finally {
    for (const subject of subjects) await subject[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}
