// `node --import tsx test/chaos/checker/main.ts RUN-DIR`: checks one chaos run from its files alone.

import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { conclude } from '../../proof/report.ts';
import { checkRun } from './check.ts';

const HELP = `usage: node --import tsx test/chaos/checker/main.ts RUN-DIR [--json FILE]

Holds what the clients of a chaos run saw (history-*.jsonl) against what its servers did
(ledger*.jsonl). Reads facts.json and windows.jsonl too, and nothing else. Exit 0: nothing was
lost, repeated or told wrongly; 1: something was, or evidence is missing.

example: node --import tsx test/chaos/checker/main.ts /tmp/chaos-run --json /tmp/verdict.json`;

function main(): void {
  const { values, positionals } = parsed();
  const [directory] = positionals;
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  if (directory === undefined || positionals.length > 1) refuse('name one run directory');
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    refuse(`${directory} is not a directory`);
  }
  conclude(checkRun(directory), values.json);
}

function parsed() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { json: { type: 'string' }, help: { type: 'boolean' } },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function refuse(why: string): never {
  console.error(`checker: ${why}; see --help`);
  process.exit(2);
}

main();
