// Decides which requests are equal. A key is a hash of the server, the shelf (a tool, or a method
// of the catalogue), the audience (the clients that the server treats alike) and the canonical text
// of the arguments; for private entries it also includes the id of the principal. The canonical
// text is computed by a function of `wire` that is passed in: keys sorted, number spellings kept.
// Arguments that it refuses (with duplicate keys, which two parsers may read differently) have no
// key, so they are never cached or shared.

import { hash } from 'node:crypto';

/**
 * A group of results of one kind. The prefix distinguishes a tool named `tools/list` from the
 * method of that name.
 */
export type Shelf = `tool:${string}` | `method:${string}`;

export interface CacheKey {
  readonly server: string;
  readonly shelf: Shelf;
  /** The id of a public entry. */
  readonly shared: string;
  /** The id of the entry that only this principal may see. Also the safe key for single flight. */
  readonly own: string;
}

/** Null when the text can be read in more than one way. */
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
  // Each name is preceded by its length, so that two different lists of names never give the same
  // text.
  const names = [server, shelf, audience].map((name) => `${name.length}:${name}`);
  const subject = `${names.join('')}${text}`;
  const shared = hash('sha256', subject);
  return { server, shelf, shared, own: `${shared}:${principalId}` };
}
