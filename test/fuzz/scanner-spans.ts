// Everything that was found in a message, held against the oracle's tree: each member by its key, at
// its exact place, with the very bytes of its value; ids in their type and spelling; values as
// JSON.parse reads them; and what is found when a value is looked into further.

import { isDeepStrictEqual } from 'node:util';
import {
  booleanOf,
  idOf,
  isNull,
  numberOf,
  valueOf as parsedAt,
  textOf,
} from '../../src/wire/decode.ts';
import { type EnvelopeKey, knownKeys } from '../../src/wire/envelope-keys.ts';
import { elementsAt, objectAt } from '../../src/wire/parts.ts';
import type { Message } from '../../src/wire/scan.ts';
import { memberKey, type ObjectSpan, type Span } from '../../src/wire/span.ts';
import { WireError } from '../../src/wire/wire-error.ts';
import { agree, shortly } from './disagreement.ts';
import { ambiguitiesOf, isId, maxElements } from './listed-refusals.ts';
import type { Tally } from './tally.ts';
import type { TokenMember, TokenNode } from './token-tree.ts';

/** From places in the text to places in the bytes. */
export class Places {
  readonly bytes: Buffer;
  readonly #text: string;
  readonly #isAscii: boolean;

  constructor(bytes: Buffer, text: string) {
    this.bytes = bytes;
    this.#text = text;
    this.#isAscii = bytes.length === text.length;
  }

  spanOf({ start, end, source }: TokenNode): Span {
    if (this.#isAscii) return { start, end };
    const from = Buffer.byteLength(this.#text.slice(0, start));
    return { start: from, end: from + Buffer.byteLength(source) };
  }

  /** The span must be exactly where the oracle's token stands. */
  check(what: string, span: Span | undefined, node: TokenNode | undefined): void {
    if (span === undefined || node === undefined) {
      agree(
        span === undefined && node === undefined,
        () =>
          `${what} is ${span ? 'found' : 'not found'} although it is ${node ? '' : 'not '}there`,
      );
      return;
    }
    const { start, end } = this.spanOf(node);
    agree(
      span.start === start && span.end === end,
      () =>
        `${what} is said to stand at ${span.start}..${span.end}, and stands at ${start}..${end}`,
    );
  }
}

export function checkMessageSpans(
  message: Message,
  root: TokenNode,
  value: unknown,
  places: Places,
): void {
  const parts = new Map(root.members.map((member) => [member.key, member.value]));
  const whole = value as Record<string, unknown>;
  const has = (key: string) => parts.has(key);
  const kind = has('method')
    ? has('id')
      ? 'request'
      : 'notification'
    : has('error')
      ? 'error'
      : 'result';
  agree(message.kind === kind, () => `a ${kind} is taken for a ${message.kind}`);
  agree(
    message.id === whole['id'],
    () => `the id ${shortly(parts.get('id')?.source)} is read as ${shortly(message.id)}`,
  );
  agree(
    message.method === whole['method'],
    () => `the method is read as ${shortly(message.method)}`,
  );
  places.check('the id', message.idSpan, parts.get('id'));
  for (const name of ['params', 'result', 'error'] as const) {
    const node = parts.get(name);
    places.check(name, message[name], node);
    const object = message[`${name}Object`];
    agree(
      (object !== undefined) === (node?.kind === 'object'),
      () => `${name} is an object, or is not`,
    );
    agree(object === undefined || message[name] === object, () => `${name} is two spans`);
    if (object === undefined || node === undefined) continue;
    checkObject(name, object, node, whole[name], places);
  }
  const carrier = parts.get(has('method') ? 'params' : 'result');
  const meta = memberOf(carrier, '_meta');
  const isObject = meta?.kind === 'object';
  places.check('_meta', message.meta, isObject ? meta : undefined);
  if (message.meta && meta) checkMembers('_meta', message.meta, meta, places);
}

function memberOf(node: TokenNode | undefined, key: string): TokenNode | undefined {
  return node?.members.find((member) => member.key === key)?.value;
}

/** An object that was read: each known key is found or not, and means what JSON.parse says. */
function checkObject(
  what: string,
  object: ObjectSpan,
  node: TokenNode,
  value: unknown,
  places: Places,
): void {
  checkMembers(what, object, node, places);
  const values = value as Record<string, unknown>;
  for (const { key, value: own } of node.members) {
    const span = places.spanOf(own);
    const read = parsedAt(places.bytes, span);
    agree(isDeepStrictEqual(read, values[key]), () => `${what}.${key} is read as ${shortly(read)}`);
    checkScalar(`${what}.${key}`, span, own, values[key], places.bytes);
  }
}

function checkMembers(what: string, object: ObjectSpan, node: TokenNode, places: Places): void {
  places.check(what, object, node);
  const members = object.members();
  agree(
    members.length === node.members.length,
    () => `${what} has ${node.members.length} members, not ${members.length}`,
  );
  const names = object.keys();
  const byKey = new Map<string, TokenNode>();
  for (const [at, member] of members.entries()) {
    const own = node.members[at] as TokenMember;
    agree(
      names[at] === own.key,
      () => `${what} has the key ${shortly(own.key)}, not ${shortly(names[at])}`,
    );
    agree(
      memberKey(places.bytes, member) === own.key,
      () => `${what}: memberKey differs from keys()`,
    );
    const spelling = places.bytes.toString('utf8', member.keyStart, member.keyEnd);
    agree(spelling === own.spelling, () => `${what} has the key ${own.spelling}, not ${spelling}`);
    places.check(`${what}.${own.key}`, member, own.value);
    byKey.set(own.key, own.value);
  }
  for (const key of askedFor(byKey, object.end)) {
    const found = object.find(key);
    places.check(`${what}.${key}`, found, byKey.get(key));
    const got = object.get(key);
    agree(got === (found?.object ?? found), () => `${what}: get and find differ for ${key}`);
    agree(object.object(key) === found?.object, () => `${what}: object and find differ for ${key}`);
  }
}

/** The known keys that are there, and two that may not be: asking for all takes long. */
function askedFor(there: ReadonlyMap<string, TokenNode>, chance: number): readonly EnvelopeKey[] {
  const at = chance % (knownKeys.length - 1);
  const present = knownKeys.filter((key) => there.has(key));
  return [...present, knownKeys[at] as EnvelopeKey, knownKeys[at + 1] as EnvelopeKey];
}

function checkScalar(
  what: string,
  span: Span,
  node: TokenNode,
  value: unknown,
  bytes: Buffer,
): void {
  const text = textOf(bytes, span);
  agree(
    text === (typeof value === 'string' ? value : undefined),
    () => `${what} is read as the text ${shortly(text)}`,
  );
  const number = numberOf(bytes, span);
  const isNumber = typeof value === 'number' && Number.isFinite(value);
  agree(
    Object.is(number, isNumber ? value : undefined),
    () => `${what} is read as the number ${number}`,
  );
  const boolean = booleanOf(bytes, span);
  agree(
    boolean === (typeof value === 'boolean' ? value : undefined),
    () => `${what} is read as ${boolean}`,
  );
  agree(isNull(bytes, span) === (value === null), () => `${what} is read as null, or is not`);
  if (node.kind !== 'string' && node.kind !== 'word') return;
  const id = idOf(bytes, span);
  agree(
    Object.is(id, isId(node) ? value : undefined),
    () => `${what} is read as the id ${shortly(id)}`,
  );
}

/** Objects and arrays that the scanner passes over are looked into where a caller asks. */
export function checkParts(bytes: Buffer, root: TokenNode, places: Places, tally: Tally): void {
  const nodes = [
    root,
    ...root.elements.slice(0, 8),
    ...root.members.flatMap(({ value }) => [value, ...value.members.map((member) => member.value)]),
  ];
  for (const node of nodes.slice(0, 40)) checkPart(bytes, node, places, tally);
}

function checkPart(bytes: Buffer, node: TokenNode, places: Places, tally: Tally): void {
  const span = places.spanOf(node);
  let object: ObjectSpan | undefined;
  let elements: Span[] | undefined;
  try {
    elements = elementsAt(bytes, span);
    object = objectAt(bytes, span);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const listed =
      node.kind === 'object'
        ? ambiguitiesOf(node, false)
        : node.elements.length > maxElements
          ? ['too-many-elements']
          : [];
    agree(
      listed.includes(error.reason),
      () => `a part is refused with ${error.reason}; listed: ${listed.join(', ') || 'nothing'}`,
    );
    tally.count(`refused: ${error.reason}, in a part`);
    return;
  }
  agree(
    (object !== undefined) === (node.kind === 'object'),
    () => 'objectAt is wrong about the kind',
  );
  agree(
    (elements !== undefined) === (node.kind === 'array'),
    () => 'elementsAt is wrong about the kind',
  );
  if (object !== undefined) {
    agree(ambiguitiesOf(node, false).length === 0, () => 'objectAt accepts an ambiguous object');
    checkMembers('a part', object, node, places);
  }
  if (elements === undefined) return;
  agree(
    elements.length === node.elements.length,
    () => 'elementsAt finds another number of elements',
  );
  for (const [at, element] of elements.entries()) {
    if (at < 64) places.check(`[${at}]`, element, node.elements[at]);
  }
}
