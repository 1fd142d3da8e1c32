// `npm run bench [-- library|gateway|startup|builds] [--quick] [--rounds N] [--base DIR]`: measures, prints the figures and
// whether each goal of the project is met, and exits with 1 if one is missed. Method and results:
// bench/README.md.

import { parseArgs } from 'node:util';
import { benchGateway } from './gateway/bench.ts';
import { benchBuilds } from './gateway/builds.ts';
import { benchLibrary } from './library/bench.ts';
import { benchStartup } from './startup.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    base: { type: 'string' },
  },
});
const { quick } = values;
const rounds = Number(values.rounds ?? (quick ? 3 : 15));
const benches: Record<string, () => Promise<boolean>> = {
  library: () => benchLibrary(rounds),
  gateway: () => benchGateway({ rounds, seconds: 1 }),
  startup: () => benchStartup(rounds),
};
const { base } = values;
// Two builds of the same program: only where there is another one.
if (base !== undefined) benches['builds'] = () => benchBuilds({ rounds, seconds: 1, base });

for (const name of positionals.length === 0 ? Object.keys(benches) : positionals) {
  const bench = benches[name];
  if (bench === undefined) {
    console.error(
      `There is no benchmark "${name}": say library, gateway, startup, builds (with --base DIR) or nothing.`,
    );
    process.exitCode = 2;
  } else if (!(await bench())) {
    process.exitCode = 1;
  }
}
