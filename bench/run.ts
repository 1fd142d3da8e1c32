// `npm run bench [-- library|gateway|startup] [--quick] [--rounds N]`: measures, prints the figures and
// whether each goal of the project is met, and exits with 1 if one is missed. Method and results:
// bench/README.md.

import { parseArgs } from 'node:util';
import { benchGateway } from './gateway/bench.ts';
import { benchLibrary } from './library/bench.ts';
import { benchStartup } from './startup.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string' } },
});
const { quick } = values;
const rounds = Number(values.rounds ?? (quick ? 3 : 15));
const benches: Record<string, () => Promise<boolean>> = {
  library: () => benchLibrary(rounds),
  gateway: () => benchGateway({ rounds, seconds: 1 }),
  startup: () => benchStartup(rounds),
};

for (const name of positionals.length === 0 ? Object.keys(benches) : positionals) {
  const bench = benches[name];
  if (bench === undefined) {
    console.error(`There is no benchmark "${name}": say library, gateway, startup or nothing.`);
    process.exitCode = 2;
  } else if (!(await bench())) {
    process.exitCode = 1;
  }
}
