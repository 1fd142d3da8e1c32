// The verdict over what the clients saw and what the servers have written down.

import { readLedger } from '../support/ledger.ts';
import type { History } from './history.ts';
import type { Files } from './world.ts';

export interface Verdict {
  readonly calls: number;
  readonly answered: number;
  readonly failed: readonly string[];
  readonly foreign: readonly string[];
  /** Not answered at all. */
  readonly unanswered: readonly string[];
  /** Answered, and not executed. */
  readonly lost: readonly string[];
  /** Effects that began more than once. */
  readonly twice: readonly string[];
  readonly hellosAgain: readonly string[];
  readonly seen: readonly string[];
}

export function judge(history: History, files: Files): Verdict {
  const began = new Map<string, number>();
  const done = new Set<string>();
  for (const { nonce, phase, tool } of readLedger(files.ledger)) {
    if (nonce === null || tool === 'echo') continue;
    if (phase === 'begin') began.set(nonce, (began.get(nonce) ?? 0) + 1);
    if (phase === 'done') done.add(nonce);
  }
  const { settled, findings, open, hellos } = history;
  const spelled = (outcome: string) =>
    settled
      .filter((one) => one.outcome === outcome)
      .map(({ client, nonce, tool, began: from, ended, detail }) => {
        const ms = Math.round(ended - from);
        return `${client}: ${tool} ${nonce}, after ${ms} ms: ${detail}`;
      });
  return {
    calls: settled.length + open.length,
    answered: settled.filter(({ outcome }) => outcome === 'answered').length,
    failed: spelled('failed'),
    foreign: spelled('foreign'),
    unanswered: open,
    lost: settled
      .filter(
        ({ outcome, kind, nonce }) => outcome === 'answered' && kind !== 'read' && !done.has(nonce),
      )
      .map(
        ({ client, nonce, tool }) => `${client}: ${tool} ${nonce} was answered and not executed`,
      ),
    twice: [...began]
      .filter(([, times]) => times > 1)
      .map(([nonce, times]) => `${nonce}: ${times} times`),
    hellosAgain: [...hellos]
      .filter(([, times]) => times > 1)
      .map(([name, times]) => `${name}: ${times} times`),
    seen: findings,
  };
}
