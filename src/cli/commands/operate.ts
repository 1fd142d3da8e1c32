// holdfast start, stop, reload and shutdown: operate the running instance of a config. Each says what it
// did; without a running instance each says so.

import type { Command } from 'commander';
import type {
  InstanceOperations,
  InstanceStatus,
  ReloadedConfig,
} from '../../instance/operations.ts';
import { Fault } from '../../kernel/fault.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { LiveLine } from '../render/live-line.ts';
import { planLines } from '../render/plan-page.ts';
import { notUsedText, runsText } from '../render/used-config.ts';
import { beforeIn, runningIn } from '../running-servers.ts';
import { complain } from '../shell.ts';
import { orInterrupted } from '../standalone.ts';
import { withInstance } from '../target.ts';

const reloadHelp = `
Without a server: reads the config again and applies what has changed; servers whose entries are
the same keep their processes and their calls. --dry-run prints what would change.
With a server: ends its processes, forgets its failures, and starts it again when it is needed, or at
once if it is not lazy; this is how an ejected server comes back.
With --json: {"isDone", "added", "removed", "changed": [{"name", "keys", "restart"}], "settings",
"failed": [{"name", "cause"}], "disabled"}; with a server named: {"server", "done": "reload"}.

Examples:
  holdfast reload
  holdfast reload --dry-run
  holdfast reload files`;

export function addReload(program: Command, perform: Perform): void {
  program
    .command('reload')
    .summary('take over a changed config, or start one server anew')
    .description('Take over a changed config; with a server named, start that server anew.')
    .argument('[SERVER]', 'a server')
    .option('--dry-run', 'print what would change, and change nothing')
    .addHelpText('after', reloadHelp)
    .action((server: string | undefined, { dryRun }: { dryRun?: boolean }, command: Command) =>
      perform(command, (invocation) =>
        server === undefined
          ? reloadConfig(invocation, dryRun === true)
          : reloadServer(invocation, server, dryRun === true),
      ),
    );
}

const examples = (verb: string) => `
It needs a running instance of the config (holdfast serve).
With --json: {"server", "done": "${verb}"}.

Examples:
  holdfast ${verb} files`;

export function addStart(program: Command, perform: Perform): void {
  program
    .command('start')
    .summary('start a server now')
    .description('Start a server of the running instance now, and wait until it is ready.')
    .argument('<SERVER>', 'a server')
    .addHelpText('after', examples('start'))
    .action((server: string, _: unknown, command: Command) =>
      perform(command, (invocation) => operate(invocation, server, 'start')),
    );
}

export function addStop(program: Command, perform: Perform): void {
  program
    .command('stop')
    .summary('stop a server')
    .description(
      'End the processes of a server of the running instance; the next call starts it. One that is not lazy is also started by a reload, and by a change of its entry that needs another process.',
    )
    .argument('<SERVER>', 'a server')
    .addHelpText('after', examples('stop'))
    .action((server: string, _: unknown, command: Command) =>
      perform(command, (invocation) => operate(invocation, server, 'stop')),
    );
}

export function addShutdown(program: Command, perform: Perform): void {
  program
    .command('shutdown')
    .summary('end the running instance')
    .description(
      'End the running instance of the config: running calls may end (drainMs), nothing new begins.',
    )
    .addHelpText('after', '\nWith --json: {"done": "shutdown"}.\n\nExamples:\n  holdfast shutdown')
    .action((_: unknown, command: Command) => perform(command, shutdown));
}

const doing = { start: 'starting', stop: 'stopping', reload: 'reloading' } as const;
const done = { start: 'is running', stop: 'is stopped', reload: 'is reloaded' } as const;
/** Of one that the config has kept running. */
const untilNeeded =
  'it is not lazy, so a call, a reload or a change of its entry that needs another process starts it again';

function doneText(
  verb: keyof typeof done,
  { wasRunning, isLazy }: { readonly wasRunning: boolean; readonly isLazy: boolean },
): string {
  if (verb === 'start') return done.start;
  if (verb === 'stop') {
    const told = wasRunning ? done.stop : 'was not running';
    return isLazy ? told : `${told}; ${untilNeeded}`;
  }
  if (wasRunning) return done.reload;
  const next = isLazy ? 'it starts when it is needed' : 'it is started now, because it is not lazy';
  return `was not running; its failures are forgotten, and ${next}`;
}

async function operate(
  invocation: Invocation,
  server: string,
  verb: 'start' | 'stop' | 'reload',
): Promise<number> {
  const { shell, isJson } = invocation;
  return await withInstance(invocation, async (instance) => {
    using live = new LiveLine(shell.err, shell.clock);
    live.show(`${doing[verb]} ${server}`);
    const before = await instance.status();
    const wasRunning = runningIn(before)(server);
    const isLazy = before.servers.find(({ name }) => name === server)?.lazy ?? true;
    await orInterrupted(shell, instance[verb](server));
    live.clear();
    if (isJson) shell.out.json({ server, done: verb });
    else shell.out.line(`${server} ${doneText(verb, { wasRunning, isLazy })}`);
    return exitCodes.ok;
  });
}

async function reloadServer(
  invocation: Invocation,
  server: string,
  isDryRun: boolean,
): Promise<number> {
  if (isDryRun) {
    const told = '--dry-run is for the whole config; see: holdfast reload --help';
    throw new Fault('invalid_request', told);
  }
  return await operate(invocation, server, 'reload');
}

async function reloadConfig(invocation: Invocation, dryRun: boolean): Promise<number> {
  const { shell, isJson } = invocation;
  const reload = async (instance: InstanceOperations) => {
    using live = new LiveLine(shell.err, shell.clock);
    live.show('reading the config');
    const before = await instance.status();
    const reloading = instance.reloadConfig({ dryRun }).catch((error: unknown) => {
      throw withConfigInUse(error, before, shell.clock.wallNow());
    });
    const reloaded = await orInterrupted(shell, reloading);
    live.clear();
    if (isJson) shell.out.json(reloaded);
    else printPlan(invocation, reloaded, before);
    return reloaded.failed.length > 0 ? exitCodes.unavailable : exitCodes.ok;
  };
  return await withInstance(invocation, reload, { readsConfig: true });
}

/** A change that is refused: what is used instead is told as `status` tells it. */
function withConfigInUse(error: unknown, status: InstanceStatus, now: number): unknown {
  if (!(error instanceof Fault)) return error;
  if (error.code === 'invalid_request') {
    // Each problem of a config has a line of its own.
    return new Fault(error.code, `${error.message}\n${runsText(status, now)}`, {}, error);
  }
  if (error.code !== 'denied') return error;
  const isUntrusted = status.usedConfig?.problem?.kind === 'untrusted';
  const told = isUntrusted ? notUsedText(status, now) : undefined;
  return told === undefined ? error : new Fault(error.code, told, {}, error);
}

function printPlan({ shell }: Invocation, reloaded: ReloadedConfig, before: InstanceStatus): void {
  for (const line of planLines(reloaded, beforeIn(before))) shell.out.line(line);
  for (const { name, cause } of reloaded.failed) complain(shell, `${name}: ${cause}`);
}

async function shutdown(invocation: Invocation): Promise<number> {
  const { shell, isJson } = invocation;
  return await withInstance(invocation, async (instance) => {
    await orInterrupted(shell, instance.shutdown());
    if (isJson) shell.out.json({ done: 'shutdown' });
    else shell.out.line('the instance is ending');
    return exitCodes.ok;
  });
}
