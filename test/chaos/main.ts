// npm run chaos: real processes under real faults, judged by what they leave behind.

import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { conclude } from '../proof/report.ts';
import { runChaos } from './chaos.ts';
import { fullSeconds } from './figures.ts';
import type { Fleet } from './fleet.ts';

const help = `npm run chaos -- [options]

The gateway in front of servers that misbehave, under load and under faults.

  --seconds S      how long faults are injected (${fullSeconds}); shorter runs have lower goals
  --seed N         repeats the choices of another run
  --build DIR      the build to test (dist, or HOLDFAST_BUILD)
  --json FILE      writes the figures there, too
  --keep           keeps the folder of the run, which is kept anyway if something was found
  --no-neighbours  without the measurements of healthy servers next to bad ones and of twenty windows

Example:
  npm run chaos -- --seconds 20 --seed 7 --no-neighbours`;

await main();

async function main(): Promise<void> {
  const asked = read();
  if (asked === undefined) return;
  let fleet: Fleet | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, async () => {
      await fleet?.close();
      process.exit(130);
    });
  }
  const report = await runChaos({
    ...asked,
    say: (line) => console.error(line),
    started: (started) => {
      fleet = started;
    },
  });
  conclude(report, asked.json);
}

function read() {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: 'string', default: String(fullSeconds) },
        seed: { type: 'string', default: String(randomInt(1, 1_000_000)) },
        build: { type: 'string' },
        json: { type: 'string' },
        keep: { type: 'boolean', default: false },
        'no-neighbours': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return void console.log(help);
    const dist = fileURLToPath(new URL('../../dist', import.meta.url));
    return {
      seconds: positive('seconds', values.seconds),
      seed: positive('seed', values.seed),
      build: built(resolve(values.build ?? process.env['HOLDFAST_BUILD'] ?? dist)),
      json: values.json,
      isKept: values.keep,
      isCompared: true,
      hasNeighbours: !values['no-neighbours'],
    };
  } catch (error) {
    console.error(`chaos: ${(error as Error).message.split('\n')[0]}; see --help`);
    process.exitCode = 2;
    return undefined;
  }
}

function built(folder: string): string {
  if (existsSync(join(folder, 'cli', 'main.js'))) return folder;
  throw new Error(`there is no build in ${folder}: run npm run build`);
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`--${name} takes a number above 0, not "${text}"`);
}
