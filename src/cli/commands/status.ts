// holdfast status: the states of the servers and, with one named, its recent events. It starts no
// server and writes nothing. The states are those of the running instance of the config. If none runs,
// it reads the config and the event log that all commands of this user share, and says so; disk
// problems are then reported as far as they can be seen without writing.

import type { Command } from 'commander';
import { realConfigPath } from '../../config/config-path.ts';
import { Fault } from '../../kernel/fault.ts';
import { printableJson, printableLine } from '../../kernel/printable.ts';
import { eventHistory, type LoggedEvent } from '../event-history.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { withLastFailures, withoutMended } from '../last-failure.ts';
import { limitsNote, type StatusView, serverPage, statusLines } from '../render/status-page.ts';
import type { Style } from '../render/style.ts';
import { notUsedText } from '../render/used-config.ts';
import { wrappedTo } from '../render/width.ts';
import type { Shell } from '../shell.ts';
import { ownStateDirectory } from '../state-directory.ts';
import { pause, type StatusTarget, withStatusTarget } from '../target.ts';

const help = `
With --json: {"version", "instance", "config", "servers": [{"name", "state", "cause", …}], …};
"instance" is null if no instance of this config runs: then "cause" and "stderr" are those of the last
failure in the event log. Of an instance there are also "pid", "url" (null: it serves no HTTP), "clients", and
"differing": [{"pid", "variables"}], the connect windows whose variables have other values than the
instance, and "usedConfig": {"since", "problem"}; "problem" is null, or {"kind", "detail"} if the config
file as it is now is not used ("untrusted", "invalid", or "waiting" for a reload). "stateHidden" of a server: whether the state directory is hidden from its process. With a
server named, "servers" has only that one and "timeline" its latest events. --watch --json prints one such line for each change.

Examples:
  holdfast status
  holdfast status files
  holdfast status --watch`;

export function addStatus(program: Command, perform: Perform): void {
  program
    .command('status')
    .summary('show the states of all servers, or the details of one')
    .description(
      "Show the servers' states; with a server named, its state, recent events and recent stderr.",
    )
    .argument('[SERVER]', 'a server')
    .option('--watch', 'keep it up to date until Ctrl-C')
    .addHelpText('after', help)
    .action(
      (server: string | undefined, { watch: isWatched }: { watch?: boolean }, command: Command) =>
        perform(command, (invocation) => status(invocation, server, isWatched === true)),
    );
}

async function status(
  invocation: Invocation,
  server: string | undefined,
  isWatched: boolean,
): Promise<number> {
  const { shell } = invocation;
  const stateDir = await ownStateDirectory(shell);
  const look = () =>
    withStatusTarget(invocation, async (target) => {
      const view = await viewOf(shell, target, stateDir);
      const isKnown = view.status.servers.some(({ name }) => name === server);
      // The same message as for every unknown name, with the nearest names.
      if (server !== undefined && !isKnown) await target.operations.requireServer(server);
      return view;
    });
  const view = await look();
  // An instance may come and go while it is watched: each look finds out anew.
  if (isWatched) await watch(invocation, server, view, look);
  else print(invocation, view, server);
  return exitCodes.ok;
}

async function viewOf(shell: Shell, target: StatusTarget, stateDir: string): Promise<StatusView> {
  const { operations, file, isLive, loaded } = target;
  const { steps } = shell;
  const { lookAtDisk } = await import('../../store/disk-check.ts');
  const history = await eventHistory(stateDir, realConfigPath(file));
  const now = shell.clock.wallNow();
  const status = await operations.status();
  const isConfigUsable = loaded !== undefined;
  if (isLive)
    return { status, history, current: history, now, isLive: true, isConfigUsable, steps };
  const current = loaded === undefined ? history : withoutMended(history, loaded.config);
  // The host of this command has no disk; the disk that is checked is that of the state directory.
  const shown = withLastFailures({ ...status, disk: await lookAtDisk(stateDir) }, current);
  return { status: shown, history, current, now, isLive: false, isConfigUsable, steps };
}

function print({ shell, isJson }: Invocation, view: StatusView, server: string | undefined): void {
  const { out } = shell;
  if (isJson) return out.line(jsonText(view, server));
  for (const line of page(view, server, shell)) out.line(line);
}

function page(view: StatusView, server: string | undefined, { out }: Shell): readonly string[] {
  const { disk } = view.status;
  const lines =
    server === undefined
      ? statusLines(view, out.style, out)
      : serverPage(view, server, out.style, out);
  const trouble = disk.ok ? [] : ['', out.style('yellow', printableLine(disk.problem))];
  return [
    ...lines,
    ...usedConfigLines(view, out),
    ...trouble,
    ...(view.isLive ? [] : limitsNote(view, out.style, out)),
  ];
}

/** A problem that this command has found itself was told already. */
function usedConfigLines(view: StatusView, { style, columns }: Shell['out']): readonly string[] {
  const note = notUsedText(view.status, view.now);
  if (note === undefined || !view.isConfigUsable) return [];
  const told = printableLine(view.steps(note));
  return ['', ...wrappedTo(columns, told).map((text) => style('yellow', text))];
}

const keptEvents = 200;

/** The host of this command is not an instance that anybody could connect to. */
function jsonText({ status, history, isLive }: StatusView, server: string | undefined): string {
  const none = { instance: null, startedBy: null, uptimeMs: null, pid: null, url: null };
  const whole = isLive
    ? status
    : { ...status, ...none, clients: null, differing: [], usedConfig: null };
  if (server === undefined) return printableJson(JSON.stringify(whole));
  const one = {
    ...whole,
    servers: status.servers.filter(({ name }) => name === server),
    timeline: history
      .filter((event) => event.server === server)
      .slice(-keptEvents)
      .map(shown),
  };
  return printableJson(JSON.stringify(one));
}

/** The fingerprint of an entry stays in the state directory. */
function shown({ spec: _, ...event }: LoggedEvent): object {
  return event;
}

const betweenLooksMs = 1_000;

/** Prints it again whenever it has changed, until an interrupt or until nobody reads the output. */
async function watch(
  { shell, isJson }: Invocation,
  server: string | undefined,
  first: StatusView,
  look: () => Promise<StatusView>,
): Promise<void> {
  const { out, interrupt, clock } = shell;
  const end = AbortSignal.any([interrupt.signal, out.closed]);
  let shown: string | undefined;
  let view = first;
  while (!end.aborted) {
    const text = isJson ? jsonText(view, server) : page(view, server, shell).join('\n');
    const isScreen = out.isTerminal && !isJson;
    // On a terminal the ages are updated; elsewhere only new events are printed.
    const { status, history, isLive } = view;
    const { servers, disk, instance, usedConfig } = status;
    const mark = isScreen
      ? text
      : JSON.stringify([servers, disk, history.at(-1), isLive, instance, usedConfig]);
    if (mark !== shown && !end.aborted) {
      out.write(isScreen ? repainted(text, out.style, shown === undefined) : `${text}\n`);
    }
    shown = mark;
    await pause(clock, betweenLooksMs, end);
    if (!end.aborted) view = await lookAgain(look, view);
  }
  if (out.isTerminal) out.line();
}

const goneCodes: ReadonlySet<string> = new Set(['unavailable', 'draining']);

/** An instance that ends while it is asked is seen as gone by the next look. */
async function lookAgain(look: () => Promise<StatusView>, before: StatusView): Promise<StatusView> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof Fault && goneCodes.has(error.code)) return before;
    throw error;
  }
}

/** Overwritten in place, because clearing first would flicker. */
function repainted(text: string, style: Style, isFirst: boolean): string {
  const lines = `${text}\n\n${style('dim', 'Press Ctrl-C to stop')}`.replaceAll('\n', '\u001b[K\n');
  return `${isFirst ? '\u001b[2J' : ''}\u001b[H${lines}\u001b[K\n\u001b[J`;
}
