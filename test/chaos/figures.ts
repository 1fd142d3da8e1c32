// The figures of a run that the driver can vouch for itself, with their goals. In a run shorter than
// the full three minutes the counts to be reached shrink with it; what must be nothing stays nothing.

import { atLeast, atMost, exactly, type Figure, fact } from '../proof/report.ts';
import type { Evidence } from './chaos.ts';
import type { IdlePoint } from './idle-point.ts';
import { remoteKills } from './remote/remote-harm.ts';
import {
  holderKilled,
  rolledOver,
  servingKilled,
  successorKilled,
} from './rollouts/rollout-harm.ts';
import { byCount, quantile } from './tally.ts';

export const fullSeconds = 180;

export function figuresOf(evidence: Evidence): readonly Figure[] {
  const { seconds, tally, before, after, orphans, defects } = evidence;
  const share = Math.min(1, seconds / fullSeconds);
  const { calls, latenciesMs, answers, faults, faultCount } = tally;
  const internal = [...answers].filter(([code]) => code.startsWith('internal '));
  return [
    atLeast('calls', calls, Math.floor(20_000 * share)),
    fact('calls per second', calls / seconds),
    atLeast('faults', faultCount, Math.floor(300 * share)),
    atLeast('kinds of faults', faults.size, 14),
    fact('faults by kind', byCount(faults)),
    atLeast('ends of the instance under its windows', endsIn(faults), Math.floor(30 * share)),
    atLeast('kills of a broker or its orchestrator', killsIn(faults), Math.floor(20 * share)),
    ...rolloutFigures(faults, share),
    fact('answers by code', byCount(answers)),
    fact('p50 of all calls, ms', quantile(latenciesMs, 0.5)),
    fact('p99 of all calls, ms', quantile(latenciesMs, 0.99)),
    exactly('defects of our own (internal)', internal.length, 0),
    exactly('contained defects of our own (events)', defects.length, 0),
    exactly('contained defects of our own (status)', after.internalErrors, 0),
    exactly('orphans', orphans.length, 0),
    exactly('zombies', (before?.zombies.length ?? 0) + after.zombies.length, 0),
    ...(before ? growth(before, after) : []),
  ];
}

/** Of each kind, one at least: without them a run has shown nothing about them. */
function rolloutFigures(faults: ReadonlyMap<string, number>, share: number): readonly Figure[] {
  const goals = [
    ['rollouts', rolledOver, 40],
    ['kills of a serving process', servingKilled, 4],
    ['kills of a successor', successorKilled, 8],
    ['kills of a pid-holder in a rollout', holderKilled, 3],
  ] as const;
  return goals.map(([name, kind, goal]) =>
    atLeast(name, faults.get(kind) ?? 0, Math.max(1, Math.floor(goal * share))),
  );
}

/** In any of the ways to end it. */
function endsIn(faults: ReadonlyMap<string, number>): number {
  const ends = [...faults].filter(([kind]) => kind.endsWith(' of the instance'));
  return ends.reduce((sum, [, count]) => sum + count, 0);
}

function killsIn(faults: ReadonlyMap<string, number>): number {
  return remoteKills.reduce((sum, kind) => sum + (faults.get(kind) ?? 0), 0);
}

function growth(before: IdlePoint, after: IdlePoint): readonly Figure[] {
  return [
    atMost('descriptor growth', after.descriptors.length - before.descriptors.length, 5),
    fact('descriptors at rest', `${byKind(before.descriptors)}; then ${byKind(after.descriptors)}`),
    atMost(
      'heap growth without compiled code, MiB',
      mebibytes((after.data?.bytes ?? Number.NaN) - (before.data?.bytes ?? Number.NaN)),
      1,
    ),
    fact('heap growth with compiled code, MiB', mebibytes(after.heapBytes - before.heapBytes)),
    fact('heap at rest, MiB', mebibytes(after.heapBytes)),
    fact(
      'growth of buffers outside of the heap, MiB',
      mebibytes(after.bufferBytes - before.bufferBytes),
    ),
  ];
}

function mebibytes(bytes: number): number {
  return Math.round((bytes / 1024 / 1024) * 100) / 100;
}

function byKind(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return byCount(counts);
}
