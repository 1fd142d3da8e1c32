// The tools, prompts, resources, templates and skills of all servers, as far as their lists are known: from
// stored catalogues, or read in this process. Nothing is started.

import type { Config } from '../config/schema.ts';
import { ownServer } from '../downstream/view/host-tool-sources.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import { type ListKind, listKinds } from '../host/lists/listings.ts';
import { hostToolNames } from '../host-tools/host-tools.ts';
import type { AccessRequest } from '../policy/access.ts';
import type { PatternKind } from '../policy/roles/pattern.ts';
import { searchToolNames } from '../policy/roles/search-tools.ts';

export interface KnownThing {
  readonly server: string;
  readonly list: ListKind;
  /** The name, URI or template. */
  readonly name: string;
}

export interface UnknownLists {
  readonly server: string;
  /** Those that it may have. */
  readonly lists: readonly ListKind[];
}

export interface KnownThings {
  readonly things: readonly KnownThing[];
  readonly unknown: readonly UnknownLists[];
}

/** What a role decides on by name. */
const kinds: Readonly<Record<ListKind, PatternKind>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'resource',
  skills: 'resource',
};

export function kindOf({ list }: Pick<KnownThing, 'list'>): PatternKind {
  return kinds[list];
}

/** Whether a role allows a thing is asked as for its use. */
export function useOf(thing: KnownThing): AccessRequest {
  const { server, name } = thing;
  return { action: 'list', server, kind: kindOf(thing), name, method: null };
}

/** The gateway's own tools, which roles decide about as about those of a server. */
export function ownThings({
  hostTools,
  surface,
}: Pick<Config, 'hostTools' | 'surface'>): readonly KnownThing[] {
  const names = [
    ...(hostTools ? hostToolNames : []),
    ...(surface === 'search' ? searchToolNames : []),
  ];
  return names.map((name) => ({ server: ownServer, list: 'tools', name }));
}

export async function knownThings(host: HostForGateway): Promise<KnownThings> {
  const servers = host.servers();
  // A record that cannot be read counts as missing; the store has reported it.
  await Promise.allSettled(servers.map((server) => server.recall()));
  const things = servers.flatMap(({ name: server, offerings }) =>
    listKinds.flatMap((list) =>
      (offerings.definitions(list) ?? []).map(({ key }) => ({ server, list, name: key })),
    ),
  );
  const unknown = servers.map(({ name: server, offerings }) => ({
    server,
    lists: listKinds.filter(
      (list) => offerings.definitions(list) === undefined && offerings.mayHave(list),
    ),
  }));
  return { things, unknown: unknown.filter(({ lists }) => lists.length > 0) };
}

/** What either knows. */
export function together(one: KnownThings, other: KnownThings): KnownThings {
  const isUnknown = (known: KnownThings, server: string, list: ListKind) =>
    known.unknown.some((lists) => lists.server === server && lists.lists.includes(list));
  const unknown = one.unknown.map(({ server, lists }) => ({
    server,
    lists: lists.filter((list) => isUnknown(other, server, list)),
  }));
  return {
    things: [...one.things, ...other.things],
    unknown: unknown.filter(({ lists }) => lists.length > 0),
  };
}
