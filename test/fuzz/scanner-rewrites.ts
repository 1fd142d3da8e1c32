// What may happen to a document once it was taken: members set and removed, line breaks spaced out, a
// frame made around it, its canonical text. What comes out must be one valid message on one line, in
// which everything that was not meant to change stands as it stood.

import { isDeepStrictEqual } from 'node:util';
import { canonicalText } from '../../src/wire/canonical.ts';
import { type EnvelopeKey, knownKeys } from '../../src/wire/envelope-keys.ts';
import {
  asLine,
  type Carried,
  errorFrame,
  joined,
  notificationFrame,
  notificationToServer,
  requestFrame,
  requestToServer,
  resultFrame,
  type TextOrFrame,
  textOfId,
  withProgress,
} from '../../src/wire/frames.ts';
import { memberEdits } from '../../src/wire/member-edits.ts';
import { type Message, scanMessage } from '../../src/wire/scan.ts';
import { oneLine, splice } from '../../src/wire/splice.ts';
import type { Dice } from '../simulation/random.ts';
import { agree, shortly } from './disagreement.ts';
import { messageRefusals } from './listed-refusals.ts';
import { type Judged, judged, type TokenMember, type TokenNode } from './token-tree.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export function checkRewrites(
  bytes: Buffer,
  message: Message | undefined,
  root: TokenNode,
  value: unknown,
  dice: Dice,
): void {
  checkCanonical(bytes, root);
  checkLine(bytes, value);
  if (message !== undefined) checkEdits(message, root, dice);
  if (dice.chance(0.5)) checkFrames(bytes, value, root, dice);
}

// --- canonical text ------------------------------------------------------------------------

function checkCanonical(bytes: Buffer, root: TokenNode): void {
  const expected = canonicalOf(root);
  const found = canonicalText(bytes);
  agree(
    found === expected,
    () => `canonicalText gives ${shortly(found)}, not ${shortly(expected)}`,
  );
}

/** Keys sorted by code unit, strings in one spelling, numbers as they are; null for a key twice. */
function canonicalOf(node: TokenNode): string | null {
  if (node.kind === 'word') return node.source;
  if (node.kind === 'string') return JSON.stringify(JSON.parse(node.source));
  if (node.kind === 'array') {
    const elements = node.elements.map(canonicalOf);
    return elements.includes(null) ? null : `[${elements.join(',')}]`;
  }
  const members = new Map(node.members.map(({ key, value }) => [key, canonicalOf(value)]));
  if (members.size < node.members.length || [...members.values()].includes(null)) return null;
  const sorted = [...members.keys()]
    .sort()
    .map((key) => `${JSON.stringify(key)}:${members.get(key)}`);
  return `{${sorted.join(',')}}`;
}

// --- one line ------------------------------------------------------------------------------

function checkLine(bytes: Buffer, value: unknown): void {
  if (!bytes.includes(lineFeed) && !bytes.includes(carriageReturn)) {
    agree(oneLine(bytes) === bytes, () => 'a line is copied without need');
    return;
  }
  const line = oneLine(bytes);
  agree(line !== bytes, () => 'a frame is changed in place');
  const expected = bytes.toString('utf8').replace(/[\r\n]/g, ' ');
  agree(line.toString('utf8') === expected, () => 'oneLine changes more than line breaks');
  agree(isDeepStrictEqual(JSON.parse(expected), value), () => 'on one line it means another thing');
}

// --- members set and removed ---------------------------------------------------------------

const replacements: readonly [string, ...string[]] = [
  '1',
  '"x"',
  '{"a":[1,{"b":"é"}]}',
  'null',
  '{}',
];

function checkEdits(message: Message, root: TokenNode, dice: Dice): void {
  const object = message.paramsObject ?? message.resultObject ?? message.errorObject;
  if (object === undefined) return;
  const { bytes } = message;
  const present = object.keys().filter((key) => (knownKeys as readonly string[]).includes(key));
  const changes: Partial<Record<EnvelopeKey, string | null>> = {};
  for (const key of [
    ...present.filter(() => dice.chance(0.5)),
    dice.pick(knownKeys),
    dice.pick(knownKeys),
  ]) {
    changes[key as EnvelopeKey] = dice.chance(0.5) ? null : dice.pick(replacements);
  }
  const out = splice(bytes, memberEdits(object, changes));
  const after = judged(out);
  agree(after.kind === 'json', () => `after ${shortly(changes)} it is no JSON any more`);
  const name = message.paramsObject ? 'params' : message.resultObject ? 'result' : 'error';
  checkEdited(root, after, name, changes);
}

function checkEdited(
  before: TokenNode,
  after: Extract<Judged, { kind: 'json' }>,
  name: string,
  changes: Readonly<Partial<Record<string, string | null>>>,
): void {
  const written = (members: readonly TokenMember[]) =>
    members.map(({ spelling, value }) => `${spelling}:${value.source}`);
  const own = (node: TokenNode | undefined) => node?.members.find(({ key }) => key === name)?.value;
  const others = (node: TokenNode | undefined) =>
    node?.members.filter(({ key }) => key !== name) ?? [];
  const expected = (own(before)?.members ?? []).flatMap(({ key, spelling, value }) => {
    const change = Object.hasOwn(changes, key) ? changes[key] : undefined;
    return change === null ? [] : [`${spelling}:${change ?? value.source}`];
  });
  for (const [key, value] of Object.entries(changes)) {
    const isNew = !own(before)?.members.some((member) => member.key === key);
    if (isNew && value !== null && value !== undefined) expected.push(`${key}:${value}`);
  }
  const found = written(own(after.root)?.members ?? []);
  agree(
    isDeepStrictEqual(found, expected),
    () => `after ${shortly(changes)}: ${shortly(found)}, not ${shortly(expected)}`,
  );
  agree(
    isDeepStrictEqual(written(others(after.root)), written(others(before))),
    () => 'an edit changed what it was not about',
  );
}

// --- frames of our own ---------------------------------------------------------------------

const texts: readonly [string, ...string[]] = [
  'tools/call',
  'a"b\\c',
  'é🦀',
  '\ud800',
  'line\nbreak\r',
  '',
];
const ids: readonly [number | string, ...(number | string)[]] = [
  0,
  7,
  -1,
  Number.MAX_SAFE_INTEGER,
  'a',
  '"',
  '\u2028',
  '',
];

/** A value that was taken, carried in a frame of ours as bytes and as text. */
function checkFrames(bytes: Buffer, value: unknown, root: TokenNode, dice: Dice): void {
  const line = oneLine(bytes);
  const carried = dice.chance(0.5) ? line : line.toString('utf8');
  const [id, text, method] = [dice.pick(ids), dice.pick(texts), dice.pick(texts)];
  const error = { code: -32_603, message: text, data: value };
  switch (dice.between(0, 4)) {
    case 0:
      return checkFrame(requestFrame(7, method, carried), {
        jsonrpc: '2.0',
        id: 7,
        method,
        params: value,
      });
    case 1:
      return checkFrame(notificationFrame(method, carried), {
        jsonrpc: '2.0',
        method,
        params: value,
      });
    case 2:
      return checkFrame(resultFrame(textOfId(id), carried), { jsonrpc: '2.0', id, result: value });
    case 3:
      return checkFrame(
        errorFrame(textOfId(id), { code: error.code, message: text, data: carried.toString() }),
        { jsonrpc: '2.0', id, error },
      );
    default:
      if (root.kind === 'object') checkFramesToServer(line, value as object, root, method, dice);
  }
}

const noMembers: [Carried, ...Carried[]] = ['', Buffer.alloc(0), []];

/** The members of an object that was taken, or none, as the parameters of a message to a server. */
function checkFramesToServer(
  line: Buffer,
  taken: object,
  root: TokenNode,
  method: string,
  dice: Dice,
): void {
  const isEmpty = root.members.length === 0 || dice.chance(0.1);
  const value = isEmpty ? {} : taken;
  const inside = line.subarray(line.indexOf('{') + 1, line.lastIndexOf('}'));
  const members = dice.pick<Carried>(isEmpty ? noMembers : [inside, `${inside}`, [' ', inside]]);
  if (dice.chance(0.3)) {
    const frame = notificationToServer(method, { members });
    return checkFrame(frame, { jsonrpc: '2.0', method, params: value });
  }
  // A `_meta` that stands among the members would be there twice: the relay takes it out before.
  if (Object.hasOwn(value, '_meta')) return;
  const meta = dice.pick<string | Buffer>(['', '"a":{"b":"é"}', Buffer.from('"a":{"b":"é"}')]);
  const envelope = dice.pick(['', withProgress('', 7), withProgress('"k":1', 7)]);
  const own = JSON.parse(`{${[envelope, meta.toString()].filter(Boolean).join(',')}}`);
  const hasMeta = Object.keys(own).length > 0;
  const params = hasMeta ? { ...value, _meta: own } : value;
  const frame = requestToServer(7, method, { members, meta }, envelope);
  checkFrame(frame, { jsonrpc: '2.0', id: 7, method, params });
}

function checkFrame(made: TextOrFrame, expected: unknown): void {
  const frame = Buffer.from(joined(asLine(made)) as Buffer);
  const isLine = frame.indexOf(lineFeed) === frame.length - 1 && !frame.includes(carriageReturn);
  agree(isLine, () => 'a frame of ours is not one line');
  const line = frame.subarray(0, -1);
  const after = judged(line);
  agree(after.kind === 'json', () => `a frame of ours is ${after.kind}`);
  agree(
    isDeepStrictEqual(after.value, expected),
    () => `a frame of ours says ${shortly(after.value)}`,
  );
  // What is carried may be refused here for a key twice, which no frame around it can make good.
  if (messageRefusals(after).length === 0) scanMessage(line);
}
