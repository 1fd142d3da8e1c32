// One process of the crew: runs the seeds it is given, one after the other, and gives back what each
// came to. It ends when nobody is there any more to give it one.

import type { Errand } from './crew.ts';
import { runSimulation } from './simulate.ts';

let last: Promise<void> = Promise.resolve();

process.on('message', ({ seed, minutes }: Errand) => {
  last = last.then(async () => {
    const report = await runSimulation(seed, { minutes });
    process.send?.(report);
  });
});

process.on('disconnect', () => process.exit());
