// The name under which MCP clients see a tool (`server__tool`), written on a command line where SERVER/TOOL is
// meant. Which tool it is can be told: the name is made from server and tool, so it is made again from each
// tool of a server whose prefix fits, and compared.

import { prefixedName, prefixOf } from '../catalog/prefixed-name.ts';
import type { Host } from '../host/host.ts';
import { Fault } from '../kernel/fault.ts';
import { namesNoTool } from './tool-address.ts';

/** Throws if the word is such a name, or begins like one; `verb` is the command that it was given to. */
export async function refuseExposedName(host: Host, verb: string, word: string): Promise<void> {
  const servers = host.servers().map(({ name }) => name);
  if (servers.includes(word)) return;
  const candidates = servers.filter((name) => word.startsWith(prefixOf(name)));
  for (const server of candidates) {
    const tools = await host.tools(server, { kept: true }).catch(ifAsked);
    const found = tools.find(({ name }) => exposedAs(host, server, String(name)) === word);
    if (found !== undefined) throw exposedName(word, `${verb} ${server}/${found['name']}`);
  }
  const [likely] = candidates;
  if (likely !== undefined) throw namesNoTool(word, likely);
}

function exposedName(word: string, meant: string): Fault {
  const detail = `'${word}' is the name that MCP clients see; here write: holdfast ${meant}`;
  return new Fault('invalid_request', detail);
}

function exposedAs(host: Host, server: string, tool: string): string {
  return host.find(server).toolConfig(tool)?.as ?? prefixedName(server, tool);
}

/** A server that cannot be asked has no tool that we know of. */
function ifAsked(error: unknown): readonly never[] {
  if (error instanceof Fault) return [];
  throw error;
}
