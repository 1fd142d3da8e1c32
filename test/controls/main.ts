// npm run controls: planted bugs, one at a time in a copy of the built code, and each must be found by
// the proof it belongs to. Before that the same proofs look at a copy without a bug, in the same size,
// and must find nothing: otherwise what they find in the others would mean nothing.

import { parseArgs } from 'node:util';
import { conclude, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import { tryPatch, tryWithout } from './control.ts';
import { sizes } from './finders.ts';
import { type Patch, patches } from './patches.ts';

const help = `npm run controls -- [--only ID]... [--list] [--json FILE]

Plants ${patches.length} bugs in copies of dist/ or src/ and checks that each is found: by the simulation in ${sizes.simulation},
by the chaos in ${sizes.chaos}, by the strangers in ${sizes.strangers}, or by unit tests. Exit code 1 if one is not found.
  --only ID     this one only; may be repeated
  --list        list the bugs and run nothing
  --keep        keep the copies with the bugs, for inspection
  --json FILE   the report as JSON
Example: npm run controls -- --only two-probes`;

interface Wish {
  readonly chosen: readonly Patch[];
  readonly isListed: boolean;
  readonly isKept: boolean;
  readonly json: string | undefined;
}

const wish = readWish();
if (typeof wish === 'string') {
  console.error(wish);
  process.exitCode = wish === help ? 0 : 2;
} else if (wish.isListed) {
  console.log(wish.chosen.map(described).join('\n'));
} else {
  await control(wish);
}

function readWish(): Wish | string {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', multiple: true },
        list: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return help;
    const unknown = values.only?.find((id) => !patches.some((patch) => patch.id === id));
    if (unknown !== undefined)
      return `--only ${unknown} is unknown; see npm run controls -- --list`;
    const chosen = patches.filter(({ id }) => values.only?.includes(id) ?? true);
    return { chosen, isListed: values.list, isKept: values.keep, json: values.json };
  } catch (error) {
    return `${error instanceof Error ? error.message : error}; see npm run controls -- --help`;
  }
}

function described({ id, breaks, file, foundBy, promise }: Patch): string {
  return `${id}\n  ${breaks}\n  in ${file}; ${foundBy} has to see that #${promise} is broken`;
}

async function control(wished: Wish): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => interrupted.abort());
  }
  const report = await reportOn(wished, interrupted.signal);
  if (report !== undefined) conclude(report, wished.json);
  else process.exitCode = 130;
}

/** Undefined if it was interrupted. */
async function reportOn(
  { chosen, isKept }: Wish,
  signal: AbortSignal,
): Promise<Report | undefined> {
  const figures: Figure[] = [];
  const findings: string[] = [];
  for (const finder of new Set(chosen.map(({ foundBy }) => foundBy))) {
    console.error(`${finder}, without a bug ...`);
    const found = await tryWithout(finder, signal);
    if (signal.aborted) return undefined;
    figures.push(exactly(`found by ${finder} where no bug is`, found.length, 0));
    findings.push(...found.map((finding) => `${finder} without a bug: ${finding}`));
  }
  let foundCount = 0;
  for (const patch of chosen) {
    const { isFound, words, finding = words } = await tryPatch(patch, { signal, isKept });
    if (signal.aborted) return undefined;
    console.error(`${patch.id}: ${finding}`);
    figures.push(fact(patch.id, isFound ? `found in ${words}` : 'NOT FOUND'));
    if (isFound) foundCount += 1;
    else findings.push(words);
  }
  figures.push(exactly('planted bugs that were found', foundCount, chosen.length));
  return { title: 'Negative controls', figures, findings };
}
