// npm run slowclients: clients that do not read, of every kind, and what they cost the others and the
// gateway. docs/proof.md says what this shows and what it does not.

import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../proof/asked.ts';
import { conclude } from '../proof/report.ts';
import { slowClients } from './slow-clients.ts';

const help = `npm run slowclients -- [--clients N] [--sessions N] [--rounds N] [--json FILE]

Lets many clients read and not read in turns, and compares memory and latency. Exit code 1 if a
goal is missed.
  --clients N   how many of each kind (100)
  --sessions N  how many sessions are opened and abandoned (5000)
  --rounds N    how many rounds (3)
  --json FILE   writes the report there
Example: npm run slowclients -- --clients 20 --rounds 1`;

const wish = asked('slowclients', readWish);
if (wish !== undefined) {
  const progress = (text: string) => console.error(`slowclients: ${text}`);
  conclude(await slowClients({ ...wish, changes: 300, progress }), wish.jsonFile);
}

function readWish() {
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
  return {
    clients: wholeNumber('clients', values.clients),
    sessions: wholeNumber('sessions', values.sessions),
    rounds: wholeNumber('rounds', values.rounds),
    jsonFile: values.json,
  };
}
