// The gateway's answer to the handshake: capabilities, identity, and the instructions of its
// servers. The capabilities of the protocol's core are always declared, because a lazy host cannot
// know the capabilities of servers that have not been started; an empty list is a correct answer.
// So are the two extensions that we forward; others are declared if servers have them. Skills are
// declared if a server has them, and as long as there is a server of which that is not known.

import type { Caller } from '../host/connections/caller.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import { skillsCapability } from '../host/lists/skills.ts';
import type { Server } from '../host/servers/server.ts';
import { hasTaskCalls } from '../host/tasks/task-result.ts';
import { serverRequest } from '../policy/access.ts';
import type { Greeting } from '../upstream/connection.ts';
import type { Identity } from '../upstream/negotiate.ts';
import { envelopeKeys, extensionNames, modernVersion } from '../wire/eras.ts';

/** Instructions are prompt text: one server must not fill the whole context. */
const maxInstructionsPerServer = 4_000;
const maxInstructions = 32_000;

/** The members of an `initialize` result, but for the version. */
export function legacyGreeting(host: HostForGateway, identity: Identity, client: Caller): string {
  const greetings = greetingsTo(host, client);
  const members = {
    capabilities: {
      logging: {},
      ...capabilitiesOf(greetings, { [extensionNames.ui]: {} }),
      ...taskCapability(greetings),
    },
    serverInfo: identity,
    ...instructionsOf(greetings),
  };
  return JSON.stringify(members).slice(1, -1);
}

/** The result of `server/discover`. */
export function discovery(host: HostForGateway, identity: Identity, client: Caller): string {
  const greetings = greetingsTo(host, client);
  return JSON.stringify({
    resultType: 'complete',
    supportedVersions: [modernVersion],
    capabilities: { logging: {}, ...capabilitiesOf(greetings, carriedExtensions) },
    ...instructionsOf(greetings),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [envelopeKeys.serverInfo]: identity },
  });
}

const carriedExtensions = { [extensionNames.ui]: {}, [extensionNames.tasks]: {} };

/** Tasks of 2025-11-25: lists and cancelling are forwarded by us; there must be a tool to call. */
function taskCapability(greetings: readonly NamedGreeting[]): { readonly tasks?: object } {
  const isThere = greetings.some(({ greeting }) => hasTaskCalls(greeting));
  return isThere ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } } : {};
}

/**
 * The instructions and capabilities of servers for clients like this one, from this run or an
 * earlier one. Servers that this principal may not use are omitted, as in the lists.
 */
function greetingsTo(host: HostForGateway, client: Caller): readonly NamedGreeting[] {
  const usable = host
    .servers()
    .filter(({ name }) => host.access.isAllowed(client.principal, serverRequest('list', name)));
  return usable.map((server) => {
    const isWhole = seesAllTools(host, server, client);
    return { name: server.name, greeting: server.greetingFor(client), isWhole };
  });
}

/** Instructions speak of a server's tools: whoever may not use one of them must not learn of it there. */
function seesAllTools({ access }: HostForGateway, server: Server, { principal }: Caller): boolean {
  if (access.scopeOf(principal) === '') return true;
  const tools = server.offerings.definitions('tools');
  const request = { action: 'list', server: server.name, kind: 'tool', method: null } as const;
  const sees = ({ key }: { readonly key: string }) =>
    access.isAllowed(principal, { ...request, name: key });
  return tools?.every(sees) === true;
}

interface NamedGreeting {
  readonly name: string;
  readonly greeting: Greeting | undefined;
  /** Everything that its instructions can be about may be seen. */
  readonly isWhole: boolean;
}

function capabilitiesOf(
  greetings: readonly NamedGreeting[],
  always: object,
): Readonly<Record<string, unknown>> {
  const extensions = { ...always, ...union(greetings, 'extensions'), ...skillsOf(greetings) };
  const experimental = union(greetings, 'experimental');
  return {
    completions: {},
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    tools: { listChanged: true },
    extensions,
    ...(experimental ? { experimental } : {}),
  };
}

/** Folders can be read if one of the servers supports it; the address shows which server. */
function skillsOf(greetings: readonly NamedGreeting[]): object {
  const declared = greetings
    .map(({ greeting }) => greeting && skillsCapability(greeting.capabilities))
    .filter((capability) => capability !== undefined);
  const isUnknown = greetings.some(({ greeting }) => greeting === undefined);
  if (declared.length === 0 && !isUnknown) return {};
  const directoryRead = isUnknown || declared.some((one) => one['directoryRead'] === true);
  return {
    [extensionNames.skills]: { ...declared[0], ...(directoryRead ? { directoryRead } : {}) },
  };
}

/** What servers declare under this key; the earlier server takes precedence. */
function union(
  greetings: readonly NamedGreeting[],
  key: 'extensions' | 'experimental',
): object | undefined {
  const declared = greetings.map(({ greeting }) => greeting?.capabilities[key]);
  const objects = declared.filter((value) => typeof value === 'object' && value !== null);
  const merged = Object.fromEntries(objects.toReversed().flatMap((one) => Object.entries(one)));
  return Object.keys(merged).length > 0 ? merged : undefined;
}

function instructionsOf(greetings: readonly NamedGreeting[]): { readonly instructions?: string } {
  const said = greetings.flatMap(({ name, greeting, isWhole }) => {
    const text = isWhole ? greeting?.instructions?.trim() : undefined;
    return text ? [`## ${name}\n\n${text.slice(0, maxInstructionsPerServer)}`] : [];
  });
  const instructions = said.join('\n\n').slice(0, maxInstructions);
  return instructions === '' ? {} : { instructions };
}
