// npm run strangers: what those can do at the gateway who should be able to do nothing. Programs that clients want to
// have started, pages in a browser, and what the time of an answer tells. docs/proof.md says what it shows.

import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../proof/asked.ts';
import { conclude, type Figure } from '../proof/report.ts';
import { inBrowser } from './browser.ts';
import { bursts } from './bursts.ts';
import { pages } from './pages.ts';
import { starts } from './starts.ts';
import { timing } from './timing.ts';

const areas = ['starts', 'pages', 'timing'] as const;
type Area = (typeof areas)[number];

const help = `npm run strangers -- [--requests N] [--names N] [--only AREA] [--seed N] [--json FILE]

Sends requests that want programs started, plays pages in a browser, and compares the times of hidden
names and of names that do not exist. Exit code 1 if a goal is missed.
  --requests N  that want something started (50000)
  --names N     of each kind in each comparison of times (2000)
  --only AREA   ${areas.join(' | ')}; may be repeated
  --seed N      repeats the choices of another run
  --json FILE   writes the report there
Example: npm run strangers -- --only starts --requests 2000 --seed 7`;

const wish = asked('strangers', readWish);
if (wish !== undefined) {
  const figures: Figure[] = [];
  const findings: string[] = [];
  for (const area of areas.filter((one) => wish.chosen.includes(one))) {
    const found = await run(area, wish);
    figures.push(...found.figures);
    findings.push(...found.findings);
  }
  conclude({ title: 'Strangers', figures, findings }, wish.jsonFile);
}

interface Found {
  readonly figures: readonly Figure[];
  readonly findings: readonly string[];
}

interface Wish {
  readonly requests: number;
  readonly names: number;
  readonly seed: string;
  readonly chosen: readonly Area[];
  readonly jsonFile: string | undefined;
}

async function run(area: Area, { requests, names, seed }: Wish): Promise<Found> {
  const progress = (text: string) => console.error(`strangers: ${area}: ${text}`);
  progress('begins');
  switch (area) {
    case 'starts':
      return await starts({ requests, seed, progress });
    case 'pages': {
      const [bare, real] = [await pages(), await inBrowser()];
      return {
        figures: [...bare.figures, ...real.figures],
        findings: [...bare.findings, ...real.findings],
      };
    }
    case 'timing': {
      const single = await timing({ names, seed, progress });
      const many = await bursts({ names, seed, progress });
      return {
        figures: [...single.figures, ...many.figures],
        findings: [...single.findings, ...many.findings],
      };
    }
  }
}

function readWish(): Wish | string {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '50000' },
      names: { type: 'string', default: '2000' },
      only: { type: 'string', multiple: true },
      seed: { type: 'string', default: String(randomInt(1_000_000)) },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return help;
  const unknown = values.only?.find((name) => !areas.some((area) => area === name));
  if (unknown !== undefined) throw new Error(`--only ${unknown} is unknown: ${areas.join(', ')}`);
  return {
    requests: wholeNumber('requests', values.requests),
    names: wholeNumber('names', values.names, 100),
    seed: values.seed,
    chosen: areas.filter((area) => values.only?.includes(area) ?? true),
    jsonFile: values.json,
  };
}
