// holdfast status: what state the servers are in and, with one named, what happened to it. Looking
// changes nothing: no server is started and nothing is written. It reads the config and the event log that
// all commands of this user share, so it knows which servers there are and what happened to them last; a
// gateway that runs now cannot be asked, and the page says so. Of the disk it says what can be seen
// without writing.

import type { Command } from 'commander';
import type { Clock } from '../../kernel/clock.ts';
import { printableJson, printableLine } from '../../kernel/printable.ts';
import { eventHistory } from '../event-history.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { withLastFailures } from '../last-failure.ts';
import { limitsNote, type StatusView, serverPage, statusLines } from '../render/status-page.ts';
import type { Style } from '../render/style.ts';
import type { Shell } from '../shell.ts';
import { type Standalone, withHost } from '../standalone.ts';
import { ownStateDirectory } from '../state-directory.ts';

const help = `
With --json: {"version", "instance", "config", "servers": [{"name", "state", "cause", …}], …};
"instance" is null: a running gateway cannot be asked from here, so states and counts are not its own;
"cause" and "stderr" are those of the last failure in the event log. With a server named, "servers"
holds only that one and "timeline" its latest events. --watch --json prints one such line for each
change.

Examples:
  holdfast status
  holdfast status files
  holdfast status --watch`;

export function addStatus(program: Command, perform: Perform): void {
  program
    .command('status')
    .summary("show the servers' states, or the story of one")
    .description("Show the servers' states; with a server named, its timeline.")
    .argument('[SERVER]', 'a server')
    .option('--watch', 'keep showing it until Ctrl-C')
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
  const { shell, configFile } = invocation;
  const stateDir = await ownStateDirectory(shell);
  return await withHost(shell, { configFile, isReadOnly: true }, async (standalone) => {
    const view = await viewOf(shell, standalone, stateDir);
    const isKnown = view.status.servers.some(({ name }) => name === server);
    // Says what it says of every unknown name, with the nearest ones.
    if (server !== undefined && !isKnown) standalone.host.requireServer(server);
    if (!isWatched) {
      print(invocation, view, server);
      return exitCodes.ok;
    }
    await watch(invocation, server, () => viewOf(shell, standalone, stateDir));
    return exitCodes.ok;
  });
}

/** The host that was made to look has no disk of its own: the one looked at is that of the others. */
async function viewOf(shell: Shell, standalone: Standalone, stateDir: string): Promise<StatusView> {
  const { host, loaded } = standalone;
  const [{ lookAtDisk }, { realConfigPath }] = await Promise.all([
    import('../../store/disk-check.ts'),
    import('../../config/load.ts'),
  ]);
  const history = await eventHistory(stateDir, realConfigPath(loaded.file));
  const status = { ...host.status(), disk: await lookAtDisk(stateDir) };
  return { status: withLastFailures(status, history), history, now: shell.clock.wallNow() };
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
  return [...lines, ...trouble, ...limitsNote(out.style, out)];
}

const keptEvents = 200;

/** The host that was made to look is no instance anybody could talk to. */
function jsonText({ status, history }: StatusView, server: string | undefined): string {
  const whole = { ...status, instance: null, startedBy: null, uptimeMs: null };
  if (server === undefined) return printableJson(JSON.stringify(whole));
  const one = {
    ...whole,
    servers: status.servers.filter(({ name }) => name === server),
    timeline: history.filter((event) => event.server === server).slice(-keptEvents),
  };
  return printableJson(JSON.stringify(one));
}

const betweenLooksMs = 1_000;

/** Shows it again whenever it has changed, until an interrupt or nobody reads. */
async function watch(
  { shell, isJson }: Invocation,
  server: string | undefined,
  look: () => Promise<StatusView>,
): Promise<void> {
  const { out, interrupt, clock } = shell;
  const end = AbortSignal.any([interrupt.signal, out.closed]);
  let shown: string | undefined;
  while (!end.aborted) {
    const view = await look();
    const text = isJson ? jsonText(view, server) : page(view, server, shell).join('\n');
    const isScreen = out.isTerminal && !isJson;
    // On a screen the ages tick; elsewhere only what happened is worth another page.
    const mark =
      isScreen || isJson
        ? text
        : JSON.stringify([view.status.servers, view.status.disk, view.history.at(-1)]);
    if (mark !== shown && !end.aborted) {
      out.write(isScreen ? repainted(text, out.style, shown === undefined) : `${text}\n`);
    }
    shown = mark;
    await pause(clock, end);
  }
  if (out.isTerminal) out.line();
}

/** Painted over in place, because clearing first would flicker. */
function repainted(text: string, style: Style, isFirst: boolean): string {
  const lines = `${text}\n\n${style('dim', 'Ctrl-C ends this')}`.replaceAll('\n', '\u001b[K\n');
  return `${isFirst ? '\u001b[2J' : ''}\u001b[H${lines}\u001b[K\n\u001b[J`;
}

async function pause(clock: Clock, end: AbortSignal): Promise<void> {
  if (end.aborted) return;
  await new Promise<void>((resolve) => {
    const wake = () => {
      timer[Symbol.dispose]();
      end.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.after(betweenLooksMs, wake);
    end.addEventListener('abort', wake);
  });
}
