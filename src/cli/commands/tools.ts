// holdfast tools: lists tools. Without a name, every tool of every server; with a server, its
// tools; with a tool, its details. Stored lists are shown with their age, and only servers without
// a stored list are started. A server that fails is one line on standard error, and the tools of
// the others are still shown: the exit code is not 0 only if every server failed (3 if they failed,
// 2 if the config disables them all).

import type { Command } from 'commander';
import type { KeptMark, ToolDefinition } from '../../host/discovery.ts';
import type { ListedTools } from '../../instance/operations.ts';
import type { FaultRecord } from '../../kernel/fault.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { printableLine } from '../../kernel/printable.ts';
import { exitCodes } from '../exit-codes.ts';
import { advised, reportFaults } from '../fault-report.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { hiddenByRole } from '../local-role.ts';
import { LiveLine } from '../render/live-line.ts';
import { ageOf, type ListedTool, toolPage } from '../render/tool-page.ts';
import { usableIn } from '../running-servers.ts';
import { remark } from '../shell.ts';
import { orInterrupted } from '../standalone.ts';
import { type Target, withTarget } from '../target.ts';
import { partialAddress, type ToolAddress } from '../tool-address.ts';
import { printTools } from '../tool-list.ts';

const help = `
Lists that were stored earlier are shown with their age, without starting the servers; --fresh
starts every server and reads its list now. A server without a stored list is started, which may
take as long as its startTimeoutMs.
A server that fails is reported on standard error; the others are still listed, with exit code 0.
With --json: {"tools": [{"server", "name", …}], "errors": [fault …]}; a tool of a stored list
has "kept": {"listedAt": milliseconds since 1970 or null}. For one tool:
{"server", "tool": its definition, "replay": {"replay", "ground"}, "kept"?}.

Examples:
  holdfast tools
  holdfast tools files
  holdfast tools files/read_text_file --fresh`;

export function addTools(program: Command, perform: Perform): void {
  program
    .command('tools')
    .summary('list the tools of all servers, of one, or show one tool')
    .description('List the tools of all servers or of one server; with a tool named, describe it.')
    .argument('[SERVER[/TOOL]]', 'a server, or one of its tools')
    .option('--fresh', 'start the servers and read their lists now')
    .addHelpText('after', help)
    .action((address: string | undefined, { fresh }: { fresh?: boolean }, command: Command) =>
      perform(command, (invocation) => tools(invocation, address, fresh !== true)),
    );
}

function tools(
  invocation: Invocation,
  addressText: string | undefined,
  kept: boolean,
): Promise<number> {
  const { shell } = invocation;
  const address = addressText === undefined ? undefined : partialAddress(addressText);
  return withTarget(invocation, {}, async (target) => {
    if (address === undefined) return await allTools(invocation, target, kept);
    const { server, tool } = address;
    using live = new LiveLine(shell.err, shell.clock);
    live.show(`asking ${server}`);
    const { operations } = target;
    if (tool === undefined) {
      const { refuseExposedName } = await import('../exposed-name.ts');
      await refuseExposedName(target, 'tools', server);
    }
    let listing = await orInterrupted(shell, operations.tools(server, { kept }));
    const has = (name: string) => listing.definitions.some((one) => one.name === name);
    // A tool that is missing in an old list may be in a new one.
    if (tool !== undefined && !has(tool)) {
      listing = await orInterrupted(shell, operations.tools(server, { kept: false }));
    }
    live.clear();
    if (tool !== undefined) {
      return await oneTool(invocation, target, { server, tool }, listing);
    }
    printList(
      invocation,
      listing.definitions.map((definition) => listed(definition, listing.mark)),
      [],
    );
    return exitCodes.ok;
  });
}

async function allTools(
  invocation: Invocation,
  { operations, loaded }: Target,
  kept: boolean,
): Promise<number> {
  const { shell } = invocation;
  const status = await operations.status();
  const servers = usableIn(status);
  const note = loaded && hiddenByRole(loaded.config);
  using live = new LiveLine(shell.err, shell.clock);
  if (servers.length > 0) live.show(`asking ${servers.join(', ')}`);
  const found = await orInterrupted(shell, operations.discover({ kept }));
  live.clear();
  const errors = found.flatMap((entry) => ('error' in entry ? [entry.error] : []));
  const list = found.flatMap((entry): ListedTool[] => {
    if ('error' in entry) return [];
    const { server, tool, schema, ...rest } = entry;
    return [{ server, name: tool, ...rest, inputSchema: schema }];
  });
  printList(invocation, list, errors);
  const { disabledServers } = await import('../disabled-servers.ts');
  const all = loaded === undefined ? [] : disabledServers(loaded);
  const disabled = all.filter(({ isSwitchedOff }) => !isSwitchedOff);
  if (!invocation.isJson) {
    for (const { name, cause } of disabled) remark(shell, `${name} is disabled: ${cause}`);
    if (note !== undefined) remark(shell, note);
    if (status.servers.length === 0) {
      const { noServersText } = await import('../../config/no-servers.ts');
      remark(shell, noServersText(status.config));
    }
  }
  if (servers.length > errors.length) return exitCodes.ok;
  if (errors.length > 0) return exitCodes.unavailable;
  return disabled.length > 0 ? exitCodes.usage : exitCodes.ok;
}

function listed(definition: ToolDefinition, kept: KeptMark | undefined): ListedTool {
  const { _mcp_server: server, name, ...rest } = definition;
  return { server, name, ...rest, ...(kept ? { kept } : {}) };
}

function printList(
  { shell, isJson }: Invocation,
  list: readonly ListedTool[],
  errors: readonly FaultRecord[],
): void {
  const { out } = shell;
  if (isJson) {
    const told = errors.map((error) => advised(error, shell.steps));
    return out.json({ tools: list, errors: told });
  }
  printTools(shell, list, 'tools --fresh');
  reportFaults(shell, errors);
}

async function oneTool(
  { shell, isJson }: Invocation,
  { operations, loaded }: Target,
  { server, tool }: ToolAddress,
  { definitions, mark, entry }: ListedTools,
): Promise<number> {
  const { contractOf } = await import('../../host/lists/catalogue.ts');
  const found = definitions.find(({ name }) => name === tool);
  const config = entry ?? ownValue(loaded?.config.mcpServers ?? {}, server);
  if (found === undefined || config === undefined) {
    throw await operations.unknownTool(server, tool);
  }
  const { _mcp_server: _, ...definition } = found;
  const { readOnlyHint } = definition.annotations ?? {};
  const contract = contractOf(config, tool, readOnlyHint === true);
  const { out } = shell;
  const kept = mark ? { kept: mark } : {};
  if (isJson) out.json({ server, tool: definition, replay: contract, ...kept });
  else {
    const page = { server, definition, contract, isTrusted: config.trusted };
    for (const line of toolPage(page, out.style)) out.line(line);
    if (mark) out.line(`\n${out.style('dim', ageOf(mark, shell.clock.wallNow()))}`);
    const needed = mark ? await operations.capabilitiesBehind(server, tool) : [];
    if (needed.length > 0) {
      const told = shell.steps(listedToOthers({ server, tool }, needed));
      out.line(out.style('yellow', told));
    }
  }
  return exitCodes.ok;
}

function listedToOthers({ server, tool }: ToolAddress, capabilities: readonly string[]): string {
  return printableLine(
    `listed to clients with ${capabilities.join(', ')}; the command line has none of these and may not be offered it; find out with: holdfast tools ${server}/${tool} --fresh`,
  );
}
