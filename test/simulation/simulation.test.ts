// Many seeds, each a few simulated minutes of faults against the shipped host, with every rule
// checked at every step. A failing seed is repeated alone with
//   SIM_FROM=1234 SIM_SEEDS=1 npx vitest run --project integration test/simulation
// and more of them are run with SIM_SEEDS and SIM_MINUTES.

import { beforeAll, describe, expect, it } from 'vitest';
import { regressions } from './regressions.ts';
import { runSimulation, type SimulationReport } from './simulate.ts';
import { faultKinds } from './weather.ts';

const seeds = Number(process.env['SIM_SEEDS'] ?? 30);
const from = Number(process.env['SIM_FROM'] ?? 1);
const minutes = Number(process.env['SIM_MINUTES'] ?? 3);

const reports: SimulationReport[] = [];

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
    for (let seed = from; seed < from + seeds; seed += 1) {
      reports.push(await runSimulation(seed, { minutes }));
    }
    console.log(tableOf(reports));
  }, 600_000);

  it('gives every call exactly one answer, of its own and in time #one-answer #right-answer #deadline #cancel', () => {
    expect(broken('one-answer', 'right-answer', 'deadline', 'cancel', 'typed-faults')).toEqual([]);
  });

  it('never runs an unsafe call twice, with or without a key #never-twice #idempotency-key', () => {
    expect(broken('never-twice')).toEqual([]);
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

  it('answers calls to every server again soon after the faults have stopped', () => {
    expect(broken('liveness')).toEqual([]);
  });

  it('has met every kind of fault', () => {
    const missing = faultKinds.filter((kind) => totalOf(reports, kind) === 0);
    expect(seeds < 30 ? [] : missing).toEqual([]);
  });
});

describe('a seed', () => {
  it('is the same run every time, to the byte', async () => {
    const first = await runSimulation(7, { minutes: 3 });
    const second = await runSimulation(7, { minutes: 3 });
    expect(first.ledgerSize).toBeGreaterThan(100);
    expect(second).toEqual(first);
  });

  it('is another run than every other seed', () => {
    expect(new Set(reports.map(({ hash }) => hash)).size).toBe(seeds);
  });

  it.each(regressions)('$seed does not find again that $found', async ({ seed }) => {
    const { violations } = await runSimulation(seed, { minutes: 3 });
    expect(violations).toEqual([]);
  });
});

function totalOf(all: readonly SimulationReport[], kind: (typeof faultKinds)[number]): number {
  return all.reduce((total, { faultsByKind }) => total + (faultsByKind.get(kind) ?? 0), 0);
}

function tableOf(all: readonly SimulationReport[]): string {
  const sum = (of: (report: SimulationReport) => number) =>
    all.reduce((total, report) => total + of(report), 0);
  const head = [
    `${all.length} seeds, ${Math.round(sum(({ simulatedMs }) => simulatedMs) / 60_000)} simulated minutes`,
    `${sum(({ steps }) => steps)} steps, ${sum(({ calls }) => calls)} calls`,
    `${sum(({ ledgerSize }) => ledgerSize)} lines in the ledger; faults by kind:`,
  ].join(', ');
  const cells = faultKinds.map((kind) => `${kind} ${totalOf(all, kind)}`.padEnd(32));
  const rows = Array.from({ length: Math.ceil(cells.length / 4) }, (_, row) =>
    cells
      .slice(row * 4, row * 4 + 4)
      .join('')
      .trimEnd(),
  );
  return [head, ...rows].join('\n');
}
