// Kills the parts of a fleet in turn, under load: the broker, the orchestrator and a worker. What the callers were told
// is compared with what the servers have written down: what was answered has run, what must not be repeated has run at
// most once, and nobody waits for longer than a call may take.

import { join } from 'node:path';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, type FleetBrokerName } from '../support/fleet.ts';
import { readLedger } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { Callers } from './callers.ts';

export interface KillOptions {
  readonly broker: FleetBrokerName;
  readonly kills: number;
  readonly workers: number;
  readonly progress: (text: string) => void;
}

export interface KillFindings {
  readonly calls: number;
  readonly answered: number;
  readonly refused: number;
  readonly unknown: number;
  /** Answered, and not in the ledger. */
  readonly lost: readonly string[];
  /** Effects that began more than once. */
  readonly twice: readonly string[];
  /** Calls that took longer than their tries may. */
  readonly hung: readonly string[];
  /** From the end of a kill and restart until the next answer. */
  readonly recoveriesMs: readonly number[];
}

const victims = ['broker', 'orchestrator', 'worker'] as const;
/** Ten seconds for the tries of a worker's link, and as long for an orchestrator that is away. */
const longestMs = 30_000;
/** Between a recovery and the next kill. */
const answersBetween = 20;

export async function killParts(options: KillOptions): Promise<KillFindings> {
  const { broker, kills, workers, progress } = options;
  const folder = newFolder();
  const ledger = join(folder, 'ledger');
  const server = { ...faultyStdio({ ledger, state: join(folder, 'state') }), concurrency: 64 };
  await using fleet = await Fleet.start(broker, {
    mcpServers: { own: server },
    roles: { reader: { allow: ['own/*'] } },
  });
  const callers = new Callers(fleet);
  await callers.start(workers);
  const recoveriesMs: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const enough = callers.answered + answersBetween;
    await settledUntil(callers, () => callers.answered >= enough);
    const victim = victims[kill % victims.length];
    if (victim === 'broker') await fleet.broker.restart();
    else if (victim === 'orchestrator') await fleet.restartOrchestrator();
    else await callers.killWorker(kill);
    const before = callers.answered;
    const from = performance.now();
    await settledUntil(callers, () => callers.answered > before);
    recoveriesMs.push(performance.now() - from);
    progress(`${kill + 1} kills, ${callers.settled.length} calls`);
  }
  await callers.end();
  return findings(callers, ledger, recoveriesMs);
}

/** Throws if nothing settles for longer than a call may take. */
async function settledUntil(callers: Callers, isSo: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 2 * longestMs;
  while (!isSo()) {
    if (performance.now() > giveUpAt) {
      throw new Error(`no answers any more: ${JSON.stringify(callers.settled.slice(-5))}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function findings(
  { settled }: Callers,
  ledger: string,
  recoveriesMs: readonly number[],
): KillFindings {
  const began = new Map<string, number>();
  const done = new Set<string>();
  for (const { nonce, phase, tool } of readLedger(ledger)) {
    if (nonce === null || tool !== 'add') continue;
    if (phase === 'begin') began.set(nonce, (began.get(nonce) ?? 0) + 1);
    if (phase === 'done') done.add(nonce);
  }
  const isEffect = (nonce: string) => Number(nonce.slice('call-'.length)) % 4 !== 0;
  const count = (outcome: string) => settled.filter((one) => one.outcome === outcome).length;
  return {
    calls: settled.length,
    answered: count('answered'),
    refused: count('refused'),
    unknown: count('unknown'),
    lost: settled
      .filter(({ outcome, nonce }) => outcome === 'answered' && isEffect(nonce) && !done.has(nonce))
      .map(({ nonce }) => nonce),
    twice: [...began].filter(([, times]) => times > 1).map(([nonce]) => nonce),
    hung: settled
      .filter(({ ms }) => ms > longestMs)
      .map(({ nonce, ms, detail }) => `${nonce} ${Math.round(ms)} ms ${detail}`),
    recoveriesMs,
  };
}
