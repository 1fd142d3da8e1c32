// npm run proof: every proof, one after the other in the size that is published, and one table at the
// end. Each is started as anyone would start it alone. `--size soak` is the long form; `--write` puts
// the figures with the commit they belong to into docs/proof.md.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { asked } from './asked.ts';
import { measuredOn } from './machine.ts';
import { hasPassed, type Report } from './report.ts';
import { type Size, type Step, sizes, steps } from './steps.ts';
import { inDocument, markdownOf, summaryOf, type Taken } from './summary.ts';

const help = `npm run proof -- [--size proof|soak] [--only NAME]... [--write]

Runs ${steps.map(({ name }) => name).join(', ')}, then prints one table. Exit code 1 if a goal is missed.
  --size soak   the long form, for a night
  --only NAME   this one only; may be repeated
  --write       put the figures into docs/proof.md
Example: npm run proof -- --only simulation --only chaos`;

const document = 'docs/proof.md';

interface Wish {
  readonly size: Size;
  readonly chosen: readonly Step[];
  readonly isWritten: boolean;
}

const wish = asked('proof', readWish);
if (wish !== undefined) await prove(wish);

function readWish(): Wish | string {
  const { values } = parseArgs({
    options: {
      size: { type: 'string', default: 'proof' },
      only: { type: 'string', multiple: true },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return help;
  const size = sizes.find((known) => known === values.size);
  if (size === undefined)
    throw new Error(`--size ${values.size} is unknown: ${sizes.join(' or ')}`);
  const names = steps.map(({ name }) => name);
  const unknown = values.only?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown} is unknown: ${names.join(', ')}`);
  const chosen = steps.filter(({ name }) => values.only?.includes(name) ?? true);
  return { size, chosen, isWritten: values.write };
}

async function prove({ size, chosen, isWritten }: Wish): Promise<void> {
  const machine = measuredOn();
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-proof-'));
  const taken: Taken[] = [];
  try {
    for (const step of chosen) taken.push(await take(step, size, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`\n${summaryOf(taken)}\n\n${machine}`);
  if (isWritten) {
    const text = inDocument(readFileSync(document, 'utf8'), markdownOf(taken, machine));
    writeFileSync(document, text);
    console.log(`written to ${document}`);
  }
  if (!taken.every(({ isPassed }) => isPassed)) process.exitCode = 1;
}

async function take(step: Step, size: Size, folder: string): Promise<Taken> {
  const file = join(folder, `${step.name}.json`);
  const command = ['run', '-s', step.script, '--', ...step.sizes[size]];
  console.log(`\n$ npm ${command.join(' ')}`);
  const began = performance.now();
  const code = await run('npm', [...command, '--json', file]);
  const seconds = (performance.now() - began) / 1_000;
  const report = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as Report)
    : { title: step.name, figures: [], findings: [`ended with ${code} and without a report`] };
  return { step, seconds, report, isPassed: code === 0 && hasPassed(report) };
}

/** Its exit code, or the signal that ended it. An interrupt reaches it as well as us. */
function run(command: string, args: readonly string[]): Promise<number | string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 'no exit code'));
  });
}
