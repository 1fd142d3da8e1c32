// One document, held against the oracle: is it taken exactly when it should be, for the reason that
// applies, with the id that may be answered; and is everything that was found in it where it stands?
// The document is laid into a larger buffer among bytes that would lead astray whoever reads beyond
// its end, and must come out of it unchanged.

import { scanBatch } from '../../src/wire/batch.ts';
import { checkValue } from '../../src/wire/json-text.ts';
import { oversizedResponseId } from '../../src/wire/oversized.ts';
import { type Message, scanMessage } from '../../src/wire/scan.ts';
import { type RefusalReason, refusals, WireError } from '../../src/wire/wire-error.ts';
import { Dice } from '../simulation/random.ts';
import { agree, shortly } from './disagreement.ts';
import { fingerprint } from './fingerprint.ts';
import {
  answerableId,
  batchRefusals,
  listedRefusals,
  messageRefusals,
  valueRefusals,
} from './listed-refusals.ts';
import { checkRewrites } from './scanner-rewrites.ts';
import { checkMessageSpans, checkParts, Places } from './scanner-spans.ts';
import type { Tally } from './tally.ts';
import { type Judged, judged } from './token-tree.ts';

/** Bytes that would complete, continue or break what ends before them. */
const beyond = [
  '"}]',
  '0',
  'e1',
  'rue',
  '\\u0041"',
  ']]]]}}}}',
  ' ',
  '\x80\xbf',
  ',"id":9}',
  '"',
].map((text) => Buffer.from(text.repeat(16), 'latin1')) as unknown as readonly [
  Buffer,
  ...Buffer[],
];

/** Throws a Disagreement if there is one. Depends on the bytes alone. */
export function checkDocument(document: Buffer, tally: Tally): void {
  const dice = new Dice(fingerprint(document));
  const before = dice.pick(beyond);
  const arena = Buffer.concat([before, document, dice.pick(beyond)]);
  const bytes = arena.subarray(before.length, before.length + document.length);
  const oracle = judged(document);
  checkAlone(bytes, oracle, tally);
  checkBatch(bytes, oracle, tally);
  const message = checkMessage(bytes, oracle, tally);
  if (oracle.kind === 'json' && oracle.root !== undefined && oracle.depth <= 512) {
    const places = new Places(bytes, oracle.text);
    if (message !== undefined) checkMessageSpans(message, oracle.root, oracle.value, places);
    checkParts(bytes, oracle.root, places, tally);
    checkRewrites(bytes, message, oracle.root, oracle.value, dice);
  }
  checkOversized(bytes, message, dice);
  agree(document.equals(bytes), () => 'the bytes of the frame were changed');
}

type Outcome<T> =
  | { readonly kind: 'accepted'; readonly value: T }
  | { readonly kind: 'refused'; readonly error: WireError };

function outcomeOf<T>(run: () => T): Outcome<T> {
  try {
    return { kind: 'accepted', value: run() };
  } catch (error) {
    if (error instanceof WireError) return { kind: 'refused', error };
    throw error;
  }
}

type Rule = (json: Extract<Judged, { kind: 'json' }>) => readonly RefusalReason[];

/** Accepted exactly when the oracle accepts and no listed rule applies. */
function checkVerdict<T>(what: string, run: () => T, oracle: Judged, rule: Rule): Outcome<T> {
  const outcome = outcomeOf(run);
  const reasons = oracle.kind === 'json' ? rule(oracle) : undefined;
  if (outcome.kind === 'accepted') {
    agree(oracle.kind === 'json', () => `${what} accepts what is ${oracle.kind}`);
    agree(reasons?.length === 0, () => `${what} accepts in spite of ${reasons?.join(', ')}`);
    return outcome;
  }
  const { reason, rpcCode, offset } = outcome.error;
  const listed = listedRefusals[reason];
  agree(rpcCode === listed.rpcCode, () => `${what} says ${rpcCode} for ${reason}`);
  agree(rpcCode === refusals[reason].rpcCode, () => `${what}: two codes for ${reason}`);
  agree(Number.isInteger(offset) && offset >= 0, () => `${what} refuses at byte ${offset}`);
  if (reasons === undefined) {
    agree(rpcCode === -32700, () => `${what} says ${reason} of what is ${oracle.kind}`);
    checkEncoding(what, reason, oracle);
  } else {
    agree(
      reasons.includes(reason),
      () =>
        `${what} refuses with ${reason} what is JSON; listed: ${reasons.join(', ') || 'nothing'}`,
    );
  }
  return outcome;
}

/** Of what is not JSON, the encoding alone is told by the oracle too. */
function checkEncoding(what: string, reason: RefusalReason, oracle: Judged): void {
  if (oracle.kind === 'not-utf8') {
    const isSaid = reason === 'invalid-utf8' || reason === 'byte-order-mark';
    agree(isSaid, () => `${what} says ${reason} of what is not UTF-8`);
  } else if (oracle.kind === 'not-json') {
    agree(reason !== 'invalid-utf8', () => `${what} says that UTF-8 is none`);
    const hasMark = oracle.text.startsWith('\ufeff');
    agree((reason === 'byte-order-mark') === hasMark, () => `${what} is wrong about the mark`);
  }
}

function checkAlone(bytes: Buffer, oracle: Judged, tally: Tally): void {
  const outcome = checkVerdict('checkValue', () => checkValue(bytes), oracle, valueRefusals);
  if (outcome.kind === 'accepted') tally.count('JSON');
}

function checkBatch(bytes: Buffer, oracle: Judged, tally: Tally): void {
  const outcome = checkVerdict('scanBatch', () => scanBatch(bytes), oracle, batchRefusals);
  if (outcome.kind === 'refused') {
    if (outcome.error.rpcCode === -32600)
      tally.count(`refused: ${outcome.error.reason}, as a batch`);
    return;
  }
  tally.count('batch');
  const elements = oracle.kind === 'json' ? (oracle.root?.elements ?? []) : [];
  const found = outcome.value.map((element) => element.toString());
  const isSame =
    found.length === elements.length && elements.every(({ source }, at) => source === found[at]);
  agree(isSame, () => `scanBatch takes other elements out: ${shortly(found)}`);
}

function checkMessage(bytes: Buffer, oracle: Judged, tally: Tally): Message | undefined {
  const outcome = checkVerdict('scanMessage', () => scanMessage(bytes), oracle, messageRefusals);
  if (outcome.kind === 'accepted') {
    tally.count(`message: ${outcome.value.kind}`);
    return outcome.value;
  }
  const { reason, id } = outcome.error;
  tally.count(`refused: ${reason}`);
  const root =
    oracle.kind === 'json' && reason !== 'too-deep' && reason !== 'bad-id'
      ? oracle.root
      : undefined;
  const expected = answerableId(root);
  agree(id === expected, () => `scanMessage would answer ${shortly(id)}, not ${shortly(expected)}`);
  return undefined;
}

/** Of a line beyond the limit: if an id is told, it is the id of that response. */
function checkOversized(bytes: Buffer, message: Message | undefined, dice: Dice): void {
  const head = bytes.subarray(0, dice.between(0, bytes.length));
  const tail = bytes.subarray(dice.between(Math.max(0, bytes.length - 256), bytes.length));
  for (const id of [oversizedResponseId(head), oversizedResponseId(head, tail)]) {
    // Broken or ambiguous lines have no id to compare with; they must only be survived.
    if (message === undefined || id === undefined) continue;
    const isTrue = message.method === undefined && message.id === id;
    agree(
      isTrue,
      () =>
        `oversizedResponseId says ${shortly(id)} of a ${message.kind} with id ${shortly(message.id)}`,
    );
  }
}
