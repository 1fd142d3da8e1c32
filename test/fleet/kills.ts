// Kills the parts of a fleet in turn, under load: the broker, the orchestrator and a worker. What the callers were told
// is compared with what the servers have written down: what was answered has run, what must not be repeated has run at
// most once, and nobody waits for longer than a call may take.

import { Fleet, type FleetBrokerName } from '../support/fleet.ts';
import { Callers } from './callers.ts';
import { type FleetFindings, findingsOf, provedServers, settledUntil } from './findings.ts';

export interface KillOptions {
  readonly broker: FleetBrokerName;
  readonly kills: number;
  readonly workers: number;
  readonly progress: (text: string) => void;
}

const victims = ['broker', 'orchestrator', 'worker'] as const;
/** Ten seconds for the tries of a worker's link, and as long for an orchestrator that is away. */
const longestMs = 30_000;
/** Between a recovery and the next kill. */
const answersBetween = 20;

export async function killParts(options: KillOptions): Promise<FleetFindings> {
  const { broker, kills, workers, progress } = options;
  const { ledger, config } = provedServers();
  await using fleet = await Fleet.start(broker, config);
  const callers = new Callers(fleet);
  await callers.start(workers);
  const recoveriesMs: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const enough = callers.answered + answersBetween;
    await settledUntil(callers, longestMs, () => callers.answered >= enough);
    const victim = victims[kill % victims.length];
    if (victim === 'broker') await fleet.broker.restart();
    else if (victim === 'orchestrator') await fleet.restartOrchestrator();
    else await callers.killWorker(kill);
    const before = callers.answered;
    const from = performance.now();
    await settledUntil(callers, longestMs, () => callers.answered > before);
    recoveriesMs.push(performance.now() - from);
    progress(`${kill + 1} kills, ${callers.settled.length} calls`);
  }
  await callers.end();
  return findingsOf(callers, ledger, recoveriesMs, longestMs);
}
