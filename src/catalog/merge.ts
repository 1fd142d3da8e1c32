// Merges the lists of all servers into one, as bytes. The order is that of the configuration, and
// within a server its own, so the same servers always give the same list; it is returned in pages
// with cursors of our own. A definition is copied as its server wrote it, except for the name or
// URI that clients use. The list is fresh as long as all of its parts are, and private if one of
// them is or if the caller sees only a part of it. Which definitions a caller may see, and their
// names, are decided before (policy, naming, uri-owners).

import type { Era } from '../wire/eras.ts';
import type { ListName, OwnCursors, Position } from './cursors.ts';
import type { Definition } from './definitions.ts';
import { type UriEdit, uriEdits } from './uri-rewriting.ts';

/** The part of one server; empty while its list is not known. */
export interface ListPart {
  readonly server: string;
  readonly definitions: readonly Definition[];
  readonly ttlMs: number;
  readonly scope: 'public' | 'private';
}

export interface ListView {
  readonly list: ListName;
  /** Every server, in the order of the configuration. */
  readonly parts: readonly ListPart[];
  /** Whether the caller sees only a part of all definitions. */
  readonly isFiltered: boolean;
  /** The name, URI or template for clients; undefined omits the definition. */
  readonly expose: (server: string, key: string) => string | undefined;
  /** The same for a URI inside a definition (the page of a tool); undefined if none can differ. */
  readonly exposeUri?: ((server: string, uri: string) => string | undefined) | undefined;
  readonly cursors: OwnCursors;
  /** The size of one page; at least one, or no page would ever lead on. */
  readonly maxItems: number;
}

/** The result of a list request; undefined if the cursor was not issued by us. */
export function listResult(
  view: ListView,
  era: Era,
  cursor: string | undefined,
): Buffer | undefined {
  const start = cursor === undefined ? { part: 0, item: 0 } : startOf(view, cursor);
  if (start === undefined) return undefined;
  const page = pageFrom(view, start);
  const pieces: Piece[] = [era === 'modern' ? '{"resultType":"complete",' : '{'];
  pieces.push(`"${view.list}":[`);
  for (const [index, entry] of page.entries.entries()) {
    if (index > 0) pieces.push(',');
    write(pieces, view, entry);
  }
  pieces.push(']');
  if (page.next !== undefined) {
    pieces.push(`,"nextCursor":"${view.cursors.write(view.list, page.next)}"`);
  }
  if (era === 'modern') {
    const { ttlMs, scope } = freshnessOf(view.parts, view.isFiltered);
    pieces.push(`,"ttlMs":${ttlMs},"cacheScope":"${scope}"`);
  }
  pieces.push('}');
  return joined(pieces);
}

/** The shortest time of all parts, and private if one of them is. */
export function freshnessOf(
  parts: readonly ListPart[],
  isFiltered: boolean,
): { readonly ttlMs: number; readonly scope: 'public' | 'private' } {
  const isPrivate = isFiltered || parts.some(({ scope }) => scope === 'private');
  const shortest = parts.reduce((least, { ttlMs }) => Math.min(least, ttlMs), maxTtlMs);
  return {
    // An empty list says nothing about how long it is valid.
    ttlMs: parts.length === 0 || !(shortest > 0) ? 0 : Math.floor(shortest),
    scope: isPrivate ? 'private' : 'public',
  };
}

/** A part may be valid for ever; clients get a day at most. */
const maxTtlMs = 24 * 60 * 60 * 1_000;

interface Place {
  readonly part: number;
  readonly item: number;
}

/** The server of the cursor is no longer configured, so there is no position to continue at. */
function startOf({ list, parts, cursors }: ListView, cursor: string): Place | undefined {
  const position = cursors.read(list, cursor);
  if (position === undefined) return undefined;
  const part = parts.findIndex(({ server }) => server === position.server);
  const definitions = parts[part]?.definitions;
  if (definitions === undefined) return undefined;
  const last = definitions.findIndex(({ key }) => key === position.after);
  return { part, item: last < 0 ? position.index : last + 1 };
}

interface Entry {
  readonly server: string;
  readonly definition: Definition;
  readonly exposed: string;
}

interface Page {
  readonly entries: readonly Entry[];
  /** Where the next page begins, if there is one. */
  readonly next: Position | undefined;
}

/** A page is complete when one more definition than fits has been found. */
function pageFrom({ parts, expose, maxItems }: ListView, start: Place): Page {
  const entries: Entry[] = [];
  let last: Position | undefined;
  for (const [offset, { server, definitions }] of parts.slice(start.part).entries()) {
    for (let index = offset === 0 ? start.item : 0; index < definitions.length; index += 1) {
      const definition = definitions[index] as Definition;
      const exposed = expose(server, definition.key);
      if (exposed === undefined) continue;
      if (entries.length >= Math.max(1, maxItems)) return { entries, next: last };
      entries.push({ server, definition, exposed });
      last = { server, after: definition.key, index };
    }
  }
  return { entries, next: undefined };
}

/** Our own text, or a range of received bytes. */
type Piece = string | { readonly bytes: Buffer; readonly start: number; readonly end: number };

function write(pieces: Piece[], { exposeUri }: ListView, entry: Entry): void {
  const { definition, exposed, server } = entry;
  const { bytes, end } = definition;
  let from = definition.start;
  for (const edit of editsOf(definition, exposed, exposeUri && ((uri) => exposeUri(server, uri)))) {
    pieces.push({ bytes, start: from, end: edit.start }, edit.with);
    from = edit.end;
  }
  pieces.push({ bytes, start: from, end });
}

function editsOf(
  { bytes, start, end, key, keySpan }: Definition,
  exposed: string,
  exposeUri: ((uri: string) => string | undefined) | undefined,
): readonly UriEdit[] {
  const inner = exposeUri === undefined ? [] : uriEdits(bytes, { start, end }, exposeUri);
  const others = inner.filter((edit) => edit.start !== keySpan.start);
  // A key that is not replaced keeps its spelling.
  if (exposed === key) return others;
  const rename = { start: keySpan.start, end: keySpan.end, with: JSON.stringify(exposed) };
  return [...others, rename].sort((a, b) => a.start - b.start);
}

function joined(pieces: readonly Piece[]): Buffer {
  let length = 0;
  for (const piece of pieces) {
    length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.end - piece.start;
  }
  const out = Buffer.allocUnsafe(length);
  let at = 0;
  for (const piece of pieces) {
    at +=
      typeof piece === 'string'
        ? out.write(piece, at)
        : piece.bytes.copy(out, at, piece.start, piece.end);
  }
  return out;
}
