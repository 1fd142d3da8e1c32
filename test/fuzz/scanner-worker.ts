// A process that checks a part of the scanner's documents: it is told which, and tells how it went.

import { checkPart, type JobNews, type Part } from './scanner.ts';

const tell = (news: JobNews, told?: () => void) => process.send?.(news, () => told?.());

process.once('message', (part: Part) => {
  const outcome = checkPart(part, (done) => tell({ kind: 'progress', done }));
  tell({ kind: 'outcome', outcome }, () => process.disconnect());
});
