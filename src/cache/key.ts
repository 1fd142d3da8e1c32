// What makes two requests the same request. A key is made from the server, the shelf (a tool, or
// a method of the catalogue), the audience (the clients that the server answers alike) and the
// canonical text of the arguments, hashed; entries that belong to one principal lie under the hash
// together with its id. Canonical text is the wire's art and
// comes in as a function: keys sorted, number spellings kept. Arguments it refuses (duplicate
// keys, which two readers may read differently) have no key, and so are never cached or shared.

import { hash } from 'node:crypto';

/**
 * Where results of one kind lie. The prefix keeps a tool that calls itself `tools/list` apart from
 * the method of that name.
 */
export type Shelf = `tool:${string}` | `method:${string}`;

export interface CacheKey {
  readonly server: string;
  readonly shelf: Shelf;
  /** The id of a public entry. */
  readonly shared: string;
  /** The id of the entry that only this principal may see. Also the safe key for one flight. */
  readonly own: string;
}

/** Null when the text has no single reading. */
export type Canonical = (json: Uint8Array) => string | null;

export function cacheKey(
  server: string,
  shelf: Shelf,
  principalId: string,
  json: Uint8Array,
  canonical: Canonical,
  audience = '',
): CacheKey | null {
  const text = canonical(json);
  if (text === null) return null;
  // Lengths in front of the names, so that no two sets of names run together into one text.
  const names = [server, shelf, audience].map((name) => `${name.length}:${name}`);
  const subject = `${names.join('')}${text}`;
  const shared = hash('sha256', subject);
  return { server, shelf, shared, own: `${shared}:${principalId}` };
}
