// Tools as a server describes them, read out of a parsed tools/list result. Nothing in it can be
// trusted, least of all to be well-formed: a definition that a strict client would choke on is left
// out and reported, so that one bad tool does not cost a client the whole list. The definition
// itself is kept as it came; what we read from it is for our own decisions. Its digest is what a
// pin remembers: any change of what a model or a person is told changes it, the order of keys does
// not. Names are not judged here beyond being there (see naming).

import { hash } from 'node:crypto';
import { ownValue } from '../kernel/own-value.ts';

/** A JSON object, parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A hint is there only if it is a real boolean; `"true"` and 1 claim nothing. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly annotations: ToolAnnotations;
  /** All of it, as the server sent it. */
  readonly definition: JsonObject;
}

/** Why a listed tool was left out; `index` is its place in the server's list. */
export type LeftOut =
  | { readonly kind: 'not_an_object'; readonly index: number }
  | { readonly kind: 'no_name'; readonly index: number }
  | {
      readonly kind: 'bad_member';
      readonly index: number;
      readonly name: string;
      readonly member: string;
    }
  | { readonly kind: 'too_deep'; readonly index: number; readonly name: string }
  | { readonly kind: 'duplicate'; readonly index: number; readonly name: string };

export interface ToolReading {
  readonly tools: readonly Tool[];
  readonly leftOut: readonly LeftOut[];
}

/** Deeper definitions are not read: no real schema is, and recursion must end. */
const maxDepth = 64;

/** Reads the `tools` member of a result, or of several pages together; anything but a list is none. */
export function readTools(listed: unknown): ToolReading {
  const tools = new Map<string, Tool>();
  const leftOut: LeftOut[] = [];
  for (const [index, definition] of (Array.isArray(listed) ? listed : []).entries()) {
    const reading = readTool(definition, index);
    if ('kind' in reading) leftOut.push(reading);
    else if (tools.has(reading.name))
      leftOut.push({ kind: 'duplicate', index, name: reading.name });
    else tools.set(reading.name, reading);
  }
  return { tools: [...tools.values()], leftOut };
}

function readTool(definition: unknown, index: number): Tool | LeftOut {
  if (!isObject(definition)) return { kind: 'not_an_object', index };
  const { name, title, description, inputSchema, annotations } = definition;
  if (typeof name !== 'string' || name === '') return { kind: 'no_name', index };
  if (isDeeperThan(definition, maxDepth)) return { kind: 'too_deep', index, name };
  const bad = (member: string): LeftOut => ({ kind: 'bad_member', index, name, member });
  if (!isObject(inputSchema) || inputSchema['type'] !== 'object') return bad('inputSchema');
  if (!isOptionalString(title)) return bad('title');
  if (!isOptionalString(description)) return bad('description');
  if (annotations !== undefined && !isObject(annotations)) return bad('annotations');
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema,
    annotations: annotations === undefined ? {} : readAnnotations(annotations),
    definition,
  };
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

function readAnnotations(annotations: JsonObject): ToolAnnotations {
  const real = hints.filter((hint) => typeof annotations[hint] === 'boolean');
  return Object.fromEntries(real.map((hint) => [hint, annotations[hint]]));
}

/** The members whose change must be noticed; the rest of a definition may come and go. */
const pinned = [
  'name',
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  '_meta',
  'icons',
] as const;

/** SHA-256 in hex. Of a tool that was read here, so that its depth is known to be bounded. */
export function definitionDigest({ definition }: Tool): string {
  const present = pinned.filter((member) => definition[member] !== undefined);
  const members = Object.fromEntries(present.map((member) => [member, definition[member]]));
  return hash('sha256', canonicalJson(members));
}

/** Parsed JSON as text, keys sorted at every depth, array order kept, no space. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isObject(value)) {
    const members = Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(ownValue(value, key))}`);
    return `{${members.join(',')}}`;
  }
  // 1e400 parses to Infinity, which JSON.stringify would make equal to null.
  if (typeof value === 'number' && !Number.isFinite(value)) return value < 0 ? '-1e999' : '1e999';
  return JSON.stringify(value);
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((member) => isDeeperThan(member, depth - 1));
}

function isOptionalString(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
