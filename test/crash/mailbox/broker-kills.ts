// The command `holdfast broker` under load, ended again and again: by kill -9 from outside, by a kill in the middle of a
// system call on its database, or after such calls have failed. The next broker in the same directory gives out what
// is left, which is compared with what senders and readers were told (`letter-book.ts`).

import { BrokerProcess } from '../../support/broker-process.ts';
import type { Ended } from '../../support/command-line.ts';
import type { Dice } from '../../support/dice.ts';
import { until } from '../../support/until.ts';
import { sideBySide } from '../side-by-side.ts';
import { straceArguments, straceRefusal } from '../sqlite/traced.ts';
import { companions } from '../sqlite/written-home.ts';
import type { Violation } from '../subjects/subject.ts';
import { correspond, readMailbox } from './correspondents.ts';
import { LetterBook, type Note } from './letter-book.ts';
import {
  brokerKills,
  confirmedLetters,
  failingLives,
  type MailboxOptions,
  refusedLetters,
  settledLetters,
  struckKills,
} from './options.ts';

type Fate =
  | { readonly kind: 'outside'; readonly after: number }
  /** As strace takes it. */
  | { readonly kind: 'struck' | 'failing'; readonly inject: string };

const letters = 400;
const atOnce = 64;
/** The exit code of a broker whose database cannot be opened. */
const refusedStart = 3;

export async function killBrokers(kills: number, options: MailboxOptions): Promise<void> {
  const isTraced = straceRefusal() === undefined;
  // In this order in the report.
  for (const what of [brokerKills, struckKills, failingLives]) options.tally.tried(what, 0);
  const lives = Array.from({ length: kills }, (_, at) => at + 1);
  await sideBySide(lives, async (queue, number) => {
    const dice = options.dice.of(`lane ${number}`);
    await using lane = await Lane.open(options);
    for (const life of queue) {
      if (options.signal.aborted) return;
      // Not of the same dice: how often they are thrown depends on who is faster.
      const fate = fateOf(dice.of(`fate ${life}`), isTraced);
      await lane.liveAndDie(`life-${life}`, fate, dice);
    }
  });
}

/** One directory and the brokers that live and die in it. */
class Lane implements AsyncDisposable {
  readonly #broker: BrokerProcess;
  readonly #options: MailboxOptions;
  readonly #book = new LetterBook();

  private constructor(broker: BrokerProcess, options: MailboxOptions) {
    this.#broker = broker;
    this.#options = options;
  }

  static async open(options: MailboxOptions): Promise<Lane> {
    return new Lane(await BrokerProcess.prepared(), options);
  }

  async liveAndDie(name: string, fate: Fate, dice: Dice): Promise<void> {
    const { tally } = this.#options;
    const found = await this.#live(name, fate, dice);
    tally.tried(brokerKills);
    const left = await this.#read(`${name}-left`, dice);
    tally.found([...found, ...left], `mailbox, ${name}, ${wordsOf(fate)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { tally } = this.#options;
    tally.tried(confirmedLetters, this.#book.count('confirmed'));
    tally.tried(refusedLetters, this.#book.count('refused'));
    tally.tried(settledLetters, this.#book.count('done'));
    await this.#broker[Symbol.asyncDispose]();
  }

  /** Until it is killed. */
  async #live(name: string, fate: Fate, dice: Dice): Promise<readonly Violation[]> {
    const broker = this.#broker;
    try {
      await broker.launch([], throughStrace(broker.dir, fate));
    } catch {
      return this.#endedAtStart(fate, await broker.ended);
    }
    const before = this.#book.count('confirmed');
    const isDue = () =>
      fate.kind === 'outside' && this.#book.count('confirmed') - before >= fate.after;
    let killing: Promise<Ended> | undefined;
    const note = (one: Note) => {
      // An acknowledgement that a failing disk has refused is not told to anybody: the letter comes again.
      if (fate.kind !== 'failing' || one.did !== 'done') this.#book.note(one);
      if (isDue()) killing ??= broker.kill('SIGKILL');
    };
    const linkOf = (member: 'ann' | 'boss') => broker.link(member);
    const isSent = await correspond({ name, linkOf, dice, note, letters, atOnce });
    if (isSent) killing ??= broker.kill('SIGKILL');
    if (killing !== undefined) return this.#ended(fate, await killing, isSent);
    let ended: Ended | undefined;
    broker.ended.then((one) => {
      ended = one;
    }, nothing);
    const why = 'a broker whose links are lost has ended';
    await until(() => ended !== undefined, why).catch(nothing);
    if (ended !== undefined) return this.#ended(fate, ended, isSent);
    await broker.kill('SIGKILL');
    return [{ wrong: 'died', text: 'the broker lives, but dropped its links' }];
  }

  #ended(fate: Fate, { code, signal, stderr }: Ended, isSent: boolean): readonly Violation[] {
    const { tally } = this.#options;
    if (signal !== 'SIGKILL') {
      const text = `it ended with ${code ?? signal}: ${stderr.slice(-300)}`;
      return [{ wrong: 'died', text }];
    }
    if (fate.kind === 'struck' && !isSent) tally.tried(struckKills);
    if (fate.kind === 'failing') tally.tried(failingLives);
    return [];
  }

  /** It was killed while it started, or its database could not be opened. */
  #endedAtStart(fate: Fate, ended: Ended): readonly Violation[] {
    const hasSaid = ended.stdout !== '';
    const isRefused = fate.kind === 'failing' && ended.code === refusedStart && hasSaid;
    if (!isRefused) return this.#ended(fate, ended, false);
    this.#options.tally.tried(failingLives);
    return [];
  }

  /** What the next one gives out, and whether that is right. */
  async #read(name: string, dice: Dice): Promise<readonly Violation[]> {
    const broker = this.#broker;
    await broker.launch();
    const notes: Note[] = [];
    const linkOf = (member: 'ann' | 'boss') => broker.link(member);
    const came = await readMailbox(name, linkOf, (note) => notes.push(note));
    const found = [...this.#book.judge(came)];
    for (const note of notes) this.#book.note(note);
    const isKilled = dice.chance(0.5);
    const { code } = await broker.kill(isKilled ? 'SIGKILL' : 'SIGTERM');
    if (!isKilled && code !== 0) found.push({ wrong: 'start', text: `it ended with ${code}` });
    return found;
  }
}

function nothing(): void {}

function fateOf(dice: Dice, isTraced: boolean): Fate {
  const kind = isTraced
    ? dice.pick(['outside', 'struck', 'struck', 'failing'] as const)
    : 'outside';
  if (kind === 'outside') return { kind, after: dice.between(0, letters) };
  const call = dice.pick(['pwrite64', 'fsync,fdatasync', 'ftruncate,pwrite64'] as const);
  // Early ones come while the database is opened.
  const number = dice.chance(0.3) ? dice.between(1, 6) : dice.between(1, 60);
  if (kind === 'struck') return { kind, inject: `${call}:signal=KILL:when=${number}` };
  const error = dice.pick(['EIO', 'ENOSPC'] as const);
  return { kind, inject: `${call}:error=${error}:when=${number}${dice.pick(['', '+'] as const)}` };
}

function throughStrace(dir: string, fate: Fate): readonly string[] | undefined {
  if (fate.kind === 'outside') return undefined;
  const paths = companions.map((end) => `${dir}/broker.db${end}`);
  return ['strace', ...straceArguments({ paths, inject: [fate.inject] })];
}

function wordsOf(fate: Fate): string {
  return fate.kind === 'outside' ? `killed after ${fate.after} letters` : fate.inject;
}
