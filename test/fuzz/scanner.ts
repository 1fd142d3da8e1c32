// The scanner against the oracle, document after document. The work is split by the numbers of the
// documents, so that any split gives the same documents and the same figures.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exactly, type Figure, fact } from '../proof/report.ts';
import { wrongWith } from './disagreement.ts';
import { documentAt } from './documents.ts';
import type { Findings } from './findings.ts';
import { listedRefusals } from './listed-refusals.ts';
import { minimised } from './minimise.ts';
import { checkDocument } from './scanner-check.ts';
import { Tally } from './tally.ts';

/** Documents from one number up to, and without, another. */
export interface Part {
  readonly seed: number;
  readonly from: number;
  readonly to: number;
}

export interface PartOutcome {
  readonly counts: readonly (readonly [string, number])[];
  readonly wrong: readonly WrongDocument[];
  readonly wrongCount: number;
}

interface WrongDocument {
  readonly index: number;
  readonly says: string;
}

const mostKept = 10;

/** Checks them in this process. */
export function checkPart(
  { seed, from, to }: Part,
  progress?: (done: number) => void,
): PartOutcome {
  const tally = new Tally();
  const wrong: WrongDocument[] = [];
  let wrongCount = 0;
  // Every refusal is an error, and most of the time would go into traces that nobody reads.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  for (let index = from; index < to; index += 1) {
    const says = wrongWith(() => checkDocument(documentAt(seed, index), tally));
    if (says !== undefined) {
      wrongCount += 1;
      if (wrong.length < mostKept) wrong.push({ index, says });
    }
    if (progress !== undefined && (index - from) % 10_000 === 9_999) progress(index - from + 1);
  }
  Error.stackTraceLimit = stackTraceLimit;
  return { counts: tally.entries(), wrong, wrongCount };
}

/** Checks them in processes of their own, a few parts each, so that the last ends with the first. */
export async function checkInJobs(
  whole: Part,
  jobs: number,
  signal: AbortSignal,
  progress: (done: number) => void,
): Promise<PartOutcome> {
  const size = Math.ceil((whole.to - whole.from) / jobs);
  const done = new Array<number>(jobs).fill(0);
  const parts = Array.from({ length: jobs }, (_, job) => {
    const from = whole.from + job * size;
    return { seed: whole.seed, from, to: Math.min(whole.to, from + size) };
  });
  const outcomes = await Promise.all(
    parts.map((part, job) =>
      checkInProcess(part, signal, (count) => {
        done[job] = count;
        progress(done.reduce((sum, one) => sum + one, 0));
      }),
    ),
  );
  const tally = new Tally();
  for (const { counts } of outcomes) tally.add(counts);
  return {
    counts: tally.entries(),
    wrong: outcomes.flatMap(({ wrong }) => wrong),
    wrongCount: outcomes.reduce((sum, { wrongCount }) => sum + wrongCount, 0),
  };
}

export type JobNews =
  | { readonly kind: 'progress'; readonly done: number }
  | { readonly kind: 'outcome'; readonly outcome: PartOutcome };

const worker = fileURLToPath(new URL('./scanner-worker.ts', import.meta.url));

function checkInProcess(
  part: Part,
  signal: AbortSignal,
  progress: (done: number) => void,
): Promise<PartOutcome> {
  return new Promise((resolve, reject) => {
    const child = fork(worker, [], { signal });
    let outcome: PartOutcome | undefined;
    child.on('message', (news: JobNews) => {
      if (news.kind === 'progress') progress(news.done);
      else outcome = news.outcome;
    });
    child.on('error', reject);
    child.on('exit', (code) => {
      if (outcome !== undefined) resolve(outcome);
      else reject(new Error(`a job of the scanner's ended with ${code} and without its outcome`));
    });
    child.send(part);
  });
}

/** Each wrong document in its smallest form, kept. */
export function keepWrong(
  seed: number,
  { wrong, wrongCount }: PartOutcome,
  findings: Findings,
): void {
  for (const { index, says } of wrong) {
    const document = documentAt(seed, index);
    findings.add('scanner', `seed ${seed}, document ${index}`, says, smallest(document));
  }
  findings.count += wrongCount - wrong.length;
}

/** It need not be wrong in the same words. */
function smallest(document: Buffer): Buffer {
  return minimised(document, (part) => replayDocument(part) !== undefined);
}

/** One input from a file; what is wrong with it. */
export function replayDocument(bytes: Buffer): string | undefined {
  return wrongWith(() => checkDocument(bytes, new Tally()));
}

export function scannerFigures(documents: number, { counts, wrongCount }: PartOutcome): Figure[] {
  const tally = new Tally();
  tally.add(counts);
  const reasons = Object.keys(listedRefusals);
  const reached = reasons.filter((reason) => tally.sum(`refused: ${reason}`) > 0);
  const share = (count: number) => `${((100 * count) / documents).toFixed(1)} %`;
  return [
    fact('scanner: documents', documents),
    exactly('scanner: disagreements with the oracle', wrongCount, 0),
    fact('scanner: JSON to both', share(tally.of('JSON'))),
    fact('scanner: a message to both', share(tally.sum('message: '))),
    fact(
      'scanner: no JSON to both',
      share(documents - tally.of('JSON') - tally.of('refused: too-deep')),
    ),
    exactly('scanner: kinds of refusal that were met', reached.length, reasons.length),
    fact('scanner: messages', tally.told('message: ')),
    fact('scanner: refusals', tally.told('refused: ')),
  ];
}
