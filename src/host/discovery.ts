// Discovery over all servers: asked in parallel, each under a lease and through the gate, each with
// its own deadline; or, without starting servers, from stored lists. A server that fails is an
// entry in the list; discovery itself never fails. What a principal may not call is not in the
// result at all.

import { loadSearch } from '../catalog/lazy-search.ts';
import type { SearchOutcome, ServedTool } from '../catalog/search.ts';
import type { JsonObject, Tool } from '../catalog/tool.ts';
import { durationFrom } from '../kernel/duration.ts';
import { type FaultRecord, faultFrom } from '../kernel/fault.ts';
import { type AccessRequest, serverRequest } from '../policy/access.ts';
import { disclosedFault, disclosedRecord } from '../policy/disclosure.ts';
import { givenPrincipal } from '../policy/given-principal.ts';
import type { Principal } from '../policy/principal.ts';
import type { CallParts } from './call/call-parts.ts';
import { bareClass } from './connections/client-class.ts';
import { freshen } from './lists/list-reading.ts';
import type { Server } from './servers/server.ts';

/** A tool, or a server whose tools could not be listed; the second has `error`. */
export type Discovered =
  | {
      /** The server that has it. */
      readonly server: string;
      /** Its name there. */
      readonly tool: string;
      /** Its name for people; absent: the server gives none. */
      readonly title?: string;
      /** What it does; absent: the server does not say. */
      readonly description?: string;
      /** The JSON Schema of its arguments. */
      readonly schema: JsonObject;
      /** There if the list was not read now, but by an earlier process. */
      readonly kept?: KeptMark;
    }
  | {
      /** The server whose tools could not be listed. */
      readonly server: string;
      /** Why. */
      readonly error: FaultRecord;
    };

/** A tool's definition as its server gave it, with the name of the server; other members are kept, too. */
export interface ToolDefinition {
  /** The server that has the tool. */
  readonly _mcp_server: string;
  /** Its name at that server. */
  readonly name: string;
  /** Its name for people; absent: the server gives none. */
  readonly title?: string;
  /** What it does; absent: the server does not say. */
  readonly description?: string;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of `structuredContent`; absent: the server gives none. */
  readonly outputSchema?: unknown;
  /** What the server claims about it, such as `readOnlyHint`; not checked. Absent: nothing. */
  readonly annotations?: JsonObject;
}

/** Marks a list that was read by an earlier process. */
export interface KeptMark {
  /** When it was read, in milliseconds since 1970; null: not known. */
  readonly listedAt: number | null;
}

interface ListingOptions {
  /** Uses stored lists where they exist, and starts only the other servers. */
  readonly kept?: boolean | undefined;
  /** How long one server may take; those that take longer are reported as an error. */
  readonly deadlineMs?: number | undefined;
}

const defaultDeadlineMs = 10_000;

/** The definitions of one server's tools, each with the name of its server. Throws a Fault. */
export async function toolDefinitions(
  parts: CallParts,
  name: string,
  options: { readonly principal?: Principal | undefined; readonly kept?: boolean | undefined },
): Promise<readonly ToolDefinition[]> {
  const { kept = false } = options;
  const principal = givenPrincipal(options.principal);
  parts.access.authorize(principal, serverRequest('list', name));
  const server = parts.find(name, principal);
  const reading = kept
    ? keptTools(parts, server, principal).then((read) => read.tools)
    : toolsOf(parts, server, principal);
  const tools = await reading.catch((thrown) => {
    throw disclosedFault(faultFrom(thrown), principal);
  });
  // Reading the list has checked the members that the type names.
  return tools.map(({ definition }) => ({ _mcp_server: name, ...definition }) as ToolDefinition);
}

/** The tools of one server that this principal may call, fresh enough to act on. */
async function toolsOf(
  parts: CallParts,
  server: Server,
  principal: Principal,
  deadlineMs?: number,
): Promise<readonly Tool[]> {
  if (!server.catalogue.isFresh || server.isCutOff)
    await freshen(parts, server, 'tools', { deadlineMs, asksAgain: true });
  const offered = [...(server.catalogue.offered?.values() ?? [])];
  return offered
    .map(({ tool }) => tool)
    .filter((tool) => parts.access.isAllowed(principal, listed(server, tool.name)));
}

export async function discoverAll(
  parts: CallParts,
  servers: readonly Server[],
  principal: Principal,
  options: ListingOptions,
): Promise<readonly Discovered[]> {
  const { deadlineMs } = options;
  if (deadlineMs !== undefined) durationFrom(deadlineMs, 'deadlineMs');
  const found = await eachVisible(parts, servers, principal, async (server) => {
    try {
      const { tools, kept } = await listedTools(parts, server, principal, options);
      return tools.map((tool) => discovered(server.name, tool, kept));
    } catch (thrown) {
      return [{ server: server.name, error: disclosedRecord(faultFrom(thrown).record, principal) }];
    }
  });
  return found.flat();
}

/** What a search over all servers found. */
export interface Searched {
  /** The tools that fit, or why there are none. */
  readonly outcome: SearchOutcome;
  /** Why tools of some servers could not be searched; one for each such server. */
  readonly errors: readonly FaultRecord[];
  /** The servers whose tools were not read now, but are kept from an earlier time. */
  readonly kept: ReadonlyMap<string, KeptMark>;
}

export async function searchAll(
  parts: CallParts,
  servers: readonly Server[],
  principal: Principal,
  words: string,
  options: { readonly limit?: number | undefined; readonly kept?: boolean | undefined },
): Promise<Searched> {
  const errors: FaultRecord[] = [];
  const marks = new Map<string, KeptMark>();
  const served = await eachVisible(parts, servers, principal, async (server) => {
    try {
      const { tools, kept } = await listedTools(parts, server, principal, { kept: options.kept });
      if (kept) marks.set(server.name, kept);
      return tools.map((tool): ServedTool => ({ server: server.name, tool }));
    } catch (thrown) {
      errors.push(disclosedRecord(faultFrom(thrown).record, principal));
      return [];
    }
  });
  const { ToolSearch } = await loadSearch();
  const outcome = new ToolSearch(served.flat()).search(words, options.limit);
  return { outcome, errors, kept: marks };
}

/** All at once: those that have to be started take turns by themselves. */
function eachVisible<R>(
  { access }: CallParts,
  servers: readonly Server[],
  principal: Principal,
  map: (server: Server) => Promise<R>,
): Promise<readonly R[]> {
  const visible = servers.filter(({ name }) =>
    access.isAllowed(principal, serverRequest('list', name)),
  );
  return Promise.all(visible.map(map));
}

interface ListedTools {
  readonly tools: readonly Tool[];
  readonly kept: KeptMark | undefined;
}

async function listedTools(
  parts: CallParts,
  server: Server,
  principal: Principal,
  { kept, deadlineMs }: ListingOptions,
): Promise<ListedTools> {
  if (kept) return await keptTools(parts, server, principal);
  using _place = await parts.places.enter(server);
  const tools = await toolsOf(parts, server, principal, deadlineMs ?? defaultDeadlineMs);
  return { tools, kept: undefined };
}

/**
 * The tools from stored lists, without starting anything. A server without a stored list is asked,
 * and may take as long as its start may.
 */
async function keptTools(
  parts: CallParts,
  server: Server,
  principal: Principal,
): Promise<ListedTools> {
  await Promise.allSettled([server.recall(), server.history.recall()]);
  const { catalogue } = server;
  const known = catalogue.isFresh ? undefined : catalogue.definitions('tools');
  if (known === undefined) {
    using _place = await parts.places.enter(server);
    return { tools: await toolsOf(parts, server, principal), kept: undefined };
  }
  const tools = known.flatMap(({ key }) => catalogue.lastKnown(key) ?? []);
  const allowed = tools.filter((tool) =>
    parts.access.isAllowed(principal, listed(server, tool.name)),
  );
  return { tools: allowed, kept: keptMarkOf(server) };
}

/** The names of the server's tools as far as they are known; undefined if they are not. Starts nothing. */
export async function knownToolNames(server: Server): Promise<readonly string[] | undefined> {
  await Promise.allSettled([server.recall(), server.history.recall()]);
  return server.catalogue.definitions('tools')?.map(({ key }) => key);
}

export function keptMarkOf({ history }: Server): KeptMark {
  return { listedAt: history.facts.listedAt ?? null };
}

/**
 * The capabilities of the clients that this tool of a stored list was listed to, where it is not
 * known that a caller without any, such as a command, is offered it too.
 */
export function capabilitiesBehind({ offerings, slots }: Server, tool: string): readonly string[] {
  const { aim } = offerings.shownTo(slots.aimOn(slots.current, undefined));
  const bare = { era: aim.era, clients: bareClass };
  const isKnown = !offerings.isBorrowed(bare);
  if (isKnown && offerings.shownTo(bare).catalogue.lastKnown(tool)) return [];
  const names = [...aim.clients.features].map((feature) => feature.replace(/[. ].*/s, ''));
  return [...new Set(names)];
}

function discovered(server: string, tool: Tool, kept: KeptMark | undefined): Discovered {
  return {
    server,
    tool: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    ...(tool.description === undefined ? {} : { description: tool.description }),
    schema: tool.inputSchema,
    ...(kept ? { kept } : {}),
  };
}

function listed({ name: server }: Server, name: string): AccessRequest {
  return { action: 'list', server, kind: 'tool', name, method: null };
}
