// Many workers at once, in a few processes: each call gets its own answer, none is lost and none runs twice, by the
// ledger of the server.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet } from '../support/fleet.ts';
import { readLedger } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { startCrowdBroker } from './crowd-brokers.ts';
import type { CrowdCall, CrowdOrder } from './crowd-process.ts';

export interface CrowdOptions {
  readonly broker: 'command' | 'nats';
  readonly workers: number;
  readonly calls: number;
  readonly processes: number;
}

export interface CrowdFindings {
  readonly calls: number;
  /** Calls without their own answer: another one, or a failure. */
  readonly wrong: readonly string[];
  /** Answered, and not in the ledger. */
  readonly lost: readonly string[];
  readonly twice: readonly string[];
  readonly seconds: number;
}

const program = fileURLToPath(new URL('./crowd-process.ts', import.meta.url));
const built = new URL('../proof/built.mjs', import.meta.url).href;

export async function callByCrowd(options: CrowdOptions): Promise<CrowdFindings> {
  const { broker: name, workers, calls, processes } = options;
  const ledger = join(newFolder(), 'ledger');
  const { broker, credentials } = await startCrowdBroker(name, workers);
  await using fleet = await Fleet.start(broker, {
    mcpServers: { own: { ...faultyStdio({ ledger }), concurrency: 64, queue: 4_096 } },
    roles: { reader: { allow: ['own/*'] } },
  });
  const all = credentials.map((credential, number) => ({ number, credential }));
  const began = performance.now();
  const made = await Promise.all(
    Array.from({ length: processes }, (_, at) =>
      runProcess({
        broker: fleet.broker.url,
        workers: all.filter(({ number }) => number % processes === at),
        calls,
      }),
    ),
  );
  const seconds = (performance.now() - began) / 1_000;
  return { ...findings(made.flat(), ledger), seconds };
}

async function runProcess(order: CrowdOrder): Promise<readonly CrowdCall[]> {
  const words = ['--import', 'tsx', '--import', built, program];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said = (said + String(chunk)).slice(-2_000);
  });
  const ended = once(child, 'close');
  const failed = ended.then(([code]) => {
    throw new Error(`a process of workers has ended with ${code}: ${said}`);
  });
  failed.catch(() => {});
  const answered = once(child, 'message') as Promise<[readonly CrowdCall[]]>;
  child.send(order);
  const [made] = await Promise.race([answered, failed]);
  await ended;
  return made;
}

function findings(made: readonly CrowdCall[], ledger: string): Omit<CrowdFindings, 'seconds'> {
  const began = new Map<string, number>();
  for (const { nonce, phase } of readLedger(ledger)) {
    if (nonce !== null && phase === 'begin') began.set(nonce, (began.get(nonce) ?? 0) + 1);
  }
  const isOwn = ({ expected, answer }: CrowdCall) => answer === expected;
  return {
    calls: made.length,
    wrong: made.filter((call) => !isOwn(call)).map(({ nonce, answer }) => `${nonce}: ${answer}`),
    lost: made.filter((call) => isOwn(call) && !began.has(call.nonce)).map(({ nonce }) => nonce),
    twice: [...began].filter(([, times]) => times > 1).map(([nonce]) => nonce),
  };
}
