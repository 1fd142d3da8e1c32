// The gateway's own tools: its health and telemetry, and, where the surface is search, the three
// through which all others are reached. They are answered here and go to no server, except what
// call_tool calls, which is processed like every call, with the caller's own bytes.

import { loadSearch } from '../../catalog/lazy-search.ts';
import { readCallTool } from '../../host-tools/call-tool.ts';
import { callHostTool, hostToolDefinition, hostToolNames } from '../../host-tools/host-tools.ts';
import { describedTool, searchResult } from '../../host-tools/search-results.ts';
import {
  isSearchSurfaceTool,
  readDescribeTool,
  readSearchTools,
  type SearchSurfaceName,
  searchSurfaceDefinitions,
  searchSurfaceNames,
} from '../../host-tools/search-surface.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import type { Principal } from '../../policy/principal.ts';
import { valueOf as parsed } from '../../wire/decode.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import { splice } from '../../wire/splice.ts';
import type { Gateway, GatewaySettings } from '../gateway.ts';
import type { Incoming } from '../incoming.ts';
import { faultError } from '../refusals.ts';
import { noteUnknown } from '../unknown-request.ts';
import { hostToolSources, ownServer } from './host-tool-sources.ts';
import type { ToolRoute } from './name-table.ts';

const hostToolPrefix = `${ownServer}__`;
const hostTools = new Map(hostToolNames.map((name) => [`${hostToolPrefix}${name}`, name]));

/** Names that no server may have. */
export function ownToolNames({
  hostTools: hasHostTools,
  surface,
}: GatewaySettings): ReadonlySet<string> {
  return new Set([
    ...(hasHostTools ? hostTools.keys() : []),
    ...(surface === 'search' ? searchSurfaceNames : []),
  ]);
}

/** The definitions that are listed with those of the servers, or instead of them. */
export function ownDefinitions(
  settings: GatewaySettings,
  servers: readonly string[],
  mayList: (tool: string) => boolean,
): readonly string[] {
  if (settings.surface === 'search') return searchSurfaceDefinitions(servers, mayList);
  if (!settings.hostTools) return [];
  return [...hostTools]
    .filter(([, name]) => mayList(name))
    .map(([listedAs, name]) => hostToolDefinition(name, listedAs));
}

/** True if the name is one of ours: then it is answered here. */
export function callOwnTool(gateway: Gateway, incoming: Incoming, name: string): boolean {
  const { settings } = gateway;
  const hostTool = settings.hostTools ? hostTools.get(name) : undefined;
  const isOwn = hostTool || (settings.surface === 'search' && isSearchSurfaceTool(name));
  if (!isOwn || !mayCallOwn(gateway, incoming.principal, hostTool ?? name)) return false;
  if (hostTool) {
    gateway.ownAnswers.count(incoming, { kind: 'tool', name: hostTool }, () => {
      const sources = hostToolSources(gateway, incoming.principal);
      const outcome = callHostTool(hostTool, argumentsOf(incoming), sources);
      if (outcome.kind === 'invalid') refuse(incoming, outcome.message);
      else answer(incoming, outcome.result);
    });
    return true;
  }
  if (!isSearchSurfaceTool(name)) return false;
  if (name === 'call_tool') callNamed(gateway, incoming);
  else
    gateway.ownAnswers.count(incoming, { kind: 'tool', name }, () => look(gateway, incoming, name));
  return true;
}

/** Our own tools are authorized like all others, as those of the server `holdfast`. */
function mayCallOwn({ host }: Gateway, principal: Principal, name: string): boolean {
  const request = { action: 'call', server: ownServer, kind: 'tool', name } as const;
  return host.access.isAllowed(principal, { ...request, method: 'tools/call' });
}

function argumentsOf({ message }: Incoming): unknown {
  const span = message.paramsObject?.find('arguments');
  return span && parsed(message.bytes, span);
}

function refuse(incoming: Incoming, message: string): void {
  incoming.error({ code: rpcCodes.invalidParams, message });
}

/** A result of our own, in the form of the client's era. */
function answer(incoming: Incoming, result: string): void {
  if (!incoming.isModern) return incoming.result(result);
  const bytes = Buffer.from(result);
  const object = objectAt(bytes, { start: 0, end: bytes.length });
  incoming.result(
    object ? splice(bytes, memberEdits(object, { resultType: '"complete"' })) : bytes,
  );
}

// --- the search surface --------------------------------------------------------------------

async function look(
  gateway: Gateway,
  incoming: Incoming,
  name: Exclude<SearchSurfaceName, 'call_tool'>,
): Promise<void> {
  if (name === 'search_tools') return search(gateway, incoming);
  const question = readDescribeTool(argumentsOf(incoming));
  if (question.kind === 'invalid') return refuse(incoming, question.message);
  const asked = { action: 'list', method: 'tools/call' } as const;
  const { principal } = incoming;
  const { view } = gateway;
  const route = await view.of(principal).tools.find(question.name, incoming, asked);
  const definition = route && (await view.toolDefinition(route, incoming));
  // It may have been hidden, or its name given to another, while its server was asked.
  const { tools } = view.of(principal);
  const isStillMeant = isSameTool(tools.route(question.name, principal, asked), route);
  if (!route || !definition || !isStillMeant) {
    refuse(incoming, `Unknown tool: ${question.name}`);
    return noteUnknown(gateway, incoming, 'tool', question.name);
  }
  const exposed = tools.exposed(route) ?? question.name;
  answer(incoming, describedTool(definition.bytes, definition, exposed));
}

function isSameTool(one: ToolRoute | undefined, other: ToolRoute | undefined): boolean {
  return one?.server === other?.server && one?.name === other?.name;
}

async function search(gateway: Gateway, incoming: Incoming): Promise<void> {
  const question = readSearchTools(argumentsOf(incoming));
  if (question.kind === 'invalid') return refuse(incoming, question.message);
  const { view } = gateway;
  const { ToolSearch } = await loadSearch();
  // What is seen is decided when the servers were asked; nothing is waited for after that.
  const served = await view.searchable(incoming, question.server);
  const { tools } = view.of(incoming.principal);
  const outcome = new ToolSearch(served).search(question.query, question.limit);
  const nameOf = (hit: { server: string; tool: string }) =>
    tools.exposed({ server: hit.server, name: hit.tool }) ?? hit.tool;
  const unsearched = view.unlisted(incoming.principal);
  answer(incoming, searchResult(question, outcome, nameOf, unsearched));
}

function callNamed(gateway: Gateway, incoming: Incoming): void {
  const { bytes, paramsObject } = incoming.message;
  const span = paramsObject?.find('arguments');
  const question = readCallTool(bytes, span);
  if (question.kind === 'invalid') return refuse(incoming, question.message);
  const { name, arguments: inner } = question;
  if (isSearchSurfaceTool(name)) {
    return refuse(incoming, `call_tool cannot call ${name}; call ${name} itself`);
  }
  const args = inner ? bytes.subarray(inner.start, inner.end) : Buffer.from('{}');
  const { tools } = gateway.view.of(incoming.principal);
  const carry = (route: ToolRoute | undefined) => {
    const fault = route ? undefined : tools.unread(name, incoming);
    if (fault) return gateway.ownAnswers.failToolCall(incoming, fault);
    if (!route) {
      refuse(incoming, `Unknown tool: ${name}`);
      return noteUnknown(gateway, incoming, 'tool', name);
    }
    const changes = { ...route.changes, name: JSON.stringify(route.name), arguments: args };
    gateway.relay.carry(incoming, { ...route, calledAs: name, args, changes });
  };
  const caught = (error: unknown) => gateway.caught(error);
  const fail = (thrown: unknown) => {
    if (!(thrown instanceof Fault)) caught(thrown);
    incoming.error(faultError(faultFrom(thrown), incoming.principal));
  };
  tools.find(name, incoming).then(carry).catch(fail).catch(caught);
}
