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
    keys: ({ offerings }, kind) => offerings.definitions(kind)?.map(({ key }) => key),
  };
}

export function sightOf(host: HostForGateway, principal: Principal): Sight {
  const whole = wholeSight(host);
  const { access } = host;
  // A guard may hide something from lists and still allow its use.
  const isSeen = (server: string, kind: ListKind, name: string) =>
    access.isAllowed(principal, listed(server, kind, name)) ||
    access.isAllowed(principal, { ...listed(server, kind, name), ...uses[kind] });
  const keys = (server: Server, kind: ListKind) =>
    whole.keys(server, kind)?.filter((key) => isSeen(server.name, kind, key));
  const hasSeen = (server: Server) =>
    listKinds.some((kind) => (keys(server, kind)?.length ?? 0) > 0);
  return {
    servers: () =>
      host
        .servers()
        .filter(
          (server) =>
            access.isAllowed(principal, serverRequest('list', server.name)) || hasSeen(server),
        ),
    keys,
  };
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
