// What a role costs: calls over HTTP with a token whose role has 50 patterns, of which the last one matches,
// compared with calls without a token and without roles, in turns of the same run.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdfastOnHttp, holdfastWithRole } from './gateway/holdfast.ts';
import { httpGenerator } from './gateway/http-generator.ts';
import { startOnHttp } from './gateway/http-subject.ts';
import { manyAtOnce, oneAtATime } from './gateway/load.ts';
import { type Sample, type Subject, sample } from './gateway/subject.ts';
import { Goals } from './goals.ts';
import { inTurns, ratioOf } from './ratios.ts';

const goals = { p50: 1.1, perSecond: 0.9 } as const;

/** As somebody would write them, for other servers. */
const patterns = [
  ...Array.from({ length: 49 }, (_, at) => `server-${at}/${at % 2 === 0 ? 'read_*' : '*list*'}`),
  'lean/*',
];

/** True if every goal is met. */
export async function benchRoles(rounds: number): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const generator = httpGenerator();
  const subjects: Subject[] = [];
  try {
    subjects.push(await startOnHttp(holdfastOnHttp(folder, 'none'), generator));
    subjects.push(await startOnHttp(holdfastWithRole(folder, patterns), generator));
    const [base, own] = subjects as [Subject, Subject];
    const judged = new Goals();
    console.log('\na token with a role of 50 patterns, of calls without either:');
    for (const load of [oneAtATime, manyAtOnce]) {
      const run = (subject: Subject) => sample(subject, load, 1);
      await inTurns(subjects, 2, run);
      const samples = await inTurns(subjects, rounds, run);
      const figures = (of: Subject, figure: (one: Sample) => number) =>
        (samples.get(of) ?? []).map(figure);
      const ratio = (figure: (one: Sample) => number) =>
        ratioOf(figures(own, figure), figures(base, figure));
      if (load === oneAtATime) {
        judged.atMost(
          goals.p50,
          `p50, ${load.title}`,
          ratio(({ p50Us }) => p50Us),
        );
      } else {
        const title = `calls a second, ${load.title}`;
        judged.atLeast(
          goals.perSecond,
          title,
          ratio(({ perSecond }) => perSecond),
        );
      }
    }
    return judged.allMet;
  } finally {
    for (const subject of subjects) await subject[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}
