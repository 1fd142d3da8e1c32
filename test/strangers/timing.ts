// What the time of an answer tells about hidden names. Somebody with a role that may use little asks for hidden names and
// for names that do not exist, in an order of chance, over one connection. The answers must be the same but for
// the name, and the medians of their times must not differ by more than chance (medians.ts); nor those of
// the request that comes next, which would wait for what is done after an answer. A difference is measured three
// times before it counts: other programs on the machine make differences that do not come again, a gateway that
// does more for one kind makes the same one every time.

import { exactly, type Figure, fact } from '../proof/report.ts';
import { Dice } from '../support/dice.ts';
import type { Served } from '../support/gateway-home.ts';
import { type Pair, pairsFor, type Question } from './hidden-names.ts';
import { type Difference, difference, isByChance, shuffled } from './medians.ts';
import { QuickLine } from './quick-line.ts';
import { things, World } from './world.ts';

export interface TimingOptions {
  /** Of each kind in each comparison. */
  readonly names: number;
  readonly seed: string;
  readonly progress: (text: string) => void;
}

interface Times {
  readonly hidden: number[];
  readonly missing: number[];
}

/** Of the names themselves, and of what is asked after them. */
interface Measured {
  readonly own: Difference;
  readonly next: Difference;
  readonly answers: ReadonlySet<string>;
}

/** So many questions come before the first that counts. */
const warmUp = 400;
const rounds = 3;

export async function timing(options: TimingOptions) {
  const figures: Figure[] = [fact('names of each kind in each comparison', options.names)];
  const findings: string[] = [];
  let again = 0;
  for (const audit of ['off', 'on'] as const) {
    await using world = await World.create({ auth: 'token', audit });
    await using served = await world.home.serve();
    await world.warm(served);
    const dice = new Dice(`${options.seed}, timing, audit ${audit}`);
    for (const pair of await pairsIn(world, served, dice)) {
      const what = `${pair.what}, audit ${audit}`;
      options.progress(what);
      const found: Measured[] = [];
      do found.push(await measure(pair, served, options.names, dice));
      while (found.length < rounds && (isSeen(found, 'own') || isSeen(found, 'next')));
      again += found.length - 1;
      figures.push(fact(`${what}: µs more, and for the next`, worded(found)));
      for (const which of ['own', 'next'] as const) {
        if (isSeen(found, which)) findings.push(`[timing] ${what}, ${which}: ${worded(found)}`);
      }
      const [{ answers } = { answers: new Set<string>() }] = found;
      if (answers.size > 1) findings.push(`[timing] ${what}: ${[...answers].join(' is not ')}`);
    }
  }
  figures.push(fact('comparisons that were made again', again));
  figures.push(exactly('hidden names that time or words tell of', findings.length, 0));
  return { figures, findings };
}

/** Whether it was there every time, and in the same direction. */
function isSeen(found: readonly Measured[], which: 'own' | 'next'): boolean {
  const [first] = found;
  return found.every(
    ({ [which]: one }) =>
      !isByChance(one) && Math.sign(one.ms) === Math.sign(first?.[which].ms ?? 0),
  );
}

async function measure(pair: Pair, { url }: Served, asks: number, dice: Dice): Promise<Measured> {
  using line = await QuickLine.open(Number(new URL(url).port));
  const take = (kind: keyof Times, count: number) =>
    Array.from({ length: count }, (): [keyof Times, Question] => [kind, dice.pick(pair[kind])]);
  const mixed = (count: number) =>
    shuffled([...take('hidden', count), ...take('missing', count)], dice);
  const own: Times = { hidden: [], missing: [] };
  const next: Times = { hidden: [], missing: [] };
  const answers = new Set<string>();
  for (const [, { bytes }] of mixed(warmUp / 2)) await line.ask(bytes);
  let before: keyof Times | undefined;
  for (const [kind, { bytes, name }] of mixed(asks)) {
    const { ms, text } = await line.ask(bytes);
    answers.add(withoutName(text, name));
    own[kind].push(ms);
    if (before) next[before].push(ms);
    before = kind;
  }
  const compared = ({ hidden, missing }: Times) => difference(hidden, missing, dice);
  return { own: compared(own), next: compared(next), answers };
}

/** The questions, with everything there that they need. */
export async function pairsIn(world: World, served: Served, dice: Dice): Promise<readonly Pair[]> {
  using little = world.client(served, 'little');
  using all = world.client(served, 'all');
  const session = await little.session();
  const other = await all.session();
  const tasks: string[] = [];
  const call = { name: 'unseen__open_000', arguments: {}, task: {} };
  while (tasks.length < things) {
    const { json } = await other.ask('tools/call', call);
    tasks.push(json.result.task.taskId);
  }
  const port = Number(new URL(served.url).port);
  return pairsFor({ port, token: world.tokenOf('little'), session: session.id, tasks }, dice);
}

/** An answer, but for what differs in every two. */
export function withoutName(text: string, name: string): string {
  return text.replaceAll(name, 'NAME').replace(/^date: .*\r\n/im, '');
}

/** The latest; with its limit. */
function worded(found: readonly Measured[]): string {
  const last = found.at(-1);
  const words = [last?.own, last?.next].map((one) =>
    one === undefined ? '' : `${micro(one.ms)} (chance: ${micro(one.limitMs)})`,
  );
  return words.join(', ');
}

function micro(ms: number): string {
  return (ms * 1_000).toFixed(1);
}
