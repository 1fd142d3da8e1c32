// Errors of our own that were contained: no call shows them, but every gateway counts them and writes
// them into its event log. And what a gateway says on stderr: that a server was lost is news, which it
// is meant to tell, and so is what became of a changed config; everything else is a complaint.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The lines about defects in the event logs of all gateways of a run. */
export function defectsIn(folder: string): readonly string[] {
  const states = readdirSync(folder).filter((name) => /^state(-|$)/.test(name));
  return states.flatMap((state) =>
    readdirSync(join(folder, state))
      .filter((name) => name.startsWith('events.jsonl'))
      .flatMap((name) => readFileSync(join(folder, state, name), 'utf8').split('\n'))
      .filter((line) => line.includes('"kind":"defect"')),
  );
}

/** What became of a rollout, or of a process that was killed: counted elsewhere. */
const rolloutNews = [
  /^holdfast: holdfast \S+ has taken over from \S+$/,
  /^holdfast: .*, before it has taken over; another one is started$/,
  /^holdfast: the rollout has failed, and this version serves on: /,
  // Of a process before, when the one that has taken over is killed.
  /^holdfast: the process that has taken over the database is gone, so it is not known whether the change is kept$/,
  /^holdfast: the serving process has died \(SIGKILL\); another is started$/,
];

/** Is a line of a gateway's stderr about what one of these servers did? */
export function newsOf(servers: readonly string[]): (line: string) => boolean {
  return (line) =>
    line.startsWith('holdfast: the config has changed') ||
    rolloutNews.some((words) => words.test(line)) ||
    servers.some((name) => [' ', ': '].some((next) => line.startsWith(`holdfast: ${name}${next}`)));
}
