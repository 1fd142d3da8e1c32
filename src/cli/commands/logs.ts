// holdfast logs: what the processes of a server have written that is not MCP, as far as the running
// instance has kept it, and with -f what they write from now on.

import type { Command } from 'commander';
import type { OutputLine, OutputPage } from '../../observe/server-output.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { outputLines } from '../render/output-lines.ts';
import { remark } from '../shell.ts';
import { pause, withInstance } from '../target.ts';

const help = `
It needs a running instance of the config (holdfast serve, or holdfast connect), which keeps the last
1000 lines of each server: stderr, and lines on stdout that are not MCP. Known secrets are replaced.
A remote server writes its log elsewhere. Without an instance, holdfast status SERVER shows the end of
stderr of the last failure.
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
  const { out, interrupt, clock } = shell;
  return await withInstance(invocation, async (instance) => {
    const end = AbortSignal.any([interrupt.signal, out.closed]);
    let page = await instance.output(server, -1);
    if (page.lines.length === 0) {
      const { servers } = await instance.status();
      const { transport = 'stdio' } = servers.find(({ name }) => name === server) ?? {};
      if (transport !== 'stdio') {
        const told = `${server} is a remote server (${transport}): it writes its log where it runs`;
        remark(shell, `${told}; what happened to it is shown by: holdfast status ${server}`);
        return exitCodes.ok;
      }
      remark(shell, `${server} has written nothing since the instance was started`);
    }
    let before = print(invocation, page, undefined);
    while (isFollowed && !end.aborted) {
      // A reader that is slow is waited for: meanwhile the instance keeps what it has room for.
      await out.flushed();
      await pause(clock, betweenLooksMs, end);
      if (end.aborted) break;
      page = await instance.output(server, page.next);
      if (page.missed > 0) remark(shell, `${page.missed} lines were written too fast to be kept`);
      before = print(invocation, page, before);
    }
    if (isFollowed && out.isTerminal) out.line();
    return exitCodes.ok;
  });
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
