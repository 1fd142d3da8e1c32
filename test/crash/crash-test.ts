// The whole crash test: the kills, then what is tried without killing anybody. One report of all.

import { exactly, fact, type Report } from '../proof/report.ts';
import { Dice } from '../support/dice.ts';
import { damageFiles } from './damage.ts';
import { failDisks } from './disk-faults.ts';
import { fillDisk } from './full-disk.ts';
import { runKills } from './kills.ts';
import { shippedIn } from './shipped.ts';
import { crashDatabase } from './sqlite/crash-database.ts';
import { Tally } from './tally.ts';
import { tearFiles } from './torn-tails.ts';

export interface CrashTestOptions {
  readonly kills: number;
  readonly seed: number;
  /** The folder of the build. */
  readonly build: string;
  /** The homes of the gateways are left. */
  readonly isKept: boolean;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

export async function crashTest(options: CrashTestOptions): Promise<Report> {
  const shipped = await shippedIn(options.build);
  const tally = new Tally();
  const dice = new Dice(String(options.seed));
  await tearFiles({ ...options, shipped, tally, dice: dice.of('torn'), every: 1 });
  options.progress(`${tally.tornOffsets} torn files opened`);
  await damageFiles({ ...options, shipped, tally, every: 1 });
  options.progress(`${tally.damages} damaged files met`);
  await failDisks({ ...options, shipped, tally, every: 1 });
  const fullDisk = options.signal.aborted
    ? 'not tried'
    : await fillDisk({ ...options, shipped, tally });
  options.progress(`${tally.diskFaults} failing disks met`);
  const database = await crashDatabase({ ...options, tally, dice: dice.of('database') });
  await runKills({ ...options, shipped, tally });
  return {
    title: `Crash test, seed ${options.seed}`,
    figures: [
      exactly('kills', tally.kills, options.kills),
      ...tally.figures,
      ...database,
      fact('a disk that is really full', fullDisk),
    ],
    findings: tally.findings,
  };
}
