// The refusals that docs/envelope.md lists, in one table, each with its sentence from there. The
// scanner may refuse what the oracle accepts only for one of these, and only where it applies; each
// rule is told here once more, on the oracle's tree of tokens instead of the bytes.

import { knownKeys } from '../../src/wire/envelope-keys.ts';
import type { RefusalReason } from '../../src/wire/wire-error.ts';
import type { Judged, TokenMember, TokenNode } from './token-tree.ts';

export const maxDepth = 512;
export const maxMembers = 16_384;
export const maxBatch = 1_024;
export const maxElements = 65_536;

interface ListedRefusal {
  readonly rpcCode: -32700 | -32600;
  /** The last column of the table in docs/envelope.md. */
  readonly sentence: string;
}

export const listedRefusals: Readonly<Record<RefusalReason, ListedRefusal>> = {
  'invalid-utf8': {
    rpcCode: -32700,
    sentence: 'a byte that is not UTF-8: overlong forms, encoded surrogates, cut characters too',
  },
  'byte-order-mark': {
    rpcCode: -32700,
    sentence: 'U+FEFF at the beginning (inside a string it is text)',
  },
  'too-deep': {
    rpcCode: -32700,
    sentence: 'more than 512 arrays and objects inside each other, counting the message itself',
  },
  'unexpected-end': { rpcCode: -32700, sentence: 'the text ends inside a value' },
  'unexpected-byte': {
    rpcCode: -32700,
    sentence: 'a character that is not allowed there: an extra comma, single quotes, a comment',
  },
  'trailing-bytes': { rpcCode: -32700, sentence: 'something after the value' },
  'bad-number': { rpcCode: -32700, sentence: '`1.`, `-`, `1e`' },
  'bad-literal': {
    rpcCode: -32700,
    sentence: 'a word that begins like `true`, `false` or `null` but is different',
  },
  'bad-escape': { rpcCode: -32700, sentence: '`\\x`, `\\u12g4`' },
  'control-character': { rpcCode: -32700, sentence: 'a raw byte below 0x20 inside a string' },
  batch: {
    rpcCode: -32600,
    sentence: 'an array; only 2025-03-26 has batches, and they are split before',
  },
  'not-a-batch': { rpcCode: -32600, sentence: 'not an array, where a batch was expected' },
  'too-many-elements': {
    rpcCode: -32600,
    sentence:
      'more than 1024 messages in a batch, or more than 65536 elements in a list that is read',
  },
  'not-an-object': {
    rpcCode: -32600,
    sentence: 'a string, number or literal instead of a message',
  },
  'bad-version': { rpcCode: -32600, sentence: '`jsonrpc` is not exactly the five bytes `"2.0"`' },
  'bad-id': {
    rpcCode: -32600,
    sentence:
      'an id with a fraction or exponent, `-0`, beyond ±(2^53 - 1), of another type, or null anywhere but in an error',
  },
  'bad-method': { rpcCode: -32600, sentence: 'a method that is not a string' },
  'bad-shape': {
    rpcCode: -32600,
    sentence:
      'a method together with a result or error, a result together with an error, a result without an id, none of the three',
  },
  'duplicate-key': {
    rpcCode: -32600,
    sentence: 'a key twice in an object that is read, compared after unescaping',
  },
  'escaped-key': {
    rpcCode: -32600,
    sentence:
      'a key written with escapes: any key of the message itself, and below it those that are looked up',
  },
  'look-alike-key': {
    rpcCode: -32_600,
    sentence:
      "in a client's `params` or `ref`: a key that only its case tells from one that is decided on",
  },
  'too-many-members': {
    rpcCode: -32600,
    sentence: 'more than 16384 members in an object that is read',
  },
};

const known: ReadonlySet<string> = new Set(knownKeys);

type Json = Extract<Judged, { kind: 'json' }>;

/** Why one value of any kind may be refused: only for its depth. */
export function valueRefusals({ depth }: Json): RefusalReason[] {
  return depth > maxDepth ? ['too-deep'] : [];
}

/** Why an array of messages may be refused before they are looked at. */
export function batchRefusals(json: Json): RefusalReason[] {
  if (json.depth > maxDepth) return ['too-deep'];
  if (json.root?.kind !== 'array') return ['not-a-batch'];
  return json.root.elements.length > maxBatch ? ['too-many-elements'] : [];
}

/** Why a message may be refused: any one of these; if there is none, it must be accepted. */
export function messageRefusals(json: Json): RefusalReason[] {
  if (json.depth > maxDepth || json.root === undefined) return ['too-deep'];
  if (json.root.kind !== 'object') {
    return [json.root.kind === 'array' ? 'batch' : 'not-an-object'];
  }
  const ambiguities = [...readObjects(json.root)].flatMap(([node, isMessage]) =>
    ambiguitiesOf(node, isMessage),
  );
  return ambiguities.length > 0 ? ambiguities : misshapes(json.root);
}

/** The message, its params, result and error, and the `_meta` of params and result. */
function* readObjects(root: TokenNode): Generator<readonly [TokenNode, boolean]> {
  yield [root, true];
  for (const { key, value } of root.members) {
    if (value.kind !== 'object') continue;
    if (key === 'params' || key === 'result' || key === 'error') yield [value, false];
    if (key !== 'params' && key !== 'result') continue;
    for (const inner of value.members) {
      if (inner.key === '_meta' && inner.value.kind === 'object') yield [inner.value, false];
    }
  }
}

/** What makes an object that is read readable in more than one way. */
export function ambiguitiesOf({ members }: TokenNode, isMessage: boolean): RefusalReason[] {
  const reasons: RefusalReason[] = [];
  if (new Set(members.map(({ key }) => key)).size < members.length) reasons.push('duplicate-key');
  if (members.some((member) => isDisguised(member, isMessage))) reasons.push('escaped-key');
  if (members.length > maxMembers) reasons.push('too-many-members');
  return reasons;
}

function isDisguised({ key, spelling }: TokenMember, isMessage: boolean): boolean {
  if (isMessage) return spelling.includes('\\');
  return known.has(key) && spelling.split('\\/').join('/') !== key;
}

function misshapes({ members }: TokenNode): RefusalReason[] {
  const parts = new Map(members.map(({ key, value }) => [key, value]));
  const reasons: RefusalReason[] = [];
  const [id, method] = [parts.get('id'), parts.get('method')];
  const [hasResult, hasError] = [parts.has('result'), parts.has('error')];
  if (parts.get('jsonrpc')?.source !== '"2.0"') reasons.push('bad-version');
  if (method !== undefined && method.kind !== 'string') reasons.push('bad-method');
  const isMisshapen =
    (method !== undefined && (hasResult || hasError)) ||
    (hasResult && hasError) ||
    (hasResult && id === undefined) ||
    (method === undefined && !hasResult && !hasError);
  if (isMisshapen) reasons.push('bad-shape');
  const mayBeNull = method === undefined && hasError && !hasResult;
  if (id !== undefined && !isId(id) && !(mayBeNull && id.source === 'null')) reasons.push('bad-id');
  return reasons;
}

/** A string, or an integer of which there is only one spelling. */
export function isId({ kind, source }: TokenNode): boolean {
  if (kind === 'string') return true;
  return /^(0|-?[1-9][0-9]*)$/.test(source) && Number.isSafeInteger(Number(source));
}

/** The id a refusal may be answered with: the only one there is, if it is one and all were read. */
export function answerableId(root: TokenNode | undefined): number | string | null {
  if (root === undefined || root.members.length >= maxMembers) return null;
  const ids = root.members.filter(({ key }) => key === 'id');
  const [only] = ids;
  if (only === undefined || ids.length > 1 || !isId(only.value)) return null;
  return JSON.parse(only.value.source) as number | string;
}
