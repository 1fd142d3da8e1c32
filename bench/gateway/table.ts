// The figures of one load, as a Markdown table: medians over the rounds.

import { median, ratioOf, shownRatio } from '../ratios.ts';
import type { Load } from './load.ts';
import type { Sample, Subject } from './subject.ts';

const head = [
  ...['', 'calls/s', 'p50', 'CPU per call', 'memory', 'p50, of bare', 'calls/s, of bare'],
  ...['busy: generator', 'subject', 'server'],
];

export function table(load: Load, samples: ReadonlyMap<Subject, readonly Sample[]>): string {
  const bare = [...samples].find(([{ name }]) => name === 'bare')?.[1] ?? [];
  const rows = [...samples].map(([{ name }, own]) => [
    name,
    Math.round(middle(own, (sample) => sample.perSecond)).toLocaleString('en'),
    load.inFlight === 1 ? time(middle(own, (sample) => sample.p50Us)) : '–',
    time(middle(own, (sample) => sample.cpuUsPerCall)),
    `${middle(own, (sample) => sample.residentMb).toFixed(0)} MB`,
    load.inFlight === 1 ? against(own, bare, (sample) => sample.p50Us) : '–',
    against(own, bare, (sample) => sample.perSecond),
    ...[share('generatorBusy', own), share('subjectBusy', own), share('upstreamBusy', own)],
  ]);
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function middle(samples: readonly Sample[], pick: (sample: Sample) => number): number {
  return median(samples.map(pick));
}

function against(own: readonly Sample[], base: readonly Sample[], pick: (s: Sample) => number) {
  return shownRatio(ratioOf(own.map(pick), base.map(pick)));
}

function share(key: 'generatorBusy' | 'subjectBusy' | 'upstreamBusy', samples: readonly Sample[]) {
  return `${Math.round(100 * middle(samples, (sample) => sample[key]))} %`;
}

function time(us: number): string {
  return us >= 10_000 ? `${(us / 1000).toFixed(1)} ms` : `${us.toFixed(us < 100 ? 1 : 0)} us`;
}
