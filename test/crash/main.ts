// npm run crashtest: kill -9 and power cuts in the middle of whatever the gateway writes to disk, torn
// and damaged files, disks that fail. docs/proof.md says what this shows and what it does not.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../proof/asked.ts';
import { conclude } from '../proof/report.ts';
import { crashTest } from './crash-test.ts';

const help = `npm run crashtest -- [--kills N] [--seed N] [--build DIR] [--json FILE] [--keep]

Kills the built gateway while it writes, starts it again, and looks for what was lost; tears and
damages its files; lets its disk fail. Exit code 1 if anything was wrong.
  --kills N    how many gateways are killed (200)
  --seed N     repeats an earlier run (a random one)
  --build DIR  the build to test (dist)
  --json FILE  writes the report there
  --keep       keeps the folders of the gateways, for inspection
Example: npm run crashtest -- --kills 20 --seed 7`;

const wish = asked('crashtest', readWish);
if (wish !== undefined) {
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
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
      build: { type: 'string', default: process.env['HOLDFAST_BUILD'] ?? 'dist' },
      json: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return help;
  const { build, json: jsonFile, keep: isKept } = values;
  if (!existsSync(join(build, 'cli/main.js'))) {
    throw new Error(`there is no build in ${build}: run npm run build`);
  }
  const kills = wholeNumber('kills', values.kills, 0);
  const seed = wholeNumber('seed', values.seed, 0);
  return { kills, seed, build, jsonFile, isKept };
}
