// A broker and its correspondents as one program, for a crash test that runs both under strace: what they note is
// written into a file, so that the trace shows which letters were confirmed before which call on the database. The
// first broker is killed, the second one ends in good order.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { openSocketLink } from '../../../src/broker/socket/socket-link.ts';
import { systemClock } from '../../../src/kernel/system-clock.ts';
import { mainProgram } from '../../support/build.ts';
import { Dice } from '../../support/dice.ts';
import { correspond } from './correspondents.ts';

/** The argument of the program, as JSON. */
export interface TracedPlan {
  readonly dir: string;
  readonly told: string;
  readonly seed: string;
  readonly letters: number;
  readonly secrets: { readonly ann: string; readonly boss: string };
}

const plan = JSON.parse(process.argv[2] ?? '') as TracedPlan;
const lines = openSync(plan.told, 'a');

for (const signal of ['SIGKILL', 'SIGTERM'] as const) await live(signal);

async function live(signal: NodeJS.Signals): Promise<void> {
  const words = [mainProgram, 'broker', '--dir', plan.dir, '--listen', '127.0.0.1:0', '--json'];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { url } = JSON.parse(line) as { readonly url: string };
  const never = new AbortController().signal;
  await correspond({
    name: `${plan.seed.replace(/\W/g, '')}-${signal}`,
    linkOf: (member) => {
      const secret = plan.secrets[member];
      return openSocketLink({ url, secret, seat: 'traced', clock: systemClock }, never);
    },
    dice: new Dice(plan.seed),
    note: (note) => void writeSync(lines, `${JSON.stringify(note)}\n`),
    letters: plan.letters,
    atOnce: 4,
  });
  child.kill(signal);
  await ended;
}
