// What the time of many requests tells about hidden names. What was refused is written down some time after its answer,
// and whoever asks next waits for that: one request is too little to see it, so bursts of hidden names are
// compared with bursts of names that do not exist. There are many servers with a secret each, because secrets
// are looked for in what is written down. As in timing.ts, a difference counts if it comes three times.

import { exactly, type Figure, fact } from '../proof/report.ts';
import { Dice } from '../support/dice.ts';
import type { Pair, Question } from './hidden-names.ts';
import { type Difference, difference, isByChance, shuffled } from './medians.ts';
import { QuickLine } from './quick-line.ts';
import { pairsIn, type TimingOptions } from './timing.ts';
import { World } from './world.ts';

const secretive = 400;
/** Together they take longer than refusals are gathered. */
const burstSize = 150;
/** For so many names of the other comparisons, a burst of each kind. */
const namesPerBurst = 100;
const fewestBursts = 20;
const rounds = 3;
/** What is written down by the name that a client has chosen. */
const kinds = ['tools/call', 'prompts/get', 'resources/read'];

export async function bursts(options: TimingOptions) {
  const count = Math.max(fewestBursts, Math.ceil(options.names / namesPerBurst));
  const figures: Figure[] = [fact('bursts of each kind in each comparison', count)];
  const findings: string[] = [];
  await using world = await World.create({ auth: 'token', audit: 'on', secretive });
  await using served = await world.home.serve();
  await world.warm(served);
  const dice = new Dice(`${options.seed}, bursts`);
  using line = await QuickLine.open(Number(new URL(served.url).port));
  for (const pair of await pairsIn(world, served, dice)) {
    if (!kinds.some((kind) => pair.what.startsWith(kind))) continue;
    const what = `bursts of ${pair.what}`;
    options.progress(what);
    const found: Difference[] = [];
    do found.push(await measure(pair, line, count, dice));
    while (found.length < rounds && isSeen(found));
    const words = found.map(
      ({ ms, limitMs }) => `${ms.toFixed(1)} (chance: ${limitMs.toFixed(1)})`,
    );
    figures.push(fact(`${what}: ms more`, words.join(', ')));
    if (isSeen(found)) findings.push(`[timing] ${what}: ${words.join(', ')}`);
  }
  figures.push(exactly('hidden names that bursts tell of', findings.length, 0));
  return { figures, findings };
}

/** Whether it was there every time, and in the same direction. */
function isSeen(found: readonly Difference[]): boolean {
  const [first] = found;
  return found.every((one) => !isByChance(one) && Math.sign(one.ms) === Math.sign(first?.ms ?? 0));
}

async function measure(
  pair: Pair,
  line: QuickLine,
  count: number,
  dice: Dice,
): Promise<Difference> {
  const times = { hidden: [] as number[], missing: [] as number[] };
  const order = Array.from({ length: count }, () => ['hidden', 'missing'] as const).flat();
  await burst(pair.hidden, line);
  await burst(pair.missing, line);
  for (const kind of shuffled(order, dice)) times[kind].push(await burst(pair[kind], line));
  return difference(times.hidden, times.missing, dice);
}

/** How long so many take, one after another; what is still to be written down afterwards comes with the next. */
async function burst(questions: readonly Question[], line: QuickLine): Promise<number> {
  const began = performance.now();
  for (let at = 0; at < burstSize; at += 1) {
    const question = questions[at % questions.length];
    if (question) await line.ask(question.bytes);
  }
  return performance.now() - began;
}
