// npm run crashtest: kill -9 and power cuts in the middle of whatever the gateway writes to disk, torn
// and damaged files, disks that fail. docs/proof.md says what this shows and what it does not.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { conclude } from '../proof/report.ts';
import { crashTest } from './crash-test.ts';

const help = `npm run crashtest -- [--kills N] [--seed N] [--build DIR] [--json FILE] [--keep]

Kills the built gateway while it writes, starts it again, and looks for what was lost; tears and
damages its files; lets its disk fail. Exit code 1 if anything was wrong.
  --kills N    how many gateways are killed (200)
  --seed N     repeats an earlier run (a random one)
  --build DIR  the build to test (dist)
  --json FILE  writes the report there
  --keep       leaves the homes of the gateways, to look into
Example: npm run crashtest -- --kills 20 --seed 7`;

const wish = readWish();
if (typeof wish === 'string') {
  console.error(wish);
  process.exitCode = wish === help ? 0 : 2;
} else {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  const progress = (text: string) => console.error(`crashtest: ${text}`);
  progress(`seed ${wish.seed}`);
  const report = await crashTest({ ...wish, signal: stop.signal, progress });
  if (stop.signal.aborted) {
    console.error('crashtest: interrupted');
    process.exitCode = 130;
  } else conclude(report, wish.jsonFile);
}

function readWish() {
  try {
    const { values } = parseArgs({
      options: {
        kills: { type: 'string', default: '200' },
        seed: { type: 'string' },
        build: { type: 'string', default: process.env['HOLDFAST_BUILD'] ?? 'dist' },
        json: { type: 'string' },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return help;
    const { build, json: jsonFile, keep: isKept } = values;
    const kills = Number(values.kills);
    const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
    if (!Number.isInteger(kills) || kills < 0) return `--kills ${values.kills} is no number`;
    if (!Number.isInteger(seed)) return `--seed ${values.seed} is no number`;
    if (!existsSync(join(build, 'cli/main.js')))
      return `there is no build in ${build}: run npm run build`;
    return { kills, seed, build, jsonFile, isKept };
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split('\n');
    return `${line}; see npm run crashtest -- --help`;
  }
}
