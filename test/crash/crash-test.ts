// The whole crash test: the kills, then what is tried without killing anybody. One report of all.

import { exactly, fact, type Report } from '../proof/report.ts';
import { Dice } from '../support/dice.ts';
import { natsRefusal } from '../support/nats-server.ts';
import { damageFiles } from './damage.ts';
import { failDisks } from './disk-faults.ts';
import { fillDisk } from './full-disk.ts';
import { runKills } from './kills.ts';
import { killBrokers } from './mailbox/broker-kills.ts';
import { cutPowerOfBroker } from './mailbox/power-cuts.ts';
import { killServers } from './nats-store/server-kills.ts';
import { shippedIn } from './shipped.ts';
import { crashDatabase } from './sqlite/crash-database.ts';
import { straceRefusal } from './sqlite/traced.ts';
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

/** For so many kills of a gateway one of a broker, and of the server of a NATS store. */
const brokerShare = 4;
const natsShare = 2;
/** Of the moments at which the power of a broker is cut. */
const everyCut = 4;

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
  const mailbox = { ...options, tally, dice: dice.of('mailbox') };
  await killBrokers(Math.ceil(options.kills / brokerShare), mailbox);
  if (straceRefusal() === undefined) await cutPowerOfBroker({ ...mailbox, every: everyCut });
  options.progress('brokers were killed');
  const noNats = natsRefusal();
  const natsStore = { ...options, tally, dice: dice.of('nats') };
  if (noNats === undefined) await killServers(Math.ceil(options.kills / natsShare), natsStore);
  await runKills({ ...options, shipped, tally });
  return {
    title: `Crash test, seed ${options.seed}`,
    figures: [
      exactly('kills', tally.kills, options.kills),
      ...tally.figures,
      ...database,
      fact('a disk that is really full', fullDisk),
      fact('NATS store', noNats === undefined ? 'tried' : `not tried: ${noNats}`),
    ],
    findings: tally.findings,
  };
}
