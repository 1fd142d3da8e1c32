// What `holdfast connect` costs: the p50 of a call through it and the instance, compared with `serve --stdio`
// behind a process that only copies bytes (both have two processes between client and server); the memory
// of one `connect`; and how long a window takes until an instance that runs has answered `initialize`.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { holdfastConnect, holdfastOnStdio } from './gateway/holdfast.ts';
import { oneAtATime } from './gateway/load.ts';
import { residentMb } from './gateway/procfs.ts';
import { type StdioCommand, startOnStdio } from './gateway/stdio-subject.ts';
import { type Sample, type Subject, sample } from './gateway/subject.ts';
import { Goals } from './goals.ts';
import { inTurns, median, ratioOf } from './ratios.ts';

const bareRelay = fileURLToPath(new URL('./gateway/floors/bare-stdio.mjs', import.meta.url));
const goals = { p50: 1.25, residentMb: 60, initializeMs: 250 } as const;

/** True if every goal is met. */
export async function benchConnect(rounds: number): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const direct = holdfastOnStdio(join(folder, 'stdio'));
  const connect = holdfastConnect(join(folder, 'connect'));
  const relayed = { ...direct, name: 'stdio', args: [bareRelay, process.execPath, ...direct.args] };
  const subjects: Subject[] = [];
  try {
    subjects.push(startOnStdio(relayed), startOnStdio(connect));
    const [base, own] = subjects as [Subject, Subject];
    const run = (subject: Subject) => sample(subject, oneAtATime, 1);
    await inTurns(subjects, 2, run);
    const samples = await inTurns(subjects, rounds, run);
    const p50 = (one: Subject) => (samples.get(one) ?? []).map(({ p50Us }: Sample) => p50Us);
    const judged = new Goals();
    console.log('\nholdfast connect:');
    judged.atMost(
      goals.p50,
      'p50 of a call, of serve --stdio behind a relay',
      ratioOf(p50(own), p50(base)),
    );
    const isSmall = judge('resident memory of one connect', 'MB', goals.residentMb, [
      residentMb(own.pid),
    ]);
    const starts: number[] = [];
    for (let round = 0; round < rounds; round += 1) starts.push(await initializeMs(connect));
    const isQuick = judge(
      'initialize of a running instance after',
      'ms',
      goals.initializeMs,
      starts,
    );
    return judged.allMet && isSmall && isQuick;
  } finally {
    for (const subject of subjects) await subject[Symbol.asyncDispose]();
    shutDown(connect);
    rmSync(folder, { recursive: true, force: true });
  }
}

function judge(title: string, unit: string, limit: number, values: readonly number[]): boolean {
  const isMet = median(values) <= limit;
  const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)].map(
    (value) => value.toFixed(1),
  );
  const shown = `at most ${limit} ${unit}: ${middle} ${unit} (${low}-${high})`;
  console.log(`  ${isMet ? 'met   ' : 'MISSED'} ${title} ${shown}`);
  return isMet;
}

/** From the start of the process to the answer. */
async function initializeMs({ args, env }: StdioCommand): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const params = {
    ...{ protocolVersion: '2025-11-25', capabilities: {} },
    clientInfo: { name: 'bench', version: '1' },
  };
  const frame = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
  child.stdin.write(`${JSON.stringify(frame)}\n`);
  await once(createInterface(child.stdout), 'line');
  const elapsed = performance.now() - startedAt;
  child.stdin.end();
  await once(child, 'exit');
  return elapsed;
}

/** The instance that the windows had; it may have ended with the first of them, which had started it. */
function shutDown({ args, env }: StdioCommand): void {
  const [program = ''] = args;
  const config = args[args.indexOf('--config') + 1] ?? '';
  const words = [program, 'shutdown', '--config', config];
  spawnSync(process.execPath, words, { env: { ...process.env, ...env }, stdio: 'ignore' });
}
