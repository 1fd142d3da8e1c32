// Damages the links of a fleet in turn, under load, while every process lives: the links of the workers, then that of the
// orchestrator, are cut, silent, silent in one direction or slow for a while, and mended. Judged as kills are.

import { Fleet, type FleetBroker, type FleetBrokerName, fleetBrokers } from '../support/fleet.ts';
import { type Damage, damages, LinkRelay } from '../support/link-relay.ts';
import { Callers } from './callers.ts';
import { type FleetFindings, findingsOf, provedServers, settledUntil } from './findings.ts';

export interface CutOptions {
  readonly broker: FleetBrokerName;
  readonly cuts: number;
  readonly workers: number;
  /** Every second round lasts so long that a silent link is given up. */
  readonly hasLong: boolean;
  readonly progress: (text: string) => void;
}

const shortMs = 2_000;
/** A silent link is given up after 15 seconds. */
const longMs = 18_000;
/** 15 seconds until a silence is noticed, and ten for the tries of a link and for an orchestrator that is away. */
const longestMs = 45_000;
const answersBetween = 20;

export async function cutLinks(options: CutOptions): Promise<FleetFindings> {
  const { broker, cuts, workers, hasLong, progress } = options;
  const { ledger, config } = provedServers();
  const inner = await fleetBrokers[broker]();
  const ofWorkers = await LinkRelay.to(inner.url);
  const ofOrchestrator = await LinkRelay.to(inner.url);
  await using fleet = await Fleet.start(behind(inner, ofOrchestrator, ofWorkers), config);
  const callers = new Callers(fleet);
  await callers.start(workers);
  const recoveriesMs: number[] = [];
  for (let cut = 0; cut < cuts; cut += 1) {
    const enough = callers.answered + answersBetween;
    await settledUntil(callers, longestMs, () => callers.answered >= enough);
    const relay = cut % 2 === 0 ? ofWorkers : ofOrchestrator;
    const damage = damages[Math.floor(cut / 2) % damages.length] ?? 'cut';
    const isLong = hasLong && cut % (4 * damages.length) >= 2 * damages.length;
    relay.damage(damage);
    await passed(isLong && isSilent(damage) ? longMs : shortMs);
    relay.mend();
    const before = callers.answered;
    const from = performance.now();
    await settledUntil(callers, longestMs, () => callers.answered > before);
    recoveriesMs.push(performance.now() - from);
    const whose = relay === ofWorkers ? 'workers' : 'orchestrator';
    const ms = Math.round(recoveriesMs.at(-1) ?? 0);
    progress(`${cut + 1} cuts (${damage}, ${whose}, ${ms} ms), ${callers.settled.length} calls`);
  }
  await callers.end();
  return findingsOf(callers, ledger, recoveriesMs, longestMs);
}

function isSilent(damage: Damage): boolean {
  return damage !== 'cut' && damage !== 'slow';
}

/** The network has to be damaged for a time: it is what is tried here. */
function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function behind(inner: FleetBroker, ofOrchestrator: LinkRelay, ofWorkers: LinkRelay): FleetBroker {
  return {
    url: ofOrchestrator.url,
    workersUrl: ofWorkers.url,
    credential: (member) => inner.credential(member),
    restart: () => inner.restart(),
    [Symbol.asyncDispose]: async () => {
      await ofOrchestrator[Symbol.asyncDispose]();
      await ofWorkers[Symbol.asyncDispose]();
      await inner[Symbol.asyncDispose]();
    },
  };
}
