// What names and addresses are computed over: the servers that a principal may see, and what it may see in
// their lists. All principals of one scope (`Access.scopeOf`) have the same sight, so any of them stands for
// all. Something that is not seen has no influence: a hidden server's tool takes no name from another.

import type { HostForGateway } from '../../host/gateway-face.ts';
import { type ListKind, listWords } from '../../host/lists/listings.ts';
import type { Server } from '../../host/servers/server.ts';
import { type AccessRequest, type Action, serverRequest } from '../../policy/access.ts';
import type { Principal } from '../../policy/principal.ts';

export interface Sight {
  /** In the order of the config. */
  servers(): readonly Server[];
  /** The names or addresses in a list of this server; undefined if it has not listed. */
  keys(server: Server, kind: ListKind): readonly string[] | undefined;
}

/** Everything. */
export function wholeSight(host: HostForGateway): Sight {
  return {
    servers: () => host.servers(),
    keys: keysOf,
  };
}

export function sightOf(host: HostForGateway, principal: Principal): Sight {
  return {
    servers: () => host.servers().filter((server) => isServerSeen(host, principal, server)),
    keys: (server, kind) => seenKeys(host, principal, server, kind),
  };
}

/** Whether it may see the server, or anything in its lists. */
export function seesServer(host: HostForGateway, principal: Principal, name: string): boolean {
  const server = host.known(name);
  return server
    ? isServerSeen(host, principal, server)
    : host.access.isAllowed(principal, serverRequest('list', name));
}

function isServerSeen(host: HostForGateway, principal: Principal, server: Server): boolean {
  return (
    host.access.isAllowed(principal, serverRequest('list', server.name)) ||
    listKinds.some((kind) => (seenKeys(host, principal, server, kind)?.length ?? 0) > 0)
  );
}

function seenKeys(
  host: HostForGateway,
  principal: Principal,
  server: Server,
  kind: ListKind,
): readonly string[] | undefined {
  const { access } = host;
  // A guard may hide something from lists and still allow its use.
  const isSeen = (name: string) =>
    access.isAllowed(principal, listed(server.name, kind, name)) ||
    access.isAllowed(principal, { ...listed(server.name, kind, name), ...uses[kind] });
  return keysOf(server, kind)?.filter(isSeen);
}

function keysOf({ offerings }: Server, kind: ListKind): readonly string[] | undefined {
  return offerings.definitions(kind)?.map(({ key }) => key);
}

/** What a guard or role decides on by name. */
export const namedKinds: Readonly<Record<ListKind, 'tool' | 'prompt' | 'resource'>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'resource',
  skills: 'resource',
};

const listKinds = Object.keys(namedKinds) as readonly ListKind[];

const uses: Readonly<Record<ListKind, { readonly action: Action; readonly method: string }>> = {
  tools: { action: 'call', method: 'tools/call' },
  prompts: { action: 'get', method: 'prompts/get' },
  resources: { action: 'read', method: 'resources/read' },
  resourceTemplates: { action: 'read', method: 'resources/read' },
  skills: { action: 'read', method: 'skills/get' },
};

function listed(server: string, kind: ListKind, name: string): AccessRequest {
  const { method } = listWords[kind];
  return { action: 'list', server, kind: namedKinds[kind], name, method };
}
