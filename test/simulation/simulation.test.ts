// The short form of `npm run simulate`: many seeds, each a few simulated minutes of faults against the
// shipped host, with every rule checked at every step. A failing seed is looked at with
//   node --import tsx test/simulation/main.ts --seed 1234 --minutes 3 --trace

import { beforeAll, describe, expect, it } from 'vitest';
import { regressions } from './regressions.ts';
import { runSimulation, type SimulationReport } from './simulate.ts';
import { Tally } from './tally.ts';

const seeds = 60;
const minutes = 3;

const reports: SimulationReport[] = [];
const all = new Tally(minutes);

/** What broke one of these promises, in any seed. */
function broken(...rules: readonly string[]): string[] {
  return reports.flatMap(({ seed, violations }) =>
    violations
      .filter(({ rule }) => rules.includes(rule))
      .map(({ rule, at, detail }) => `seed ${seed} at ${at} ms, ${rule}: ${detail}`),
  );
}

describe('the host in a simulated world', () => {
  beforeAll(async () => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const report = await runSimulation(seed, { minutes });
      reports.push(report);
      all.add(report);
    }
  }, 120_000);

  it('gives every call exactly one answer, of its own and in time #one-answer #right-answer #deadline #cancel', () => {
    expect(broken('one-answer', 'right-answer', 'deadline', 'cancel', 'typed-faults')).toEqual([]);
  });

  it('never runs an unsafe call twice, with or without a key, over any number of kills #never-twice #idempotency-key', () => {
    expect(broken('never-twice', 'idempotency-key')).toEqual([]);
  });

  it('says no, maybe and yes as the ledger of the servers does #true-dispatched', () => {
    expect(broken('true-dispatched')).toEqual([]);
  });

  it('keeps generations apart and one process of a name #generations #one-start #lazy', () => {
    expect(broken('generations', 'one-start', 'lazy')).toEqual([]);
  });

  it('admits one probe at a time, which alone can close the circuit #breaker', () => {
    expect(broken('breaker')).toEqual([]);
  });

  it('starts no more often and no sooner than the restart budget allows #restart-budget #backoff', () => {
    expect(broken('restart-budget', 'backoff')).toEqual([]);
  });

  it('keeps a server as long as anyone holds it, and writes one line for every call #leases #event-log', () => {
    expect(broken('leases', 'event-log')).toEqual([]);
  });

  it('leaves no process, timer or exchange behind when it is closed at any moment #stop-ladder', () => {
    expect(broken('stop-ladder')).toEqual([]);
  });

  it('lets nobody call, see or read from memory what the guard keeps from them #guard #search', () => {
    expect(broken('guard')).toEqual([]);
  });

  it('issues exactly as many calls as a budget allows, cached or not #budget', () => {
    expect(broken('budget')).toEqual([]);
  });

  it('gives an answer from memory only in its time and to whom it belongs #cache-rules #cache-keys', () => {
    expect(broken('cache-rules', 'cache-keys')).toEqual([]);
  });

  it('keeps what it has acknowledged when it is killed, and reports what the disk has damaged #durable', () => {
    expect(broken('kept-records')).toEqual([]);
  });

  it('keeps servers, calls and what is known over rollouts at any moment, also with lost successors #rollout', () => {
    expect(broken('rollout')).toEqual([]);
  });

  it('breaks no rule that is not named above', () => {
    expect(all.findings()).toEqual([]);
  });

  it('answers calls to every server again soon after the faults have stopped', () => {
    expect(broken('liveness')).toEqual([]);
  });

  it('changes only what another config changes, and is then as a fresh host with it #live-config', () => {
    expect(broken('live-config')).toEqual([]);
  });

  it('has changed configs, been killed, ended and rolled out, and been asked again under keys', () => {
    const missing = [...all.happenings()].filter(([, times]) => times === 0);
    expect(missing).toEqual([]);
  });

  it('has met every kind of fault', () => {
    const missing = [...all.faults()].filter(([, times]) => times === 0);
    expect(missing).toEqual([]);
  });
});

describe('a seed', () => {
  it.each([7, 8, 9])('is the same run every time, to the byte: %i', async (seed) => {
    const again = await runSimulation(seed, { minutes });
    expect(again.steps).toBeGreaterThan(300);
    expect(again).toEqual(reports[seed - 1]);
  });

  it('is another run than every other seed', () => {
    expect(new Set(reports.map(({ hash }) => hash)).size).toBe(seeds);
  });

  it.each(regressions)('$seed does not find again that $found', async ({ seed }) => {
    const { violations } = await runSimulation(seed, { minutes });
    expect(violations).toEqual([]);
  });
});
