// The five areas that take in bytes from outside, each run for its share and told in figures.

import { atMost, exactly, type Figure, fact } from '../proof/report.ts';
import { ConfigFolder } from './config-check.ts';
import { configText } from './config-texts.ts';
import { checkEvents, eventStream } from './events.ts';
import { Findings } from './findings.ts';
import { fuzzHttp } from './http.ts';
import { checkLines, lineStream } from './lines.ts';
import { type Fuzzed, fuzzFor } from './rounds.ts';
import { checkInJobs, checkPart, keepWrong, scannerFigures } from './scanner.ts';
import { fuzzServers } from './servers.ts';
import { fuzzStdio } from './stdio.ts';
import { Tally } from './tally.ts';

export const areas = ['scanner', 'framing', 'config', 'http', 'servers'] as const;

export type Area = (typeof areas)[number];

export interface AreaOptions {
  readonly seed: number;
  readonly documents: number;
  readonly seconds: number;
  /** Processes for the scanner's documents; 1: this one. */
  readonly jobs: number;
  /** Where the built gateway is. */
  readonly build: string;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

export interface AreaReport {
  readonly figures: readonly Figure[];
  readonly findings: readonly string[];
}

export function runArea(area: Area, options: AreaOptions): Promise<AreaReport> {
  switch (area) {
    case 'scanner':
      return scanner(options);
    case 'framing':
      return framing(options);
    case 'config':
      return config(options);
    case 'http':
      return http(options);
    case 'servers':
      return servers(options);
  }
}

async function scanner({ seed, documents, jobs, signal, say }: AreaOptions): Promise<AreaReport> {
  const whole = { seed, from: 0, to: documents };
  const startedAt = Date.now();
  const progress = (done: number) => {
    if (done % 100_000 === 0) say(`scanner: ${done.toLocaleString('en-US')} documents`);
  };
  const outcome = jobs === 1 ? checkPart(whole) : await checkInJobs(whole, jobs, signal, progress);
  const seconds = (Date.now() - startedAt) / 1_000;
  const findings = new Findings();
  keepWrong(seed, outcome, findings);
  const figures = [...scannerFigures(documents, outcome), fact('scanner: seconds', seconds)];
  return { figures, findings: findings.lines };
}

async function framing(options: AreaOptions): Promise<AreaReport> {
  const findings = new Findings();
  const tally = new Tally();
  const half = { ...options, seconds: options.seconds / 2 };
  const lines: Fuzzed = { parser: 'lines', make: lineStream, check: checkLines };
  const events: Fuzzed = { parser: 'events', make: eventStream, check: checkEvents };
  const ofLines = await fuzzFor(lines, half, findings, tally);
  const ofEvents = await fuzzFor(events, half, findings, tally);
  return {
    figures: [
      fact('framing: streams of lines', ofLines),
      fact('framing: streams of events', ofEvents),
      exactly('framing: disagreements with the oracles', findings.count, 0),
      fact('framing: what was heard', tally.told()),
    ],
    findings: findings.lines,
  };
}

async function config(options: AreaOptions): Promise<AreaReport> {
  const findings = new Findings();
  const tally = new Tally();
  using folder = new ConfigFolder();
  const files: Fuzzed = { parser: 'config', make: configText, check: folder.check };
  const count = await fuzzFor(files, options, findings, tally);
  return {
    figures: [
      fact('config: files', count),
      exactly('config: broken promises', findings.count, 0),
      fact('config: what became of them', tally.told()),
    ],
    findings: findings.lines,
  };
}

async function servers(options: AreaOptions): Promise<AreaReport> {
  const findings = new Findings();
  const tally = new Tally();
  const said = await fuzzServers(options, findings, tally);
  return {
    figures: [
      fact('servers: messages', said),
      exactly('servers: broken promises', findings.count, 0),
      fact('servers: what was said', tally.told()),
    ],
    findings: findings.lines,
  };
}

/** Most of the time for HTTP, the rest for standard input. */
const shareOfHttp = 0.7;
const mebibyte = 2 ** 20;

async function http(options: AreaOptions): Promise<AreaReport> {
  const findings = new Findings();
  const tally = new Tally();
  const { seconds } = options;
  const outcome = await fuzzHttp({ ...options, seconds: seconds * shareOfHttp }, findings, tally);
  const rest = { ...options, seconds: seconds * (1 - shareOfHttp) };
  const lines = await fuzzStdio(rest, findings, tally);
  return {
    figures: [
      fact('http: requests', outcome.requests),
      fact('http: lines on stdin', lines),
      exactly('http: broken promises', findings.count, 0),
      fact('http: ordinary clients in between', outcome.canaries),
      atMost('http: descriptors more than before', outcome.descriptorGrowth, 5),
      atMost('http: MiB of heap more than before', outcome.heapGrowthBytes / mebibyte, 4),
      fact('http: kinds of requests', tally.told('sent ')),
      fact('http: statuses of answers', tally.told('answered ')),
      fact('http: what was due to lines', tally.told('due: ')),
    ],
    findings: findings.lines,
  };
}
