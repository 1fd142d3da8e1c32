// Power cuts of a broker: the calls on its database are written down while letters are sent, read and acknowledged, and
// from them the disk is built as it was after each call, without what was not forced to it (`sqlite/power-disk.ts`).
// Another broker begins with that disk, and gives out what is left.

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BrokerProcess } from '../../support/broker-process.ts';
import type { Dice } from '../../support/dice.ts';
import { sideBySide } from '../side-by-side.ts';
import { type Call, callsIn } from '../sqlite/calls.ts';
import { sampled } from '../sqlite/options.ts';
import { losses, PowerDisk } from '../sqlite/power-disk.ts';
import { runTraced } from '../sqlite/traced.ts';
import { companions } from '../sqlite/written-home.ts';
import type { Violation } from '../subjects/subject.ts';
import type { TracedPlan } from './broker-under-trace.ts';
import { readMailbox } from './correspondents.ts';
import { LetterBook, type Note } from './letter-book.ts';
import { type MailboxOptions, mailboxPowerCuts } from './options.ts';

export interface PowerOptions extends MailboxOptions {
  /** Only every so manieth moment; 1 is all of them. */
  readonly every: number;
}

const program = fileURLToPath(new URL('./broker-under-trace.ts', import.meta.url));
const hook = new URL('../../proof/built.mjs', import.meta.url).href;
const letters = 24;
const boundSeconds = 120;

interface Moment {
  readonly where: string;
  /** A folder with the database that is left. */
  readonly image: string;
  readonly book: LetterBook;
}

export async function cutPowerOfBroker(options: PowerOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mailbox-power-'));
  await using traced = await BrokerProcess.prepared();
  try {
    const moments = momentsOf(await tracedCalls(traced, folder, options.dice), folder, options);
    await sideBySide(moments, async (queue) => {
      for (const moment of queue) {
        if (options.signal.aborted) return;
        options.tally.tried(mailboxPowerCuts);
        options.tally.found(await readAfter(moment, traced), moment.where);
        rmSync(moment.image, { recursive: true });
      }
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a broker does to its database while it is used. */
async function tracedCalls(
  broker: BrokerProcess,
  folder: string,
  dice: Dice,
): Promise<readonly Call[]> {
  const { dir } = broker;
  const [told, log] = [join(folder, 'told'), join(folder, 'calls')];
  const secrets = { ann: broker.secretOf('ann'), boss: broker.secretOf('boss') };
  const seed = `power-${dice.between(1, 1_000_000)}`;
  const plan: TracedPlan = { dir, told, seed, letters, secrets };
  const node = [process.execPath, '--import', 'tsx', '--import', hook, program];
  const bound = ['timeout', '-s', 'KILL', String(boundSeconds)];
  const paths = [dir, told, ...companions.map((end) => join(dir, `broker.db${end}`))];
  const { code, stderr } = await runTraced([...bound, ...node, JSON.stringify(plan)], {
    paths,
    log,
  });
  if (code !== 0) throw new Error(`the traced broker ended with ${code}: ${stderr}`);
  return callsIn(readFileSync(log, 'latin1'), dir, told);
}

function momentsOf(
  calls: readonly Call[],
  folder: string,
  options: PowerOptions,
): readonly Moment[] {
  const { dice } = options;
  const disks = losses.map((loss) => [loss, new PowerDisk(loss, dice.of(loss))] as const);
  // Of moments with the same disk the last one is the one at which most was told.
  const last = [...calls.keys()].filter((at) => calls[at + 1]?.does !== 'tell');
  const chosen = new Set(sampled(last, options));
  const notes: Note[] = [];
  return calls.flatMap((call, at) => {
    for (const [, disk] of disks) disk.apply(call);
    if (call.does === 'tell') notes.push(JSON.parse(call.line));
    if (!chosen.has(at)) return [];
    const book = new LetterBook();
    for (const note of notes) book.note(note);
    return disks.map(([loss, disk]) => {
      const image = join(folder, `${at}-${loss}`);
      disk.cut(image);
      const name = 'name' in call ? ` ${call.name}` : '';
      return { where: `mailbox, power cut after ${call.does}${name}, ${at}, ${loss}`, image, book };
    });
  });
}

/** The letters are of members who still have the credentials by which they have sent them. */
async function readAfter(
  { image, book }: Moment,
  traced: BrokerProcess,
): Promise<readonly Violation[]> {
  await using broker = await BrokerProcess.prepared((dir) => {
    for (const name of readdirSync(image)) copyFileSync(join(image, name), join(dir, name));
  }, traced);
  try {
    await broker.launch();
  } catch {
    const { code, stderr } = await broker.ended;
    return [{ wrong: 'start', text: `it ended with ${code}: ${stderr.slice(-300)}` }];
  }
  const came = await readMailbox(
    'left',
    (member) => broker.link(member),
    () => {},
  );
  return book.judge(came);
}
