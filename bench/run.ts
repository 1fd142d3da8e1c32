// `npm run bench`: measures, prints the figures and whether each goal of the project is met, and exits with 1
// if one is missed. Method and results: bench/README.md.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchGateway } from './gateway/bench.ts';
import { benchBuilds } from './gateway/builds.ts';
import { benchLibrary } from './library/bench.ts';
import { benchStartup } from './startup.ts';

const help = `npm run bench -- [library|gateway|startup|builds]... [--quick] [--rounds N] [--base DIR]

Measures this build and prints the figures. Exit code 1 if a goal is missed. Without a name: library,
gateway and startup, and builds if there is a --base.
  --quick       3 rounds
  --rounds N    how many rounds (15)
  --base DIR    another build of Holdfast (a dist folder), which builds compares with this one
Example: npm run bench -- gateway --quick`;

interface Wish {
  readonly names: readonly string[];
  readonly rounds: number;
  readonly base: string | undefined;
}

const wish = readWish();
if (typeof wish === 'string') {
  const isAsked = wish === help;
  (isAsked ? console.log : console.error)(wish);
  process.exitCode = isAsked ? 0 : 2;
} else {
  const { rounds, base } = wish;
  const benches = new Map<string, () => Promise<boolean>>([
    ['library', () => benchLibrary(rounds)],
    ['gateway', () => benchGateway({ rounds, seconds: 1 })],
    ['startup', () => benchStartup(rounds)],
  ]);
  // Two builds of the same program: only where there is another one.
  if (base !== undefined) benches.set('builds', () => benchBuilds({ rounds, seconds: 1, base }));
  for (const name of wish.names.length === 0 ? benches.keys() : wish.names) {
    if ((await benches.get(name)?.()) === false) process.exitCode = 1;
  }
}

/** What is asked for, or the line to print instead. */
function readWish(): Wish | string {
  try {
    const { values, positionals: names } = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        rounds: { type: 'string' },
        base: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return help;
    const { base, quick } = values;
    const rounds = Number(values.rounds ?? (quick ? 3 : 15));
    const problem = problemOf(names, base) ?? roundsProblem(rounds, values.rounds);
    return problem === undefined ? { names, rounds, base } : withHelp(problem);
  } catch (error) {
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
    return withHelp(line.replace(/\. .*/, ''));
  }
}

function problemOf(names: readonly string[], base: string | undefined): string | undefined {
  const known = new Set(['library', 'gateway', 'startup', 'builds']);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) return `there is no benchmark "${unknown}"`;
  if (names.includes('builds') && base === undefined) return 'builds needs --base DIR';
  if (base !== undefined && !existsSync(join(base, 'cli/main.js'))) {
    return `--base ${base} is not a build of Holdfast: it has no cli/main.js`;
  }
  return undefined;
}

function roundsProblem(rounds: number, text: string | undefined): string | undefined {
  return Number.isInteger(rounds) && rounds > 0
    ? undefined
    : `--rounds ${text} is no number above 0`;
}

function withHelp(problem: string): string {
  return `${problem}; see npm run bench -- --help`;
}
