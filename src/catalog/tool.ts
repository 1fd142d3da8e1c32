// Tools as a server describes them, read from a parsed tools/list result. Nothing in it can be
// trusted: a definition that a strict client would reject is ignored and reported, so that one bad
// tool does not cost a client the whole list. The definition itself is stored unchanged; the values
// read from it are for our own decisions. Its digest is what a pin stores: it changes with
// everything that a model or a person is shown, but not with the order of keys. Names are only
// required to exist here (see naming).

import { hash } from 'node:crypto';
import { isRecord } from '../kernel/json-values.ts';
import { ownValue } from '../kernel/own-value.ts';

/** A JSON object, parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A hint counts only if it is a boolean; `"true"` and 1 are ignored. */
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

/** Why a listed tool was ignored; `index` is its position in the server's list. */
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

/** Deeper definitions are not read: real schemas are not that deep, and recursion must end. */
const maxDepth = 64;

/**
 * Reads the `tools` member of a result, or of several pages together; anything but a list is empty.
 */
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
  if (!isRecord(definition)) return { kind: 'not_an_object', index };
  const { name, title, description, inputSchema, annotations } = definition;
  if (typeof name !== 'string' || name === '') return { kind: 'no_name', index };
  if (isDeeperThan(definition, maxDepth)) return { kind: 'too_deep', index, name };
  const bad = (member: string): LeftOut => ({ kind: 'bad_member', index, name, member });
  if (!isRecord(inputSchema) || inputSchema['type'] !== 'object') return bad('inputSchema');
  if (!isOptionalString(title)) return bad('title');
  if (!isOptionalString(description)) return bad('description');
  if (annotations !== undefined && !isRecord(annotations)) return bad('annotations');
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

/** The members whose change must be noticed; other members may change freely. */
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
  if (isRecord(value)) {
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
