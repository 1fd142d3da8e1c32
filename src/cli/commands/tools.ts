// holdfast tools: what there is to call. Without a name, every tool of every server; with a server,
// its tools; with a tool, everything known about it. A server that cannot be asked is one line on
// standard error and hides nobody else's tools: only if no server could be asked is the exit code
// not 0 (3 where they failed, 2 where the config disables them all).

import type { Command } from 'commander';
import type { JsonObject } from '../../catalog/tool.ts';
import type { FaultRecord } from '../../kernel/fault.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { exitCodes } from '../exit-codes.ts';
import { reportFaults } from '../fault-report.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { LiveLine } from '../render/live-line.ts';
import { type ListedTool, toolLines, toolPage } from '../render/tool-page.ts';
import { remark } from '../shell.ts';
import { type Standalone, withHost } from '../standalone.ts';
import { partialAddress, type ToolAddress } from '../tool-address.ts';

const help = `
A server that cannot be asked is reported on standard error; the others are listed all the
same, with exit code 0. With --json: {"tools": [{"server", "name", …}], "errors": [fault …]};
for one tool: {"server", "tool": its definition, "replay": {"replay", "ground"}}.

Examples:
  holdfast tools
  holdfast tools files
  holdfast tools files/read_text_file`;

export function addTools(program: Command, perform: Perform): void {
  program
    .command('tools')
    .summary('list the tools of all servers, of one, or show one tool')
    .description('List the tools of all servers or of one server; with a tool named, describe it.')
    .argument('[SERVER[/TOOL]]', 'a server, or one of its tools')
    .addHelpText('after', help)
    .action((address: string | undefined, _options: unknown, command: Command) =>
      perform(command, (invocation) => tools(invocation, address)),
    );
}

function tools(invocation: Invocation, addressText: string | undefined): Promise<number> {
  const { shell, configFile } = invocation;
  const address = addressText === undefined ? undefined : partialAddress(addressText);
  return withHost(shell, { configFile }, async (standalone) => {
    if (address === undefined) return await allTools(invocation, standalone);
    const { server, tool } = address;
    using live = new LiveLine(shell.err, shell.clock);
    live.show(`asking ${server}`);
    const definitions = await standalone.host.tools(server);
    live.clear();
    if (tool !== undefined) {
      return await oneTool(invocation, standalone, { server, tool }, definitions);
    }
    printList(invocation, definitions.map(listed), []);
    return exitCodes.ok;
  });
}

async function allTools(invocation: Invocation, { host, loaded }: Standalone): Promise<number> {
  const { shell } = invocation;
  const servers = Object.keys(loaded.config.mcpServers);
  using live = new LiveLine(shell.err, shell.clock);
  if (servers.length > 0) live.show(`asking ${servers.join(', ')}`);
  const found = await host.discover();
  live.clear();
  const errors = found.flatMap((entry) => ('error' in entry ? [entry.error] : []));
  const list = found.flatMap((entry): ListedTool[] => {
    if ('error' in entry) return [];
    const { server, tool, schema, ...rest } = entry;
    return [{ server, name: tool, ...rest, inputSchema: schema }];
  });
  printList(invocation, list, errors);
  const { disabledServers } = await import('../disabled-servers.ts');
  const disabled = disabledServers(loaded).filter(({ isSwitchedOff }) => !isSwitchedOff);
  if (!invocation.isJson) {
    for (const { name, cause } of disabled) remark(shell, `${name} is disabled: ${cause}`);
    if (servers.length + loaded.disabled.size === 0) {
      remark(shell, `there are no servers in ${loaded.file}; add one under "mcpServers"`);
    }
  }
  if (servers.length > errors.length) return exitCodes.ok;
  if (errors.length > 0) return exitCodes.unavailable;
  return disabled.length > 0 ? exitCodes.usage : exitCodes.ok;
}

function listed(definition: JsonObject): ListedTool {
  const { _mcp_server: server, name, ...rest } = definition;
  return { server: String(server), name: String(name), ...rest };
}

function printList(
  { shell, isJson }: Invocation,
  list: readonly ListedTool[],
  errors: readonly FaultRecord[],
): void {
  const { out } = shell;
  if (isJson) return out.json({ tools: list, errors });
  for (const line of toolLines(list, out.style, out.columns)) out.line(line);
  reportFaults(shell, errors);
}

async function oneTool(
  { shell, isJson }: Invocation,
  { host, loaded }: Standalone,
  { server, tool }: ToolAddress,
  definitions: readonly JsonObject[],
): Promise<number> {
  const [{ contractOf }, { unknownTool }] = await Promise.all([
    import('../../host/catalogue.ts'),
    import('../../host/call-faults.ts'),
  ]);
  const found = definitions.find(({ name }) => name === tool);
  const config = ownValue(loaded.config.mcpServers, server);
  if (found === undefined || config === undefined) throw unknownTool(host.find(server), tool);
  const { _mcp_server: _, ...definition } = found;
  const { readOnlyHint } = (definition['annotations'] ?? {}) as { readOnlyHint?: unknown };
  const contract = contractOf(config, tool, readOnlyHint === true);
  const { out } = shell;
  if (isJson) out.json({ server, tool: definition, replay: contract });
  else {
    const page = { server, definition, contract, isTrusted: config.trusted };
    for (const line of toolPage(page, out.style)) out.line(line);
  }
  return exitCodes.ok;
}
