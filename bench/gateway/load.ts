// What is asked of every subject: which tool of the lean server, how many calls at once, for how
// long; and what a generator reports of it.

export interface Load {
  readonly title: string;
  readonly tool: 'echo' | 'big_text' | 'big_rows';
  readonly inFlight: number;
  /** An answer that is shorter was not the tool's result. */
  readonly answerBytes: number;
}

export const oneAtATime: Load = {
  title: '1 KB, 1 in flight',
  tool: 'echo',
  inFlight: 1,
  answerBytes: 1_000,
};
export const manyAtOnce: Load = { ...oneAtATime, title: '1 KB, 32 in flight', inFlight: 32 };
export const bigText: Load = {
  title: '5 MB of text',
  tool: 'big_text',
  inFlight: 1,
  answerBytes: 4_900_000,
};
export const bigRows: Load = { ...bigText, title: '5 MB of rows', tool: 'big_rows' };

export interface Report {
  readonly calls: number;
  readonly perSecond: number;
  readonly p50Us: number;
  readonly bytesPerCall: number;
  /** The share of one core that the generator itself used. */
  readonly generatorBusy: number;
}

/** A subject that answered with errors would look fast: one answer is looked at, */
export function assertResult(name: string, { title }: Load, answer: string): void {
  if (answer.includes('"result"') && !answer.includes('"isError":true')) return;
  throw new Error(`${name}, ${title}: answered ${answer.slice(0, 600)}`);
}

/** and the others by their size. */
export function assertAnswered(name: string, { title, answerBytes }: Load, report: Report): void {
  if (report.calls > 0 && report.bytesPerCall >= answerBytes) return;
  throw new Error(
    `${name}, ${title}: ${report.calls} answers of ${report.bytesPerCall} bytes, where the result has ${answerBytes}`,
  );
}
