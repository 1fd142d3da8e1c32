// One pass over one frame: is it JSON, is it a JSON-RPC message, can it be read in only one way,
// and where are the parts that we read? Nothing is parsed or copied: a message is its bytes plus
// the spans of what routing and policy read, and everything else in it is forwarded unchanged.
// docs/envelope.md lists what may be rewritten and what is refused.

import { type Id, idOf, isNull, textOf } from './decode.ts';
import {
  assertNothingAfter,
  assertText,
  defaultMaxDepth,
  skipSpace,
  skipValue,
} from './grammar.ts';
import { maxMembers, Reading } from './reading.ts';
import { memberKey, type ObjectSpan, type Span, spells } from './span.ts';
import { type RefusalReason, WireError } from './wire-error.ts';

const openBracket = 0x5b;
const openBrace = 0x7b;

export type MessageKind = 'request' | 'notification' | 'result' | 'error';

export interface Message {
  readonly bytes: Buffer;
  readonly kind: MessageKind;
  /** undefined: absent. null only in an error response. */
  readonly id: Id | null | undefined;
  readonly idSpan: Span | undefined;
  readonly method: string | undefined;
  /** An ObjectSpan when it is an object; then `paramsObject` is the same one. */
  readonly params: Span | undefined;
  readonly paramsObject: ObjectSpan | undefined;
  readonly result: Span | undefined;
  readonly resultObject: ObjectSpan | undefined;
  readonly error: Span | undefined;
  readonly errorObject: ObjectSpan | undefined;
  /** `_meta` of the params or of the result, whichever the message has. */
  readonly meta: ObjectSpan | undefined;
}

export interface ScanLimits {
  readonly maxDepth?: number;
}

/** Scans one frame. Throws a WireError for everything that is not exactly one message. */
export function scanMessage(bytes: Buffer, limits?: ScanLimits): Message {
  const maxDepth = limits?.maxDepth ?? defaultMaxDepth;
  assertText(bytes);
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== openBrace) throw notAnObject(bytes, start, maxDepth);
  const reading = new Reading(bytes, maxDepth);
  const object = reading.object(start, 'message', 0);
  assertNothingAfter(bytes, object.end);
  if (reading.complaint !== undefined) {
    const { reason, offset } = reading.complaint;
    throw new WireError(reason, offset, answerableId(bytes, object));
  }
  return messageFrom(bytes, object);
}

function messageFrom(bytes: Buffer, object: ObjectSpan): Message {
  const version = object.find('jsonrpc');
  if (version === undefined || !isVersion2(bytes, version)) {
    throw refusal('bad-version', bytes, object, version);
  }
  const idSpan = object.find('id');
  const methodSpan = object.find('method');
  const params = object.find('params');
  const result = object.find('result');
  const error = object.find('error');
  const method = methodSpan === undefined ? undefined : methodOf(bytes, methodSpan);
  if (methodSpan !== undefined && method === undefined) {
    throw refusal('bad-method', bytes, object, methodSpan);
  }
  const kind = kindOf(methodSpan, idSpan, result, error);
  if (kind === undefined) throw refusal('bad-shape', bytes, object, undefined);
  const id = idSpan === undefined ? undefined : readId(bytes, idSpan, kind);
  const carrier = methodSpan === undefined ? result : params;
  return {
    bytes,
    kind,
    id,
    idSpan,
    method,
    params: params?.object ?? params,
    paramsObject: params?.object,
    result: result?.object ?? result,
    resultObject: result?.object,
    error: error?.object ?? error,
    errorObject: error?.object,
    meta: carrier?.object?.object('_meta'),
  };
}

/** Nearly every request has the same method, which is recognised without decoding. */
function methodOf(bytes: Buffer, span: Span): string | undefined {
  if (spells(bytes, span.start, span.end, '"tools/call"')) return 'tools/call';
  return textOf(bytes, span);
}

/**
 * A method makes it a request or a notification, one of result and error a response. An error
 * without an id is one too: the schema of MCP allows it where the id could not be read.
 */
function kindOf(
  method: Span | undefined,
  id: Span | undefined,
  result: Span | undefined,
  error: Span | undefined,
): MessageKind | undefined {
  if (method !== undefined) {
    if (result !== undefined || error !== undefined) return undefined;
    return id === undefined ? 'notification' : 'request';
  }
  if (error !== undefined) return result === undefined ? 'error' : undefined;
  return result !== undefined && id !== undefined ? 'result' : undefined;
}

function readId(bytes: Buffer, span: Span, kind: MessageKind): Id | null {
  if (kind === 'error' && isNull(bytes, span)) return null;
  const id = idOf(bytes, span);
  if (id === undefined) throw new WireError('bad-id', span.start);
  return id;
}

/** Exactly the token "2.0": no honest peer writes another spelling of the same string. */
function isVersion2(bytes: Buffer, span: Span): boolean {
  const { start } = span;
  return (
    span.end - start === 5 &&
    bytes[start] === 0x22 &&
    bytes[start + 1] === 0x32 &&
    bytes[start + 2] === 0x2e &&
    bytes[start + 3] === 0x30
  );
}

function refusal(
  reason: RefusalReason,
  bytes: Buffer,
  object: ObjectSpan,
  span: Span | undefined,
): WireError {
  return new WireError(reason, (span ?? object).start, answerableId(bytes, object));
}

/**
 * The id for the answer to a refused message: it occurs once and is valid. If members were not
 * read, one of them may be another id, so there is none.
 */
function answerableId(bytes: Buffer, object: ObjectSpan): Id | null {
  const members = object.members();
  const ids = members.filter((member) => memberKey(bytes, member) === 'id');
  const only = ids[0];
  if (only === undefined || ids.length > 1 || members.length >= maxMembers) return null;
  return idOf(bytes, only) ?? null;
}

/** Not a message, but is it JSON at all? Only then the refusal is -32600. */
function notAnObject(bytes: Buffer, start: number, maxDepth: number): WireError {
  assertNothingAfter(bytes, skipValue(bytes, start, 0, maxDepth));
  return new WireError(bytes[start] === openBracket ? 'batch' : 'not-an-object', start);
}
