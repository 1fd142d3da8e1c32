// Modern HTTP mirrors parts of the body in headers, so that what stands between can route without
// reading it: the method, the name of what is called, and the arguments a tool's schema marks with
// `x-mcp-header`. A value that a header cannot carry as it is goes in base64 with a marker.

import { ownValue } from '../../kernel/own-value.ts';
import { isRecord } from '../classify.ts';

/** A header value: plain where that is unambiguous, otherwise `=?base64?…?=`. */
export function headerValue(text: string): string {
  const isPlain =
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}

/** The `Mcp-Param-*` headers for these arguments, as the tool's input schema asks for them. */
export function paramHeaders(
  inputSchema: unknown,
  args: unknown,
): Readonly<Record<string, string>> | undefined {
  const headers = new Map<string, string>();
  collect(inputSchema, args, headers, 0);
  return headers.size > 0 ? Object.fromEntries(headers) : undefined;
}

/** Does the schema mark anything at all? Most do not, and then the arguments are never parsed. */
export function hasParamHeaders(inputSchema: unknown, depth = 0): boolean {
  if (!isRecord(inputSchema) || depth > 16) return false;
  if (typeof inputSchema['x-mcp-header'] === 'string') return true;
  const { properties } = inputSchema;
  return (
    isRecord(properties) &&
    Object.values(properties).some((property) => hasParamHeaders(property, depth + 1))
  );
}

/**
 * Is a mark in the schema one that the specification forbids? A client over HTTP must leave such a
 * tool out: its calls could not be sent as they are described.
 */
export function hasBrokenParamHeaders(inputSchema: unknown): boolean {
  return !marksAreSound(inputSchema, new Set(), true, 0);
}

/** `isReachable`: through `properties` alone, so that an argument can be found for it. */
function marksAreSound(
  schema: unknown,
  names: Set<string>,
  isReachable: boolean,
  depth: number,
): boolean {
  if (Array.isArray(schema)) {
    return schema.every((one) => marksAreSound(one, names, false, depth + 1));
  }
  if (!isRecord(schema) || depth > 16) return true;
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

/** What may be part of a header's name (RFC 9110, 5.6.2). */
const headerToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function collect(
  schema: unknown,
  value: unknown,
  headers: Map<string, string>,
  depth: number,
): void {
  if (!isRecord(schema) || depth > 16 || value === undefined) return;
  const name = schema['x-mcp-header'];
  if (typeof name === 'string' && headerToken.test(name)) {
    const text = scalarText(value);
    if (text !== undefined) headers.set(`mcp-param-${name.toLowerCase()}`, headerValue(text));
    return;
  }
  if (!isRecord(schema['properties']) || !isRecord(value)) return;
  for (const [key, property] of Object.entries(schema['properties'])) {
    collect(property, ownValue(value, key), headers, depth + 1);
  }
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // An integer beyond 2^53 has lost its digits by now: a header that differs from the body is worse
  // than none.
  return typeof value === 'boolean' || Number.isSafeInteger(value) ? String(value) : undefined;
}
