// npm run fuzz: everything that parses bytes from outside, compared with independent oracles.

import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { conclude, fact } from '../proof/report.ts';
import { type Area, areas, runArea } from './areas.ts';
import { parserOf, parsers } from './kept-inputs.ts';
import { replayed } from './replay.ts';

const help = `npm run fuzz -- [options]

Generated and mutated bytes for everything that parses bytes from outside: the scanner against
TextDecoder and JSON.parse, framing, config files, the HTTP edge and stdin of a running gateway, and
what a server may send to a host.

  --documents N   for the scanner (1000000)
  --seconds S     for each of the others (20)
  --only AREA     ${areas.join(' | ')}
  --seed N        repeats the choices of another run
  --jobs N        processes for the scanner (one for each core)
  --replay FILE   checks only one stored input
  --json FILE     writes the figures there, too

HOLDFAST_BUILD=DIR fuzzes another build than dist/.

Example:
  npm run fuzz -- --only scanner --documents 20000 --seed 7`;

const build = resolve(
  process.env['HOLDFAST_BUILD'] ?? fileURLToPath(new URL('../../dist', import.meta.url)),
);

await main();

async function main(): Promise<void> {
  const asked = read();
  if (asked === undefined) return;
  if (asked.replay !== undefined) return await replay(asked.replay);
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => interrupt.abort());
  }
  await fuzz(asked, interrupt.signal);
}

async function fuzz(asked: Asked, signal: AbortSignal): Promise<void> {
  const say = (line: string) => console.error(line);
  say(`seed ${asked.seed}, build ${build}`);
  const figures = [fact('seed', String(asked.seed))];
  const findings: string[] = [];
  for (const area of asked.areas) {
    const size = area === 'scanner' ? `${asked.documents} documents` : `${asked.seconds} s`;
    say(`${area}: ${size}`);
    try {
      const report = await runArea(area, { ...asked, build, signal, say });
      figures.push(...report.figures);
      findings.push(...report.findings);
    } catch (error) {
      // A job that was ended by the interrupt says so with an error.
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) {
      say('interrupted');
      process.exitCode = 130;
      return;
    }
  }
  conclude({ title: 'Fuzzing', figures, findings }, asked.json);
}

async function replay(file: string): Promise<void> {
  const parser = parserOf(file);
  if (parser === undefined) {
    return usage(`the name of ${file} must begin with one of ${parsers.join(', ')} and a hyphen`);
  }
  const says = await replayed(parser, readFileSync(file), build);
  console.log(says === undefined ? `${file}: nothing is wrong with it` : `${file}: ${says}`);
  if (says !== undefined) process.exitCode = 1;
}

interface Asked {
  readonly documents: number;
  readonly seconds: number;
  readonly seed: number;
  readonly jobs: number;
  readonly areas: readonly Area[];
  readonly replay: string | undefined;
  readonly json: string | undefined;
}

function read(): Asked | undefined {
  try {
    const { values } = parseArgs({
      options: {
        documents: { type: 'string', default: '1000000' },
        seconds: { type: 'string', default: '20' },
        only: { type: 'string' },
        seed: { type: 'string', default: String(randomInt(1_000_000)) },
        jobs: { type: 'string', default: String(availableParallelism()) },
        replay: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return void console.log(help);
    const { documents, seconds, seed, jobs, replay: file, json } = values;
    return {
      documents: whole('documents', documents),
      seconds: whole('seconds', seconds),
      seed: whole('seed', seed),
      jobs: Math.max(1, whole('jobs', jobs)),
      areas: areasFrom(values.only),
      replay: file,
      json,
    };
  } catch (error) {
    return usage((error as Error).message.split('\n')[0] ?? '');
  }
}

function usage(problem: string): undefined {
  console.error(`fuzz: ${problem}; see --help`);
  process.exitCode = 2;
}

function areasFrom(only: string | undefined): readonly Area[] {
  if (only === undefined) return areas;
  const area = areas.find((one) => one === only);
  if (area === undefined) throw new Error(`--only takes ${areas.join(', ')}, not "${only}"`);
  return [area];
}

function whole(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Error(`--${name} takes a whole number, not "${text}"`);
}
