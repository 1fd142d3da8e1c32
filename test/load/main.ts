// npm run load: many clients and large messages, and what they cost. docs/proof.md says what this shows
// and what it does not.

import { parseArgs } from 'node:util';
import { asked, wholeNumber } from '../proof/asked.ts';
import { conclude } from '../proof/report.ts';
import { load } from './load.ts';

const help = `npm run load -- [--responses N] [--sessions N] [--json FILE]

Answers to clients with the same ids, clients that never close their session, and very large messages.
Exit code 1 if a goal is missed.
  --responses N  how many answers are compared (100000)
  --sessions N   how many clients never close their session (10000)
  --json FILE    writes the report there
Example: npm run load -- --responses 20000 --sessions 1000`;

const wish = asked('load', readWish);
if (wish !== undefined) {
  const progress = (text: string) => console.error(`load: ${text}`);
  conclude(await load({ ...wish, progress }), wish.jsonFile);
}

function readWish() {
  const { values } = parseArgs({
    options: {
      responses: { type: 'string', default: '100000' },
      sessions: { type: 'string', default: '10000' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return help;
  return {
    responses: wholeNumber('responses', values.responses),
    sessions: wholeNumber('sessions', values.sessions),
    jsonFile: values.json,
  };
}
