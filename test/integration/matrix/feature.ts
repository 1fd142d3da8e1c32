// What a feature is: a sentence's verb, the kind of client it needs, and how to exercise it. A cell of
// the matrix is one feature between one client and one server.

import type { Era } from '../../../src/wire/eras.ts';
import type { Json, MatrixClient, RequestOptions } from './client.ts';
import type { Probe, ServerKind } from './fixture-server.ts';
import type { RawClient } from './raw-client.ts';

/** What a cell gives to the exercise. */
export interface Cell<Client> {
  readonly client: Client;
  readonly server: ServerKind;
  readonly probe: Probe;
  /** Belongs to this cell alone. */
  readonly tag: string;
  /** How a tool or prompt of the server is called here. */
  named(name: string): string;
}

export type Feature =
  | {
      /** The client of an SDK. */
      readonly needs: 'sdk';
      /** What the client does, or what happens to it: "lists every tool". */
      readonly name: string;
      /** Only a gateway can do this: nothing to see without one. */
      readonly isOurs?: true;
      readonly exercise: (cell: Cell<MatrixClient>) => Promise<void>;
    }
  | {
      /** A client that sees the bytes. */
      readonly needs: 'raw';
      readonly name: string;
      readonly isOurs?: true;
      readonly exercise: (cell: Cell<RawClient>) => Promise<void>;
    };

/** Calls a tool with the cell's tag. */
export function callTool(
  { client, named, tag }: Cell<MatrixClient>,
  name: string,
  args: Json = {},
  options: RequestOptions = {},
): Promise<Json> {
  return client.request('tools/call', { name: named(name), arguments: { tag, ...args } }, options);
}

/** All entries of a list, page by page. */
export async function listAll(
  client: MatrixClient,
  method: string,
  member: string,
): Promise<readonly Json[]> {
  const all: Json[] = [];
  let cursor: unknown;
  do {
    const page = await client.request(method, cursor === undefined ? {} : { cursor });
    all.push(...(page[member] as Json[]));
    cursor = page['nextCursor'];
  } while (cursor !== undefined);
  return all;
}

export interface ClientKind {
  /** As it stands at the beginning of a sentence. */
  readonly title: string;
  readonly era: Era;
  readonly transport: 'stdio' | 'http';
}
