// holdfast rollout: moves the running instance to the version that is now on disk, waits until that serves or has
// failed, and says what happened. A failure leaves the version before serving.

import type { Command } from 'commander';
import type { RolloutDone } from '../../instance/operations.ts';
import { Fault } from '../../kernel/fault.ts';
import { printableLine } from '../../kernel/printable.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { LiveLine } from '../render/live-line.ts';
import { countText, durationText } from '../render/quantity.ts';
import { orInterrupted } from '../standalone.ts';
import { withInstance } from '../target.ts';

const help = `
It needs a running instance of the config (holdfast serve). A second process of the installed version starts
beside the one that runs; when it is ready it takes over new work, the servers and the clients' connections, and
the first ends what it has begun. If it is not ready in time, or fails, the first serves on (exit code 3).
The same is done by SIGHUP, and with "rollout": "auto" in the config whenever the installed files have changed.
With --json: {"done": "rollout", "from", "to", "holder", "tookMs", "pauseMs", "servers", "sessions", "left"}:
the versions, the pid that stays, how long it took, how long nothing new was begun, what went along, and in "left"
what did not.

Examples:
  npm install -g holdfast && holdfast rollout`;

export function addRollout(program: Command, perform: Perform): void {
  program
    .command('rollout')
    .summary('move the running instance to the installed version')
    .description(
      'Move the running instance to the version now on disk: no session ends, and no call loses its answer.',
    )
    .addHelpText('after', help)
    .action((_: unknown, command: Command) => perform(command, rollout));
}

async function rollout(invocation: Invocation): Promise<number> {
  const { shell, isJson } = invocation;
  return await withInstance(invocation, async (instance) => {
    using live = new LiveLine(shell.err, shell.clock);
    live.show('starting the installed version');
    const told = await orInterrupted(shell, instance.rollout());
    live.clear();
    if (told.kind === 'failed') {
      if (told.reason === 'shutdown') {
        throw new Fault('unavailable', `the rollout was given up: ${told.detail}`);
      }
      const detail = `the rollout has failed, and the version before serves on: ${told.detail}`;
      throw new Fault('unavailable', detail);
    }
    if (told.kind === 'pending') {
      throw new Fault('unavailable', `the rollout has to wait, and is done later: ${told.detail}`);
    }
    const { kind: _, ...done } = told;
    if (isJson) shell.out.json({ done: 'rollout', ...done });
    else for (const line of rolloutLines(done)) shell.out.line(line);
    return exitCodes.ok;
  });
}

/** @internal for its test */
export function rolloutLines({
  from,
  to,
  holder,
  tookMs,
  pauseMs,
  servers,
  sessions,
  left,
}: Omit<RolloutDone, 'kind'>): readonly string[] {
  const versions =
    from === to ? `holdfast ${to}, started anew,` : `holdfast ${to} instead of ${from}`;
  return [
    `${versions} serves under process ${holder}, after ${durationText(tookMs)}; ${durationText(pauseMs)} of them without beginning new work`,
    `${countText(servers, 'server')} and ${countText(sessions, 'session')} went along`,
    ...left.map((what) => `not carried over: ${printableLine(what)}`),
  ];
}
