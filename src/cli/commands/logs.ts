// holdfast logs: what the processes of a server have written that is not MCP, as far as the running
// instance has kept it, and with -f what they write from now on, also in the instances after this one.

import type { Command } from 'commander';
import type { InstanceOperations } from '../../instance/operations.ts';
import { Fault } from '../../kernel/fault.ts';
import type { OutputLine, OutputPage } from '../../observe/server-output.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { outputLines } from '../render/output-lines.ts';
import { remark, type Shell } from '../shell.ts';
import { nextInstance, pause, withInstance } from '../target.ts';

const help = `
It needs a running instance of the config (holdfast serve, or holdfast connect), which keeps the last
1000 lines of each server: stderr, and lines on stdout that are not MCP. Known secrets are replaced.
A remote server writes its log elsewhere. Without an instance, holdfast status SERVER shows the end of
stderr of the last failure. With -f it waits for the next instance when this one has ended.
With --json: one line for each line, {"at", "pid", "stream", "text"}; "at" in milliseconds since 1970.

Examples:
  holdfast logs files
  holdfast logs files -f`;

export function addLogs(program: Command, perform: Perform): void {
  program
    .command('logs')
    .summary('show what a server writes to stderr')
    .description('Show what the processes of a server have written that is not MCP.')
    .argument('<SERVER>', 'a server')
    .option('-f, --follow', 'go on with what it writes, until Ctrl-C')
    .addHelpText('after', help)
    .action((server: string, { follow }: { follow?: boolean }, command: Command) =>
      perform(command, (invocation) => logs(invocation, server, follow === true)),
    );
}

const betweenLooksMs = 250;

async function logs(invocation: Invocation, server: string, isFollowed: boolean): Promise<number> {
  const { shell } = invocation;
  const { out, interrupt } = shell;
  const end = AbortSignal.any([interrupt.signal, out.closed]);
  let shown: Shown = { isLost: false, before: undefined };
  const show = (instance: InstanceOperations, file: string | null) =>
    showAll(invocation, { instance, server, isFollowed, end, file, before: shown.before });
  shown = await withInstance(invocation, show);
  while (shown.isLost && !end.aborted) {
    remark(shell, 'the instance has ended; this goes on with the next one, until Ctrl-C');
    await nextInstance(shell, shown.file ?? null, end);
    if (end.aborted) break;
    remark(shell, 'the next instance runs');
    shown = await withInstance(invocation, show);
  }
  if (isFollowed && out.isTerminal) out.line();
  return exitCodes.ok;
}

interface Shown {
  /** The instance has ended, though the output was to be followed. */
  readonly isLost: boolean;
  /** The last line that was printed. */
  readonly before: OutputLine | undefined;
  /** The config of the instance. */
  readonly file?: string | null;
}

interface Showing {
  readonly instance: InstanceOperations;
  readonly server: string;
  readonly isFollowed: boolean;
  readonly end: AbortSignal;
  readonly file: string | null;
  readonly before: OutputLine | undefined;
}

/** What one instance has, and where it is followed, until the end of either. */
async function showAll(invocation: Invocation, showing: Showing): Promise<Shown> {
  const { shell } = invocation;
  const { instance, server, isFollowed, end, file } = showing;
  let { before } = showing;
  try {
    let page = await instance.output(server, -1);
    if (page.lines.length === 0 && (await isSilent(shell, instance, server, before))) {
      return { isLost: false, before };
    }
    before = print(invocation, page, before);
    while (isFollowed && !end.aborted) {
      // A reader that is slow is waited for: meanwhile the instance keeps what it has room for.
      await shell.out.flushed();
      await pause(shell.clock, betweenLooksMs, end);
      if (end.aborted) break;
      page = await instance.output(server, page.next);
      if (page.missed > 0) remark(shell, `${page.missed} lines were written too fast to be kept`);
      before = print(invocation, page, before);
    }
    return { isLost: false, before };
  } catch (error) {
    const isLost = error instanceof Fault && error.code === 'unavailable';
    if (!isFollowed || !isLost) throw error;
    return { isLost, before, file };
  }
}

/** Says why there is nothing; true if there never will be. */
async function isSilent(
  shell: Shell,
  instance: InstanceOperations,
  server: string,
  before: OutputLine | undefined,
): Promise<boolean> {
  const { servers } = await instance.status();
  const { transport = 'stdio' } = servers.find(({ name }) => name === server) ?? {};
  if (transport === 'stdio') {
    if (before === undefined) {
      remark(shell, `${server} has written nothing since the instance was started`);
    }
    return false;
  }
  const told = `${server} is a remote server (${transport}): it writes its log where it runs`;
  remark(shell, `${told}; what happened to it is shown by: holdfast status ${server}`);
  return true;
}

/** Prints a page after this line; returns the last one. */
function print(
  { shell, isJson }: Invocation,
  { lines }: OutputPage,
  before: OutputLine | undefined,
): OutputLine | undefined {
  const { out, clock } = shell;
  if (isJson) for (const line of lines) out.json(line);
  else {
    const now = clock.wallNow();
    for (const text of outputLines(lines, before, now, out.style)) out.line(text);
  }
  return lines.at(-1) ?? before;
}
