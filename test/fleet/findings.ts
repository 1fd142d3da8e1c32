// What a proof of the fleet has found: what the callers were told, compared with what the servers have written down.

import { join } from 'node:path';
import { faultyStdio } from '../support/faulty.ts';
import type { HomeConfig } from '../support/gateway-home.ts';
import { readLedger } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import type { Callers } from './callers.ts';

export interface FleetFindings {
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
  /** From the end of what was done to it until the next answer. */
  readonly recoveriesMs: readonly number[];
}

/** The server that the callers use, and where it writes down what it does. */
export function provedServers(): { readonly ledger: string; readonly config: HomeConfig } {
  const folder = newFolder();
  const ledger = join(folder, 'ledger');
  const own = { ...faultyStdio({ ledger, state: join(folder, 'state') }), concurrency: 64 };
  return { ledger, config: { mcpServers: { own }, roles: { reader: { allow: ['own/*'] } } } };
}

/** Throws if nothing settles for longer than a call may take. */
export async function settledUntil(
  callers: Callers,
  longestMs: number,
  isSo: () => boolean,
): Promise<void> {
  const giveUpAt = performance.now() + 2 * longestMs;
  while (!isSo()) {
    if (performance.now() > giveUpAt) {
      throw new Error(`no answers any more: ${JSON.stringify(callers.settled.slice(-5))}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function findingsOf(
  { settled }: Callers,
  ledger: string,
  recoveriesMs: readonly number[],
  longestMs: number,
): FleetFindings {
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
