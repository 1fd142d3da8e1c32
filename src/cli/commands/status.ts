// holdfast status: the states of the servers and, with one named, its recent events. It starts no
// server and writes nothing. The states are those of the running instance of the config. If none runs,
// it reads the config and the event log that all commands of this user share, and says so; disk
// problems are then reported as far as they can be seen without writing.

import type { Command } from 'commander';
import { realConfigPath } from '../../config/config-path.ts';
import type { AuditStatus } from '../../host/status.ts';
import type { Fault } from '../../kernel/fault.ts';
import { printableJson, printableLine } from '../../kernel/printable.ts';
import { eventHistory, type LoggedEvent } from '../event-history.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { withLastFailures, withoutMended } from '../last-failure.ts';
import { gapsText, unwrittenText } from '../render/audit-lines.ts';
import { rolloutText } from '../render/rollout-line.ts';
import {
  limitsNote,
  type StatusView,
  serverPage,
  statusLines,
  warningLines,
} from '../render/status-page.ts';
import { needsStart, notUsedText } from '../render/used-config.ts';
import type { Shell } from '../shell.ts';
import { ownStateDirectory } from '../state-directory.ts';
import { watch } from '../status-watch.ts';
import { type StatusTarget, tellOlderConfig, withStatusTarget } from '../target.ts';

const help = `
With --json: {"version", "instance", "config", "servers": [{"name", "state", "cause", …}], …};
"instanceState" is "running", "starting", "ending" or "none"; unless it is running "instance" is null:
then "cause" and "stderr" are those of the last
failure in the event log. Of an instance there are also "pid", "url" (null: it serves no HTTP), "clients", and
"differing": [{"pid", "variables"}], the connect windows whose variables have other values than the
instance, and "usedConfig": {"since", "problem"}; "problem" is null, or {"kind", "detail"} if the config
file as it is now is not used ("untrusted", "invalid", or "waiting" for a reload), and "needsStart": the keys
that have changed in it and apply only to a new start, and "refused": {"unauthorized", "notFound"}, the requests
over HTTP that were refused before they were anybody's, and "broker": null, or {"url", "as", "state", "since", "lastError",
"links", "workers"}, its link to the broker ("state" is "connected", "connecting", "lost" or "refused"), and "budgets": [{"role", "per", "principal", "limits": [{"limit",
"limitValue", "spent", "freesAt"}]}], what is spent of the budgets of roles. "rollout" is "stable", "pending", "running" or "failed", and "rollouts": {"cause", "at", "count", "generation",
"launchPathStable"}, or null without an instance. "stateHidden" of a server: whether the state directory is hidden from its process. With a
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
  let told: string | undefined;
  const look = () =>
    withStatusTarget(invocation, async (target) => {
      const problem = target.problem?.message;
      if (problem !== undefined && problem !== told) tellOlderConfig(shell, problem);
      told = problem;
      const view = await viewOf(shell, target, stateDir);
      const isKnown = view.status.servers.some(({ name }) => name === server);
      // The same message as for every unknown name, with the nearest names.
      if (server !== undefined && !isKnown) await target.operations.requireServer(server);
      return view;
    });
  const view = await look();
  // An instance may come and go while it is watched: each look finds out anew.
  if (isWatched)
    await watch(invocation, { look, text: (seen) => textOf(invocation, seen, server) }, view);
  else shell.out.line(textOf(invocation, view, server));
  return exitCodes.ok;
}

async function viewOf(shell: Shell, target: StatusTarget, stateDir: string): Promise<StatusView> {
  const { operations, file, isLive, loaded, unreachable } = target;
  const { steps } = shell;
  const { accessNote } = await import('../access-note.ts');
  const access = loaded === undefined ? undefined : await accessNote(shell, loaded);
  const { lookAtDisk } = await import('../../store/disk-check.ts');
  const history = await eventHistory(stateDir, realConfigPath(file));
  const now = shell.clock.wallNow();
  const status = await operations.status();
  // A problem that this command has found itself was told already.
  const notUsed = loaded === undefined ? undefined : notUsedText(status, now);
  const waiting = needsStart(status);
  const rolling = isLive ? rolloutText(status, now) : undefined;
  const warnings = [notUsed, waiting && `${waiting.told}; ${waiting.remedy}`, rolling];
  const told = warnings.filter((text) => text !== undefined);
  const common = { warnings: told, now, steps, access };
  if (isLive) return { status, history, current: history, instanceState: 'running', ...common };
  const current = loaded === undefined ? history : withoutMended(history, loaded.config);
  // The host of this command has no disk; the disk that is checked is that of the state directory.
  const shown = withLastFailures({ ...status, disk: await lookAtDisk(stateDir) }, current);
  const instanceState = stateOf(unreachable);
  return { status: shown, history, current, instanceState, unreachable, ...common };
}

/** Of one that cannot be asked. */
function stateOf(unreachable: Fault | undefined): StatusView['instanceState'] {
  if (unreachable === undefined) return 'none';
  return unreachable.code === 'draining' ? 'ending' : 'starting';
}

function textOf({ shell, isJson }: Invocation, view: StatusView, server: string | undefined) {
  return isJson ? jsonText(view, server) : page(view, server, shell).join('\n');
}

function page(view: StatusView, server: string | undefined, { out }: Shell): readonly string[] {
  const { disk, audit } = view.status;
  const lines =
    server === undefined
      ? statusLines(view, out.style, out)
      : serverPage(view, server, out.style, out);
  const trouble = disk.ok ? [] : ['', out.style('yellow', printableLine(disk.problem))];
  const unwritten = auditTrouble(audit).map((text) => out.style('yellow', view.steps(text)));
  return [
    ...lines,
    ...view.warnings.flatMap((text) => warningLines(view, text, out.style, out)),
    ...trouble,
    ...unwritten,
    ...limitsNote(view, out.style, out),
  ];
}

/** An instance of an older version says nothing of it. */
function auditTrouble(audit: AuditStatus | undefined): readonly string[] {
  if (audit === undefined) return [];
  const { problem, lost, refused, gaps = 0 } = audit;
  const said = [
    problem === null ? '' : printableLine(problem),
    unwrittenText(lost, refused) ?? '',
    gaps > 0 ? `${gapsText(gaps)}; see: holdfast audit verify` : '',
  ];
  return said.filter((text) => text !== '').flatMap((text) => ['', text]);
}

const keptEvents = 200;

/** The host of this command is not an instance that anybody could connect to. */
function jsonText(view: StatusView, server: string | undefined): string {
  const { status, history, instanceState, access = null } = view;
  const none = {
    ...{ instance: null, startedBy: null, uptimeMs: null, pid: null, url: null },
    rollouts: null,
  };
  const more = {
    clients: null,
    differing: [],
    usedConfig: null,
    needsStart: [],
    refused: null,
    broker: null,
  };
  const counts = { budgets: null };
  const isLive = instanceState === 'running';
  const whole = {
    ...status,
    ...(isLive ? {} : { ...none, ...more, ...counts }),
    instanceState,
    access,
  };
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
