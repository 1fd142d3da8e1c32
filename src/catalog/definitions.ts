// The definitions in a server's list (tools, prompts, resources, templates, skills) as received
// bytes. Clients get them byte for byte, with only the name or URI replaced, so for each definition
// its span, its key and the span of its key are stored. A definition that a strict client would
// reject, or that could be read in two ways, is ignored and reported, so that one bad definition
// does not cost a client the whole list. tool.ts decides what makes a tool invalid.

import { isRecord } from '../kernel/json-values.ts';
import { ownValue } from '../kernel/own-value.ts';
import { valueOf as parsed, textOf } from '../wire/decode.ts';
import { elementsAt, objectAt } from '../wire/parts.ts';
import type { Span } from '../wire/span.ts';
import { type RefusalReason, WireError } from '../wire/wire-error.ts';
import type { ListName } from './cursors.ts';
import { type LeftOut, readTools, type Tool } from './tool.ts';

/** Its span is that of the whole object in `bytes`, which it shares with its neighbours. */
export interface Definition extends Span {
  /** The name, URI or template, as the server names it. */
  readonly key: string;
  readonly bytes: Buffer;
  /** The span of the key in `bytes`, with its quotes. */
  readonly keySpan: Span;
  /** The parsed definition of a tool. */
  readonly tool: Tool | undefined;
}

export type DefinitionLeftOut =
  | LeftOut
  /** It could be read in two ways. */
  | { readonly kind: 'ambiguous'; readonly index: number; readonly reason: RefusalReason };

export interface DefinitionReading {
  readonly definitions: readonly Definition[];
  readonly leftOut: readonly DefinitionLeftOut[];
}

/** Which member identifies a definition of each list. */
export const keyMembers = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
  skills: 'uri',
} as const satisfies Record<ListName, string>;

/**
 * Reads the array of one page, of bytes that the scanner has accepted; stored bytes are copied.
 * Anything but an array has no definitions.
 */
export function readDefinitions(bytes: Buffer, array: Span, list: ListName): DefinitionReading {
  const kept = Buffer.allocUnsafeSlow(array.end - array.start);
  bytes.copy(kept, 0, array.start, array.end);
  const elements = elementsAt(kept, { start: 0, end: kept.length }) ?? [];
  return distinct(elements.map((element, index) => readDefinition(kept, element, list, index)));
}

/** The first with each key: for the definitions of several pages together. */
export function distinctDefinitions(definitions: readonly Definition[]): DefinitionReading {
  return distinct(definitions);
}

function distinct(readings: readonly (Definition | DefinitionLeftOut)[]): DefinitionReading {
  const definitions = new Map<string, Definition>();
  const leftOut: DefinitionLeftOut[] = [];
  for (const [index, reading] of readings.entries()) {
    if ('kind' in reading) leftOut.push(reading);
    else if (definitions.has(reading.key)) {
      leftOut.push({ kind: 'duplicate', index, name: reading.key });
    } else definitions.set(reading.key, reading);
  }
  return { definitions: [...definitions.values()], leftOut };
}

function readDefinition(
  bytes: Buffer,
  { start, end }: Span,
  list: ListName,
  index: number,
): Definition | DefinitionLeftOut {
  const keySpan = keyPlace(bytes, { start, end }, list);
  if (keySpan instanceof WireError) return { kind: 'ambiguous', index, reason: keySpan.reason };
  const value = parsed(bytes, { start, end });
  const judgement = list === 'tools' ? judgeTool(value, index) : judge(value, list, index);
  if (judgement !== undefined && 'kind' in judgement) return judgement;
  const key = keySpan && textOf(bytes, keySpan);
  if (!key) return { kind: 'no_name', index };
  return { start, end, key, bytes, keySpan, tool: judgement };
}

function keyPlace(bytes: Buffer, span: Span, list: ListName): Span | undefined | WireError {
  try {
    const place = objectAt(bytes, span)?.find(keyMembers[list]);
    return place && { start: place.start, end: place.end };
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

function judgeTool(value: unknown, index: number): Tool | LeftOut {
  const { tools, leftOut } = readTools([value]);
  const [tool] = tools;
  if (tool !== undefined) return tool;
  const [reason = { kind: 'not_an_object', index } as const] = leftOut;
  return { ...reason, index };
}

type JudgedHere = Exclude<ListName, 'tools'>;
type Judgement = (value: unknown) => boolean;

const isText: Judgement = (value) => typeof value === 'string';
const isOptionalText: Judgement = (value) => value === undefined || isText(value);
const isOptionalNumber: Judgement = (value) => value === undefined || typeof value === 'number';
const isOptionalObject: Judgement = (value) => value === undefined || isRecord(value);
const isOptionalArguments: Judgement = (value) =>
  value === undefined ||
  (Array.isArray(value) && value.every((one) => isRecord(one) && isText(one['name'])));

/**
 * With their digests and sizes, which the client checks; or marked as changing from call to call.
 */
const isFileList: Judgement = (value) =>
  value === 'dynamic' ||
  (Array.isArray(value) && value.every((one) => isRecord(one) && isText(one['uri'])));

const anything = { title: isOptionalText, description: isOptionalText, _meta: isOptionalObject };
const anyResource = {
  ...anything,
  name: isText,
  mimeType: isOptionalText,
  annotations: isOptionalObject,
};

/** What every client checks before it accepts a list. */
const judgements: Readonly<Record<JudgedHere, Readonly<Record<string, Judgement>>>> = {
  prompts: { ...anything, arguments: isOptionalArguments },
  resources: { ...anyResource, size: isOptionalNumber },
  resourceTemplates: anyResource,
  skills: { frontmatter: isRecord, resources: isFileList, _meta: isOptionalObject },
};

function judge(value: unknown, list: JudgedHere, index: number): LeftOut | undefined {
  if (!isRecord(value)) return { kind: 'not_an_object', index };
  const key = value[keyMembers[list]];
  if (typeof key !== 'string' || key === '') return { kind: 'no_name', index };
  for (const [member, isGood] of Object.entries(judgements[list])) {
    if (!isGood(ownValue(value, member))) return { kind: 'bad_member', index, name: key, member };
  }
  return undefined;
}

/** The same definitions, byte for byte, in the same order. */
export function isSameList(one: readonly Definition[], other: readonly Definition[]): boolean {
  return (
    one.length === other.length &&
    one.every((definition, place) => bytesOf(definition).equals(bytesOf(other[place])))
  );
}

function bytesOf(definition: Definition | undefined): Buffer {
  return definition?.bytes.subarray(definition.start, definition.end) ?? Buffer.alloc(0);
}
