// npm run fleet: many workers at once, and a fleet whose parts are killed and whose links are cut in turn under load, on
// both brokers. docs/proof.md says what it shows.

import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../proof/asked.ts';
import { atMost, conclude, exactly, type Figure, fact } from '../proof/report.ts';
import { type CrowdFindings, callByCrowd } from './crowd.ts';
import { cutLinks } from './cuts.ts';
import type { FleetFindings } from './findings.ts';
import { killParts } from './kills.ts';
import { cutNetwork } from './network-cuts.ts';

const brokers = ['command', 'nats'] as const;
type BrokerName = (typeof brokers)[number];

const help = `npm run fleet -- [--crowd N] [--kills N] [--cuts N] [--netns N] [--workers N] [--only BROKER] [--json FILE]

Lets many workers call at once, kills broker, orchestrator and workers in turn, under load, then cuts, silences and slows the links of
workers and orchestrator, cuts a network between two namespaces, and compares what callers were told with what the servers have written down. Exit code 1 if a goal is missed.
  --crowd N      workers at once, with 50 calls each, in 4 processes (200); 0: none
  --kills N      on each broker (50); 0: none
  --cuts N       on each broker (20); 0: none
  --netns N      on a network of two namespaces, with the embedded broker, where root can make them (8); 0: none
  --workers N    with four callers each (3)
  --only BROKER  ${brokers.join(' | ')}
  --json FILE    writes the report there
Example: npm run fleet -- --only nats --kills 6`;

interface Wish {
  readonly crowd: number;
  readonly kills: number;
  readonly cuts: number;
  readonly netns: number;
  readonly workers: number;
  readonly chosen: readonly BrokerName[];
  readonly jsonFile: string | undefined;
}

const recoveryMs = 3_000;
const crowdCalls = 50;
const crowdProcesses = 4;
const names: Readonly<Record<BrokerName, string>> = {
  command: 'embedded broker',
  nats: 'NATS',
};

const wish = asked('fleet', readWish);
if (wish !== undefined) {
  const figures: Figure[] = [];
  const findings: string[] = [];
  for (const broker of wish.chosen) {
    const progress = (text: string) => console.error(`fleet: ${names[broker]}: ${text}`);
    const { crowd: workers } = wish;
    if (workers > 0) {
      progress(`${workers} workers, ${crowdCalls} calls each`);
      const load = { broker, workers, calls: crowdCalls, processes: crowdProcesses };
      const crowd = await callByCrowd(load);
      figures.push(...crowdFigures(names[broker], crowd, workers));
      findings.push(...crowd.wrong.slice(0, 20), ...crowd.lost, ...crowd.twice);
    }
    if (wish.kills > 0) {
      const found = await killParts({ ...wish, broker, progress });
      figures.push(...figuresOf(`${names[broker]}, kills`, found, wish.kills));
      findings.push(...found.hung, ...found.lost, ...found.twice);
    }
    if (wish.cuts > 0) {
      const found = await cutLinks({ ...wish, broker, hasLong: true, progress });
      figures.push(...figuresOf(`${names[broker]}, links`, found, wish.cuts));
      findings.push(...found.hung, ...found.lost, ...found.twice);
    }
    if (wish.netns === 0 || broker !== 'command') continue;
    const found = await cutNetwork({ ...wish, cuts: wish.netns, hasLong: true, progress });
    const name = `${names[broker]}, network`;
    if (typeof found === 'string') figures.push(fact(`${name}: not tried`, found));
    else {
      figures.push(...figuresOf(name, found, wish.netns));
      figures.push(fact(`${name}: a slow link is made by`, found.slowness));
      findings.push(...found.hung, ...found.lost, ...found.twice);
    }
  }
  conclude({ title: 'Fleet', figures, findings }, wish.jsonFile);
}

function crowdFigures(name: string, found: CrowdFindings, workers: number): readonly Figure[] {
  return [
    exactly(`${name}: calls of ${workers} workers`, found.calls, workers * crowdCalls),
    exactly(`${name}: without their own answer`, found.wrong.length, 0),
    exactly(`${name}: of those answered, lost`, found.lost.length, 0),
    exactly(`${name}: of those, run twice`, found.twice.length, 0),
    fact(`${name}: seconds, from the first link on`, found.seconds),
  ];
}

function figuresOf(name: string, found: FleetFindings, times: number): readonly Figure[] {
  return [
    fact(`${name}: times`, times),
    fact(`${name}: calls`, found.calls),
    fact(`${name}: answered`, found.answered),
    fact(`${name}: refused, not sent`, found.refused),
    fact(`${name}: outcome unknown`, found.unknown),
    exactly(`${name}: answered and lost`, found.lost.length, 0),
    exactly(`${name}: effects twice`, found.twice.length, 0),
    exactly(`${name}: callers that waited too long`, found.hung.length, 0),
    atMost(
      `${name}: slowest next answer, ms`,
      Math.round(found.recoveriesMs.reduce((most, one) => Math.max(most, one), 0)),
      recoveryMs,
    ),
  ];
}

function readWish(): Wish | string {
  const { values } = parseArgs({
    options: {
      crowd: { type: 'string', default: '200' },
      kills: { type: 'string', default: '50' },
      cuts: { type: 'string', default: '20' },
      netns: { type: 'string', default: '8' },
      workers: { type: 'string', default: '3' },
      only: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return help;
  const { only } = values;
  if (only !== undefined && !brokers.some((one) => one === only)) {
    throw new Error(`--only ${only} is unknown: ${brokers.join(', ')}`);
  }
  return {
    crowd: wholeNumber('crowd', values.crowd, 0),
    kills: wholeNumber('kills', values.kills, 0),
    cuts: wholeNumber('cuts', values.cuts, 0),
    netns: wholeNumber('netns', values.netns, 0),
    workers: wholeNumber('workers', values.workers),
    chosen: brokers.filter((one) => only === undefined || one === only),
    jsonFile: values.json,
  };
}
