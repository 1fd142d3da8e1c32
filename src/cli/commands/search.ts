// holdfast search: tools by words, across all servers, the best first. Finding nothing is an answer
// like any other; the exit code is 3 only if no server could be asked.

import { type Command, InvalidArgumentError } from 'commander';
import type { SearchOutcome } from '../../catalog/search.ts';
import { exitCodes } from '../exit-codes.ts';
import { reportFaults } from '../fault-report.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { LiveLine } from '../render/live-line.ts';
import { toolLines } from '../render/tool-page.ts';
import { remark, type Shell } from '../shell.ts';
import { withHost } from '../standalone.ts';

const help = `
With --json: {"hits": [{"server", "tool", "description", "score"}], "total", "errors": [fault …]}.

Examples:
  holdfast search read a file
  holdfast search commit history --limit 3`;

export function addSearch(program: Command, perform: Perform): void {
  program
    .command('search')
    .summary('find tools by words, across all servers')
    .description('Find the tools that fit the words best, across all servers.')
    .argument('<WORDS...>', 'what the tool should do')
    .option('--limit <N>', 'how many to show', count, 10)
    .addHelpText('after', help)
    .action((words: string[], { limit }: { limit: number }, command: Command) =>
      perform(command, (invocation) => search(invocation, words.join(' '), limit)),
    );
}

function count(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from 1 on');
}

function search(
  { shell, configFile, isJson }: Invocation,
  words: string,
  limit: number,
): Promise<number> {
  return withHost(shell, { configFile }, async ({ host, loaded }) => {
    using live = new LiveLine(shell.err, shell.clock);
    const servers = Object.keys(loaded.config.mcpServers);
    live.show(`asking ${servers.join(', ')}`);
    const { outcome, errors } = await host.search(words, { limit });
    live.clear();
    if (isJson) {
      const { hits, total } = outcome.kind === 'found' ? outcome : { hits: [], total: 0 };
      shell.out.json({ hits, total, errors });
    } else {
      printOutcome(shell, outcome, words);
      reportFaults(shell, errors);
    }
    const isNobodyAsked = errors.length > 0 && errors.length === servers.length;
    return isNobodyAsked ? exitCodes.unavailable : exitCodes.ok;
  });
}

function printOutcome(shell: Shell, outcome: SearchOutcome, words: string): void {
  const { out } = shell;
  switch (outcome.kind) {
    case 'found': {
      const { hits, total } = outcome;
      const tools = hits.map(({ tool, ...hit }) => ({ ...hit, name: tool }));
      for (const line of toolLines(tools, out.style, out.columns)) out.line(line);
      if (total > hits.length) {
        remark(shell, `${total - hits.length} more fit; show them with --limit ${total}`);
      }
      return;
    }
    case 'no_match':
      return remark(shell, `no tool fits '${words}'; all of them: holdfast tools`);
    case 'empty_query':
      return remark(shell, `'${words}' has no word to look for; try: holdfast search read file`);
    case 'empty_corpus':
      return remark(shell, 'there is no tool to search in; see: holdfast tools');
  }
}
