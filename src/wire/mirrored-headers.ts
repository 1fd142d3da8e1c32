// Modern HTTP repeats parts of the body in headers, so that proxies can route without reading it:
// the method, the name of what is called, and the arguments that a tool's schema marks with
// `x-mcp-header`. This file has what both sides need: how a value is written to a header and read
// from it, and what a schema marks.

import { isUtf8 } from 'node:buffer';
import { isRecord } from '../kernel/json-values.ts';

// --- values --------------------------------------------------------------------------------

const prefix = '=?base64?';
const suffix = '?=';
const canonical = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A header value: plain where that is unambiguous, otherwise `=?base64?…?=`. */
export function headerValue(text: string): string {
  const isPlain =
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?.*\?=$/.test(text);
  return isPlain ? text : `${prefix}${Buffer.from(text, 'utf8').toString('base64')}${suffix}`;
}

/**
 * Decodes a header value. A marker without its other half is plain text; undefined if it is marked
 * and not canonical base64 of UTF-8.
 */
export function mirroredValue(header: string): string | undefined {
  if (!header.startsWith(prefix) || !header.endsWith(suffix)) return header;
  const inside = header.slice(prefix.length, -suffix.length);
  if (!canonical.test(inside)) return undefined;
  const bytes = Buffer.from(inside, 'base64');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

// --- what a schema marks -------------------------------------------------------------------

/** One argument that is mirrored. */
export interface HeaderMark {
  readonly path: readonly string[];
  /** As the schema spells it. */
  readonly name: string;
}

/** What may be part of a header's name (RFC 9110, 5.6.2). */
const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const maxDepth = 16;
const nothing: readonly HeaderMark[] = [];
/** As long as the schema. */
const known = new WeakMap<object, readonly HeaderMark[]>();

/** What a schema marks, by the chain of `properties` that leads there. */
export function marksIn(schema: unknown): readonly HeaderMark[] {
  if (!isRecord(schema)) return nothing;
  let marks = known.get(schema);
  if (marks === undefined) {
    const found: HeaderMark[] = [];
    collect(schema, [], found);
    marks = found.length === 0 ? nothing : found;
    known.set(schema, marks);
  }
  return marks;
}

/** `path` is walked along; a mark keeps a copy of it. */
function collect(schema: unknown, path: string[], marks: HeaderMark[]): void {
  if (!isRecord(schema) || path.length > maxDepth) return;
  const name = schema['x-mcp-header'];
  if (typeof name === 'string' && headerToken.test(name) && path.length > 0) {
    marks.push({ path: [...path], name });
    return;
  }
  const { properties } = schema;
  if (!isRecord(properties)) return;
  for (const [key, property] of Object.entries(properties)) {
    path.push(key);
    collect(property, path, marks);
    path.pop();
  }
}

/**
 * Whether the schema has a mark that the specification forbids. A client over HTTP must omit such a
 * tool: its calls could not be sent as they are described.
 */
export function hasBrokenMarks(inputSchema: unknown): boolean {
  return !marksAreSound(inputSchema, new Set(), true, 0);
}

/** `isReachable`: only through `properties`, so that an argument can be found for it. */
function marksAreSound(
  schema: unknown,
  names: Set<string>,
  isReachable: boolean,
  depth: number,
): boolean {
  if (Array.isArray(schema)) {
    return schema.every((one) => marksAreSound(one, names, false, depth + 1));
  }
  if (!isRecord(schema) || depth > maxDepth) return true;
  const { properties, ...rest } = schema;
  if ('x-mcp-header' in schema && !isSoundMark(schema, names, isReachable && depth > 0))
    return false;
  const inner = isRecord(properties) ? Object.values(properties) : [];
  return (
    inner.every((one) => marksAreSound(one, names, isReachable, depth + 1)) &&
    Object.entries(rest).every(
      ([key, one]) => opaque.has(key) || marksAreSound(one, names, false, depth + 1),
    )
  );
}

/** Values of these are data, not schemas. */
const opaque: ReadonlySet<string> = new Set([
  'x-mcp-header',
  'const',
  'default',
  'enum',
  'examples',
]);

function isSoundMark(
  schema: Record<string, unknown>,
  names: Set<string>,
  isReachable: boolean,
): boolean {
  const name = schema['x-mcp-header'];
  if (!isReachable || typeof name !== 'string' || !headerToken.test(name)) return false;
  if (!mirrored.has(schema['type'])) return false;
  const isNew = !names.has(name.toLowerCase());
  names.add(name.toLowerCase());
  return isNew;
}

/** Types of arguments that a header can carry. */
const mirrored: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
