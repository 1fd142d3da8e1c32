// The whole load test: many clients with the same ids and tokens, clients that never close their session,
// and very large messages; what each of them costs.

import { atMost, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import { clients, crowd } from './crowd.ts';
import { drippingLine, largeFrames, mib } from './frames.ts';
import { abandonedSessions } from './sessions.ts';

export interface LoadOptions {
  readonly responses: number;
  readonly sessions: number;
  readonly progress: (text: string) => void;
}

export async function load({ responses, sessions, progress }: LoadOptions): Promise<Report> {
  const figures: Figure[] = [];
  const findings: string[] = [];
  const part = async (what: string, measure: () => Promise<readonly Figure[]>) => {
    progress(what);
    try {
      figures.push(...(await measure()));
    } catch (error) {
      findings.push(`${what}: ${(error as Error).message}`);
    }
  };
  await part('messages that are too large', frames);
  await part(`${sessions} clients that never close their session`, () => abandoned(sessions));
  await part(`${responses} responses to ${clients} clients`, () => alike(responses));
  return { title: 'load', figures, findings };
}

async function frames(): Promise<readonly Figure[]> {
  const dripped = drippingLine();
  const large = await largeFrames();
  return [
    ...large.flatMap(({ transport, code, lagMs, grownMib }) => [
      fact(`64 MiB over ${transport}: answered with`, code),
      atMost(`64 MiB over ${transport}: longest turn of the loop, ms`, lagMs, 100),
      atMost(`64 MiB over ${transport}: memory, MiB more`, grownMib, 64),
    ]),
    atMost('500,000 bytes of one line, one at a time: memory, MiB more', dripped, 8),
  ];
}

async function abandoned(count: number): Promise<readonly Figure[]> {
  const seen = await abandonedSessions(count);
  const { code, stderr } = seen.exit;
  if (code !== 0 || stderr !== '') throw new Error(`it ended with ${code} and said ${stderr}`);
  return [
    exactly('sessions that nobody ended', seen.sessions, count),
    fact('bytes of heap for each', Math.round(seen.bytesEach)),
    fact('seconds to open them', seen.seconds),
    exactly('of those tried, known after their time', seen.knownAfterwards, 0),
    atMost('heap after their time, MiB more', seen.heapGrowthBytes / mib, 5),
    atMost('buffers after their time, MiB more', seen.bufferGrowthBytes / mib, 5),
  ];
}

async function alike(responses: number): Promise<readonly Figure[]> {
  const { progress, failed, left, seconds } = await crowd(responses);
  return [
    fact('responses to clients with the same ids and tokens', responses),
    fact('reports of progress beside them', progress),
    fact('seconds for them', seconds),
    exactly('calls that failed or were repeated', failed, 0),
    exactly('calls that are left', left, 0),
  ];
}
