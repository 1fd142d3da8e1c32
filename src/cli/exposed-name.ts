// Recognises the name of a tool for MCP clients (`server__tool`) on a command line where
// SERVER/TOOL is expected. The name is computed from server and tool, so it is computed for each
// tool of a server whose prefix matches, and compared.

import type { ListedTools } from '../instance/operations.ts';
import { Fault } from '../kernel/fault.ts';
import { ownValue } from '../kernel/own-value.ts';
import { prefixedName, prefixOf } from '../kernel/prefixed-name.ts';
import { usableServers } from './running-servers.ts';
import type { Target } from './target.ts';
import { namesNoTool } from './tool-address.ts';

/** Throws if the word is such a name, or begins like one; `verb` is the command that it was given to. */
export async function refuseExposedName(
  { operations }: Target,
  verb: string,
  word: string,
): Promise<void> {
  const servers = await usableServers(operations);
  if (servers.includes(word)) return;
  const candidates = servers.filter((name) => word.startsWith(prefixOf(name)));
  for (const server of candidates) {
    const tools = await operations.tools(server, { kept: true }).catch(ifAsked);
    const found = tools?.definitions.find(({ name }) => exposedAs(tools, server, name) === word);
    if (found !== undefined) throw exposedName(word, `${verb} ${server}/${found.name}`);
  }
  const [likely] = candidates;
  if (likely !== undefined) throw namesNoTool(word, likely);
}

function exposedName(word: string, meant: string): Fault {
  const detail = `'${word}' is the name that MCP clients see; here write: holdfast ${meant}`;
  return new Fault('invalid_request', detail);
}

function exposedAs({ entry }: ListedTools, server: string, tool: string): string {
  return ownValue(entry?.tools ?? {}, tool)?.as ?? prefixedName(server, tool);
}

/** A server that fails has no known tools. */
function ifAsked(error: unknown): undefined {
  if (error instanceof Fault) return undefined;
  throw error;
}
