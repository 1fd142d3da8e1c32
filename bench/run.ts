// `npm run bench`: measures, prints the figures and whether each goal of the project is met, and exits with 1
// if one is missed. Method and results: bench/README.md.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../test/proof/asked.ts';
import { benchBroker } from './broker/bench.ts';
import { benchConnect } from './connect.ts';
import { benchGateway } from './gateway/bench.ts';
import { benchBuilds, benchHolder } from './gateway/builds.ts';
import { benchLibrary } from './library/bench.ts';
import { benchRoles } from './roles.ts';
import { benchStartup } from './startup.ts';

const help = `npm run bench -- [library|gateway|holder|startup|connect|roles|broker|builds]... [--quick] [--rounds N] [--base DIR]

Measures this build and prints the figures. Exit code 1 if a goal is missed. Without a name: library,
gateway, holder (its cost), startup, connect, roles and broker, and builds if there is a --base.
  --quick       3 rounds
  --rounds N    how many rounds (15)
  --base DIR    another build of Holdfast (a dist folder), which builds compares with this one
Example: npm run bench -- gateway --quick`;

/** What needs nothing to compare with. */
const alone = ['library', 'gateway', 'holder', 'startup', 'connect', 'roles', 'broker'];

interface Wish {
  readonly names: readonly string[];
  readonly rounds: number;
  readonly base: string | undefined;
}

const wish = asked('bench', readWish);
if (wish !== undefined) {
  const { rounds, base } = wish;
  const benches = new Map<string, () => Promise<boolean>>([
    ['library', () => benchLibrary(rounds)],
    ['gateway', () => benchGateway({ rounds, seconds: 1 })],
    ['holder', () => benchHolder({ rounds, seconds: 1 })],
    ['startup', () => benchStartup(rounds)],
    ['connect', () => benchConnect(rounds)],
    ['roles', () => benchRoles(rounds)],
    ['broker', () => benchBroker(rounds)],
  ]);
  // Two builds of the same program: only where there is another one.
  if (base !== undefined) benches.set('builds', () => benchBuilds({ rounds, seconds: 1, base }));
  for (const name of wish.names.length === 0 ? benches.keys() : wish.names) {
    if ((await benches.get(name)?.()) === false) process.exitCode = 1;
  }
}

/** What is asked for, or the help. */
function readWish(): Wish | string {
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
  const problem = problemOf(names, base);
  if (problem !== undefined) throw new Error(problem);
  return { names, base, rounds: wholeNumber('rounds', values.rounds ?? (quick ? '3' : '15')) };
}

function problemOf(names: readonly string[], base: string | undefined): string | undefined {
  const known = new Set([...alone, 'builds']);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) return `there is no benchmark "${unknown}"`;
  if (names.includes('builds') && base === undefined) return 'builds needs --base DIR';
  if (base !== undefined && !existsSync(join(base, 'cli/main.js'))) {
    return `--base ${base} is not a build of Holdfast: it has no cli/main.js`;
  }
  return undefined;
}
