// holdfast search: finds tools by words, across all servers, the best first. Stored lists are
// searched without starting their servers, and shown with their age. Finding nothing is a normal
// answer; the exit code is 3 only if every server failed.

import { type Command, InvalidArgumentError } from 'commander';
import type { SearchHit } from '../../catalog/search.ts';
import { noServersText } from '../../config/no-servers.ts';
import type { KeptMark, Searched } from '../../host/discovery.ts';
import { Fault } from '../../kernel/fault.ts';
import { exitCodes } from '../exit-codes.ts';
import { advised, reportFaults } from '../fault-report.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { hiddenByRole } from '../local-role.ts';
import { LiveLine } from '../render/live-line.ts';
import { usableIn } from '../running-servers.ts';
import { remark, type Shell } from '../shell.ts';
import { orInterrupted } from '../standalone.ts';
import { withTarget } from '../target.ts';
import { printTools } from '../tool-list.ts';

const help = `
Lists that were stored earlier are searched without starting the servers, and shown with their
age; --fresh starts every server and reads its list now.
With --json: {"hits": [{"server", "tool", "description", "score"}], "total", "errors": [fault …]};
a hit of a stored list has "kept": {"listedAt": milliseconds since 1970 or null}.

Examples:
  holdfast search read a file
  holdfast search commit history --limit 3`;

export function addSearch(program: Command, perform: Perform): void {
  program
    .command('search')
    .summary('find tools by words, across all servers')
    .description('Find the tools that match the words best, across all servers.')
    .argument('<WORDS...>', 'what the tool should do')
    .option('--limit <N>', 'how many to show', count, 10)
    .option('--fresh', 'start the servers and read their lists now')
    .addHelpText('after', help)
    .action((words: string[], options: SearchOptions, command: Command) =>
      perform(command, (invocation) => search(invocation, words.join(' '), options)),
    );
}

interface SearchOptions {
  readonly limit: number;
  readonly fresh?: boolean;
}

function count(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number of at least 1');
}

async function search(
  invocation: Invocation,
  words: string,
  { limit, fresh }: SearchOptions,
): Promise<number> {
  const { shell, isJson } = invocation;
  // Found out before servers are started.
  if (!/[\p{L}\p{N}]/u.test(words)) throw noWords(words);
  return await withTarget(invocation, {}, async ({ operations, loaded }) => {
    using live = new LiveLine(shell.err, shell.clock);
    const status = await operations.status();
    const servers = usableIn(status);
    const note = loaded && hiddenByRole(loaded.config);
    live.show(`asking ${servers.join(', ')}`);
    const searching = operations.search(words, { limit, kept: fresh !== true });
    const found = await orInterrupted(shell, searching);
    const { outcome, errors, kept } = found;
    live.clear();
    if (outcome.kind === 'empty_query') throw noWords(words);
    if (isJson) {
      const { hits, total } = outcome.kind === 'found' ? outcome : { hits: [], total: 0 };
      shell.out.json({
        hits: hits.map((hit) => ({ ...hit, ...markOf(hit, kept) })),
        total,
        errors: errors.map((error) => advised(error, shell.steps)),
      });
    } else {
      if (status.servers.length > 0) printOutcome(shell, found, words);
      else remark(shell, noServersText(status.config));
      if (note !== undefined) remark(shell, note);
      reportFaults(shell, errors);
    }
    const isNobodyAsked = errors.length > 0 && errors.length === servers.length;
    return isNobodyAsked ? exitCodes.unavailable : exitCodes.ok;
  });
}

function markOf({ server }: SearchHit, marks: Searched['kept']): { readonly kept?: KeptMark } {
  const kept = marks.get(server);
  return kept ? { kept } : {};
}

function printOutcome(shell: Shell, { outcome, kept }: Searched, words: string): void {
  switch (outcome.kind) {
    case 'found': {
      const { hits, total } = outcome;
      const tools = hits.map((hit) => ({ ...hit, name: hit.tool, ...markOf(hit, kept) }));
      printTools(shell, tools, 'search --fresh');
      if (total > hits.length) {
        remark(shell, `${total - hits.length} more match; show them with --limit ${total}`);
      }
      return;
    }
    case 'no_match':
      return remark(shell, `no tool matches '${words}'; list all tools with: holdfast tools`);
    case 'empty_query':
      return;
    case 'empty_corpus':
      return remark(shell, 'there are no tools to search; see: holdfast tools');
  }
}

function noWords(words: string): Fault {
  const detail = `'${words}' has no word to search for; try: holdfast search read file`;
  return new Fault('invalid_request', detail);
}
