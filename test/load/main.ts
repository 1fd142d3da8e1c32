// npm run load: many clients and large messages, and what they cost. docs/proof.md says what this shows
// and what it does not.

import { parseArgs } from 'node:util';
import { conclude } from '../proof/report.ts';
import { load } from './load.ts';

const help = `npm run load -- [--responses N] [--sessions N] [--json FILE]

Answers to clients that are alike, clients that never say goodbye, and messages that are far too large.
Exit code 1 if a goal is missed.
  --responses N  how many answers are compared (100000)
  --sessions N   how many clients never say goodbye (10000)
  --json FILE    writes the report there
Example: npm run load -- --responses 20000 --sessions 1000`;

const wish = readWish();
if (typeof wish === 'string') {
  const isAsked = wish === help;
  (isAsked ? console.log : console.error)(wish);
  process.exitCode = isAsked ? 0 : 2;
} else {
  const progress = (text: string) => console.error(`load: ${text}`);
  conclude(await load({ ...wish, progress }), wish.jsonFile);
}

function readWish() {
  try {
    const { values } = parseArgs({
      options: {
        responses: { type: 'string', default: '100000' },
        sessions: { type: 'string', default: '10000' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return help;
    const [responses, sessions] = [values.responses, values.sessions].map(Number);
    if (!isCount(responses))
      return withHelp(`--responses ${values.responses} is no number above 0`);
    if (!isCount(sessions)) return withHelp(`--sessions ${values.sessions} is no number above 0`);
    return { responses, sessions, jsonFile: values.json };
  } catch (error) {
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
    return withHelp(line);
  }
}

function withHelp(problem: string): string {
  return `${problem}; see npm run load -- --help`;
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value > 0;
}
