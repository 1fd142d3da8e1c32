// The five bad neighbours and what is asked of them: the same calls with the same faults at the same
// rate, whether they stand behind the gateway or beside it.

import { join } from 'node:path';
import type { Misbehaviour } from '../../fixtures/servers/faulty/misbehaviour.ts';
import type { Dice } from '../../support/dice.ts';

/** Of the bad servers, as seen from the gateway. */
export type Place = 'beside' | 'behind';

export interface BadServer {
  readonly name: string;
  readonly callsPerSecond: number;
  /** How many of its calls go wrong. */
  readonly faultShare: number;
  readonly faults: readonly Misbehaviour[];
  /** Of the text in every call. */
  readonly textBytes: number;
}

export const badServers: readonly BadServer[] = [
  {
    name: 'crashing',
    callsPerSecond: 4,
    faultShare: 0.25,
    faults: [
      { kind: 'crash-before-effect', code: 1 },
      { kind: 'crash-mid-effect', signal: 'SIGSEGV' },
      { kind: 'crash-after-effect', signal: 'SIGKILL' },
    ],
    textBytes: 100,
  },
  {
    name: 'hanging',
    callsPerSecond: 10,
    faultShare: 0.3,
    faults: [{ kind: 'hang' }, { kind: 'slow', ms: 800 }, { kind: 'late', ms: 2500 }],
    textBytes: 100,
  },
  {
    name: 'flooding',
    callsPerSecond: 5,
    faultShare: 0.3,
    faults: [
      { kind: 'stderr-flood', bytes: 500_000 },
      { kind: 'huge', bytes: 3 * 1024 * 1024 },
      { kind: 'banner', lines: 100, lineBytes: 500 },
    ],
    textBytes: 20_000,
  },
  {
    name: 'babbling',
    callsPerSecond: 20,
    faultShare: 0.3,
    faults: [
      { kind: 'garbage', form: 'text', also: true },
      { kind: 'duplicate-id' },
      { kind: 'unknown-id' },
      { kind: 'foreign-id', form: 'string' },
      { kind: 'deep', depth: 20_000 },
    ],
    textBytes: 1000,
  },
  {
    name: 'deafened',
    callsPerSecond: 5,
    faultShare: 0.04,
    faults: [{ kind: 'stop-reading' }, { kind: 'freeze' }],
    textBytes: 100_000,
  },
];

export const badCallTimeoutMs = 2000;
/** One that has died is started again after this long. */
export const restartMs = 100;

/** The arguments of its next call. */
export function nextArguments(server: BadServer, dice: Dice): object {
  const text = 'x'.repeat(server.textBytes);
  return dice.chance(server.faultShare) ? { text, fault: dice.pick(server.faults) } : { text };
}

/** Where a bad server notes what reaches it. */
export function noted(folder: string, place: Place, name: string) {
  return {
    ledger: join(folder, `${place}-${name}.ledger`),
    starts: join(folder, `${place}-${name}.starts`),
  };
}
