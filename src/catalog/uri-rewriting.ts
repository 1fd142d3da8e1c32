// Finds and replaces the URIs in the bytes of a result. They are the string values of a few keys,
// anywhere in the parts of MCP that can contain a resource (content, messages, `_meta`), but never
// in data of the tool itself: structured content, arguments and schemas are opaque, and a word
// inside a text is text. A key written with escapes is not touched, except for `\/`, which PHP
// writes by default. Nearly every result has no URI at all, which two native searches find out. The
// bytes must have been accepted by the scanner. Which server owns a URI, and its replacement, are
// arguments.

import { textOf } from '../wire/decode.ts';
import { defaultMaxDepth, skipColon, skipSpace, skipValue, unexpected } from '../wire/grammar.ts';
import { ObjectSpan, type Span, spells } from '../wire/span.ts';
import { type Edit, splice } from '../wire/splice.ts';
import { skipString } from '../wire/strings.ts';

/** The URIs in a result (or params, or an error's data), each once, in the order of the bytes. */
export function collectUris(bytes: Buffer, span: Span): string[] {
  const uris = new Set<string>();
  for (const place of uriPlaces(bytes, span)) {
    const uri = textOf(bytes, place);
    if (uri !== undefined) uris.add(uri);
  }
  return [...uris];
}

/** The bytes with those URIs replaced that have a replacement; the same buffer if there is none. */
export function rewriteUris(
  bytes: Buffer,
  span: Span,
  replace: (uri: string) => string | undefined,
): Buffer {
  const edits = uriEdits(bytes, span, replace);
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

export interface UriEdit extends Edit {
  readonly with: string;
}

/** The same as edits, for `splice` together with others. */
export function uriEdits(
  bytes: Buffer,
  span: Span,
  replace: (uri: string) => string | undefined,
): UriEdit[] {
  const edits: UriEdit[] = [];
  for (const { start, end } of uriPlaces(bytes, span)) {
    const uri = textOf(bytes, { start, end });
    const replacement = uri === undefined ? undefined : replace(uri);
    if (replacement === undefined || replacement === uri) continue;
    edits.push({ start, end, with: JSON.stringify(replacement) });
  }
  return edits;
}

/** Members of a result that can contain resources. Others are skipped. */
const carriers = [
  'content',
  'contents',
  'messages',
  '_meta',
  'result',
  'inputRequests',
  'tools',
  'prompts',
  'resources',
  'skills',
  'skill',
];

/** Members that are opaque everywhere: they belong to a tool, a model, a schema or a skill. */
const opaque = [
  'structuredContent',
  'arguments',
  'input',
  'inputSchema',
  'outputSchema',
  'requestedSchema',
  'frontmatter',
];

const uriKeys = ['uri', 'resourceUri', 'ui/resourceUri', 'ui\\/resourceUri'];

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const letterU = 0x75;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function uriPlaces(bytes: Buffer, span: Span): readonly Span[] {
  const places: Span[] = [];
  const walk = new Walk(bytes, places);
  if (span instanceof ObjectSpan) {
    // The scanner has found the members, so those that are not entered need not even be skipped.
    for (const member of span.members()) {
      if (isOneOf(carriers, bytes, member.keyStart, member.keyEnd)) {
        if (mayHoldUri(bytes, member)) walk.value(member.start);
      } else if (isUri(bytes, member.keyStart, member.keyEnd, member.start)) places.push(member);
    }
  } else if (mayHoldUri(bytes, span)) {
    if (bytes[span.start] === openBrace) walk.object(span.start, true);
    else walk.value(span.start);
  }
  return places;
}

/** Whether one of the keys occurs in it. A search is faster the rarer its first byte is. */
function mayHoldUri(bytes: Buffer, span: Span): boolean {
  const text = bytes.subarray(span.start, span.end);
  if (text.includes(longKeys)) return true;
  if (quotesAreRare(text)) return text.includes(shortKey);
  let at = text.indexOf(shortKeyEnd);
  while (at >= 0 && text[at - 1] !== quote) at = text.indexOf(shortKeyEnd, at + 1);
  return at >= 0;
}

const longKeys = Buffer.from('Uri"');
const shortKey = Buffer.from('"uri"');
const shortKeyEnd = Buffer.from('uri"');

/** Below this a sample costs more than it saves. */
const longText = 4_096;
const sampleBytes = 256;

/**
 * Whether quotes are rarer than the letter u, judged by a sample: prose is searched by its quotes,
 * JSON is not.
 */
function quotesAreRare(text: Buffer): boolean {
  if (text.length < longText) return true;
  const middle = text.length >>> 1;
  let balance = 0;
  for (let at = middle; at < middle + sampleBytes; at += 1) {
    if (text[at] === quote) balance += 1;
    else if (text[at] === letterU) balance -= 1;
  }
  return balance <= 0;
}

/** The scanner has bounded the depth, so recursion is safe. */
class Walk {
  readonly #bytes: Buffer;
  readonly #places: Span[];

  constructor(bytes: Buffer, places: Span[]) {
    this.#bytes = bytes;
    this.#places = places;
  }

  /**
   * Each of these takes the offset of a value's first byte and returns the offset after its last.
   */
  value(start: number): number {
    const first = this.#bytes[start];
    if (first === openBrace) return this.object(start, false);
    return first === openBracket ? this.#array(start) : this.#skip(start);
  }

  /** Of a result only the carrier members are entered, below that all but opaque ones. */
  object(start: number, isResult: boolean): number {
    const bytes = this.#bytes;
    let at = skipSpace(bytes, start + 1);
    while (bytes[at] === quote) {
      const key = at + 1;
      const keyEnd = skipString(bytes, key) - 1;
      const value = skipColon(bytes, keyEnd + 1);
      const first = bytes[value];
      if (first === quote) {
        at = skipString(bytes, value + 1);
        if (isUri(bytes, key, keyEnd, value)) this.#places.push({ start: value, end: at });
      } else if (first === openBrace || first === openBracket) {
        const isEntered = isResult
          ? isOneOf(carriers, bytes, key, keyEnd)
          : !isOneOf(opaque, bytes, key, keyEnd);
        at = isEntered ? this.value(value) : this.#skip(value);
      } else {
        at = this.#skip(value);
      }
      at = this.#next(at, closeBrace);
    }
    return at + 1;
  }

  #array(start: number): number {
    const bytes = this.#bytes;
    let at = skipSpace(bytes, start + 1);
    while (bytes[at] !== closeBracket) at = this.#next(this.value(at), closeBracket);
    return at + 1;
  }

  /** After a value: the beginning of the next, or the closing bracket. */
  #next(end: number, closing: number): number {
    const bytes = this.#bytes;
    const at = skipSpace(bytes, end);
    if (bytes[at] === comma) return skipSpace(bytes, at + 1);
    if (bytes[at] !== closing) throw unexpected(bytes, at);
    return at;
  }

  #skip(start: number): number {
    return skipValue(this.#bytes, start, 0, defaultMaxDepth);
  }
}

/** A URI is a string under one of the keys. */
function isUri(bytes: Buffer, key: number, keyEnd: number, value: number): boolean {
  return bytes[value] === quote && isOneOf(uriKeys, bytes, key, keyEnd);
}

function isOneOf(words: readonly string[], bytes: Buffer, start: number, end: number): boolean {
  for (const word of words) if (spells(bytes, start, end, word)) return true;
  return false;
}
