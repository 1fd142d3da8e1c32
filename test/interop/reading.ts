// Everything a client can learn of a server, or of the gateway, before it uses it: the instructions
// and the four lists, each item as it was written. The same steps for both, so that a difference in
// what comes back is a difference of the two.

import { type ClientKind, ErrorAnswer, identity, legacyVersion, type Peer } from './peers/peer.ts';
import { elementsOf, membersOf } from './raw-json.ts';

export const listKinds = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
export type ListKind = (typeof listKinds)[number];

export interface Reading {
  /** What the other side called itself, for the table. */
  readonly greeting: string;
  readonly instructions: string | undefined;
  readonly lists: Readonly<Record<ListKind, List>>;
}

/** A server may refuse one of its lists, for want of a database or of the network; the others count. */
export interface List {
  readonly items: readonly string[];
  readonly refusal?: string;
}

const unknownMethod = -32601;

const methods: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
};

export async function greet(peer: Peer, kind: ClientKind): Promise<string> {
  if (kind.era === 'modern') return await peer.ask('server/discover');
  const greeting = await peer.ask('initialize', {
    protocolVersion: legacyVersion,
    capabilities: kind.capabilities,
    clientInfo: identity,
  });
  await peer.notify('notifications/initialized');
  return greeting;
}

export async function read(peer: Peer, greeting: string): Promise<Reading> {
  const { instructions, capabilities = {} } = JSON.parse(greeting) as {
    instructions?: string;
    capabilities?: Readonly<Record<string, unknown>>;
  };
  const list = async (kind: ListKind, capability: string = kind): Promise<List> =>
    capabilities[capability] === undefined ? { items: [] } : await readList(peer, kind);
  const lists = {
    tools: await list('tools'),
    prompts: await list('prompts'),
    resources: await list('resources'),
    resourceTemplates: await list('resourceTemplates', 'resources'),
  };
  return { greeting, instructions, lists };
}

async function readList(peer: Peer, kind: ListKind): Promise<List> {
  const items: string[] = [];
  let cursor: string | undefined;
  try {
    do {
      const result = await peer.ask(methods[kind], cursor === undefined ? {} : { cursor });
      const members = membersOf(result);
      items.push(...elementsOf(members.get(kind) ?? '[]'));
      cursor = JSON.parse(members.get('nextCursor') ?? 'null') ?? undefined;
    } while (cursor !== undefined);
    return { items };
  } catch (error) {
    if (!(error instanceof ErrorAnswer)) throw error;
    // A server that declares resources need not know the method for templates.
    return error.code === unknownMethod ? { items } : { items: [], refusal: error.message };
  }
}
