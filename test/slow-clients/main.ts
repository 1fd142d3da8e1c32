// npm run slowclients: clients that do not read, of every kind, and what they cost the others and the
// gateway. docs/proof.md says what this shows and what it does not.

import { parseArgs } from 'node:util';
import { conclude } from '../proof/report.ts';
import { slowClients } from './slow-clients.ts';

const help = `npm run slowclients -- [--clients N] [--sessions N] [--rounds N] [--json FILE]

Lets crowds of clients read and not read by turns, and compares memory and latency. Exit code 1 if a
goal is missed.
  --clients N   how many of each kind (100)
  --sessions N  how many sessions are opened and left (5000)
  --rounds N    how often the crowds take turns (3)
  --json FILE   writes the report there
Example: npm run slowclients -- --clients 20 --rounds 1`;

const wish = readWish();
if (typeof wish === 'string') {
  const isAsked = wish === help;
  (isAsked ? console.log : console.error)(wish);
  process.exitCode = isAsked ? 0 : 2;
} else {
  const progress = (text: string) => console.error(`slowclients: ${text}`);
  conclude(await slowClients({ ...wish, changes: 300, progress }), wish.jsonFile);
}

function readWish() {
  try {
    const { values } = parseArgs({
      options: {
        clients: { type: 'string', default: '100' },
        sessions: { type: 'string', default: '5000' },
        rounds: { type: 'string', default: '3' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return help;
    const [clients, sessions, rounds] = [values.clients, values.sessions, values.rounds].map(
      Number,
    );
    if (!isCount(clients)) return withHelp(`--clients ${values.clients} is no number above 0`);
    if (!isCount(sessions)) return withHelp(`--sessions ${values.sessions} is no number above 0`);
    if (!isCount(rounds)) return withHelp(`--rounds ${values.rounds} is no number above 0`);
    return { clients, sessions, rounds, jsonFile: values.json };
  } catch (error) {
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
    return withHelp(line);
  }
}

function withHelp(problem: string): string {
  return `${problem}; see npm run slowclients -- --help`;
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value > 0;
}
