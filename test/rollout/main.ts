// npm run rollouts: one version after the other takes over while clients of all kinds ask, and processes are killed
// in the middle of it. docs/proof.md says what it shows.

import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../proof/asked.ts';
import { conclude } from '../proof/report.ts';
import { diceFrom } from '../support/pipelining-client.ts';
import { killsIn } from './kills.ts';
import { proveRollouts } from './rollouts.ts';
import { proveVersions } from './versions.ts';

const help = `npm run rollouts -- [--rollouts N] [--versions N] [--kills N] [--rate N] [--seed N] [--json FILE]

Lets the installed version take over again and again while clients of all kinds call, between two versions, too, then kills successor, incumbent, both and the
pid-holder in the middle of rollouts, and compares what clients were told with what servers have written down. Exit code 1 if a goal is missed.
  --rollouts N  of the instance (50); 0: none
  --versions N  rollouts to another version and back (5 of each); 0: none
  --kills N     of the successor, of the incumbent, and of both (10 each); 0: none
  --rate N      calls of all clients in a second (200)
  --seed N      for the moments (at random)
  --json FILE   writes the report there
Example: npm run rollouts -- --rollouts 10 --kills 0`;

const wish = asked('rollouts', readWish);
if (wish !== undefined) {
  const { rollouts, versions, kills, rate, seed, jsonFile } = wish;
  const progress = (text: string) => console.error(`rollouts: ${text}`);
  progress(`seed ${seed}`);
  const numbers = diceFrom(seed);
  const dice = () => numbers(10_000) / 10_000;
  const none = { figures: [], findings: [] };
  const rolled = rollouts === 0 ? none : await proveRollouts({ rollouts, rate, dice, progress });
  const changed = versions === 0 ? none : await proveVersions({ turns: versions, progress });
  const killed = kills === 0 ? none : await killsIn({ kills, dice, progress });
  const figures = [rolled, changed, killed].flatMap((one) => one.figures);
  const findings = [rolled, changed, killed].flatMap((one) => one.findings);
  conclude({ title: `Rollouts, seed ${seed}`, figures, findings }, jsonFile);
}

function readWish() {
  const { values } = parseArgs({
    options: {
      rollouts: { type: 'string', default: '50' },
      versions: { type: 'string', default: '5' },
      kills: { type: 'string', default: '10' },
      rate: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return help;
  return {
    rollouts: wholeNumber('rollouts', values.rollouts, 0),
    versions: wholeNumber('versions', values.versions, 0),
    kills: wholeNumber('kills', values.kills, 0),
    rate: wholeNumber('rate', values.rate),
    seed: wholeNumber('seed', values.seed, 0),
    jsonFile: values.json,
  };
}
