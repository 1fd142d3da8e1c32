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

export const shortMs = 2_000;
/** A silent link is given up after 15 seconds. */
export const longMs = 18_000;
/** 15 seconds until a silence is noticed, and ten for the tries of a link and for an orchestrator that is away. */
export const longestMs = 45_000;
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
  const recoveriesMs = await damageInTurn(callers, cuts, progress, (cut) => {
    const relay = cut % 2 === 0 ? ofWorkers : ofOrchestrator;
    const damage = damages[Math.floor(cut / 2) % damages.length] ?? 'cut';
    const isLong = hasLong && cut % (4 * damages.length) >= 2 * damages.length;
    return {
      words: `${damage}, ${relay === ofWorkers ? 'workers' : 'orchestrator'}`,
      ms: isLong && isSilent(damage) ? longMs : shortMs,
      begin: () => relay.damage(damage),
      mend: () => relay.mend(),
    };
  });
  await callers.end();
  return findingsOf(callers, ledger, recoveriesMs, longestMs);
}

/** What is done to a network, and for how long. */
export interface Damaging {
  readonly words: string;
  readonly ms: number;
  begin(): void;
  mend(): void;
}

/** Between any two of them calls are answered; how long the next answer takes each time after the mending. */
export async function damageInTurn(
  callers: Callers,
  times: number,
  progress: (text: string) => void,
  next: (at: number) => Damaging,
): Promise<readonly number[]> {
  const recoveriesMs: number[] = [];
  for (let at = 0; at < times; at += 1) {
    const enough = callers.answered + answersBetween;
    await settledUntil(callers, longestMs, () => callers.answered >= enough);
    const { words, ms, begin, mend } = next(at);
    begin();
    await passed(ms);
    const before = callers.answered;
    const from = performance.now();
    mend();
    await settledUntil(callers, longestMs, () => callers.answered > before);
    recoveriesMs.push(performance.now() - from);
    const recoveryMs = Math.round(recoveriesMs.at(-1) ?? 0);
    progress(`${at + 1} cuts (${words}, ${recoveryMs} ms), ${callers.settled.length} calls`);
  }
  return recoveriesMs;
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
