// Why a piece of JSON was not accepted, in one table. There are two families, and JSON-RPC has a
// code for each: the bytes are not JSON (-32700), or they are JSON but not a message that can be
// read in only one way (-32600). Code that catches a WireError decides by `reason`; its text is for
// people. The caller decides what the refusal means for a call or a connection.

import { rpcCodes } from './eras.ts';

const { parseError, invalidRequest } = rpcCodes;

interface Refusal {
  readonly rpcCode: typeof parseError | typeof invalidRequest;
  /** Continues the sentence "the JSON was refused: …". */
  readonly says: string;
}

export const refusals = {
  'invalid-utf8': { rpcCode: parseError, says: 'it is not valid UTF-8' },
  'byte-order-mark': { rpcCode: parseError, says: 'it begins with a byte order mark' },
  'too-deep': { rpcCode: parseError, says: 'it is nested too deeply' },
  'unexpected-end': { rpcCode: parseError, says: 'it ends too early' },
  'unexpected-byte': { rpcCode: parseError, says: 'this character is not allowed here' },
  'trailing-bytes': { rpcCode: parseError, says: 'there is text after the value' },
  'bad-number': { rpcCode: parseError, says: 'this is not a JSON number' },
  'bad-literal': { rpcCode: parseError, says: 'only true, false and null may be written as words' },
  'bad-escape': { rpcCode: parseError, says: 'this escape sequence does not exist' },
  'control-character': {
    rpcCode: parseError,
    says: 'a control character in a string is not escaped',
  },
  batch: { rpcCode: invalidRequest, says: 'it is a batch, not one message' },
  'not-a-batch': { rpcCode: invalidRequest, says: 'it is not an array' },
  'too-many-elements': { rpcCode: invalidRequest, says: 'this array has too many elements' },
  'not-an-object': { rpcCode: invalidRequest, says: 'it is not an object' },
  'bad-version': { rpcCode: invalidRequest, says: 'the member "jsonrpc" must be "2.0"' },
  'bad-id': { rpcCode: invalidRequest, says: 'the id must be a string or an integer below 2^53' },
  'bad-method': { rpcCode: invalidRequest, says: 'the method must be a string' },
  'bad-shape': {
    rpcCode: invalidRequest,
    says: 'it is neither a request, a notification nor a response',
  },
  'duplicate-key': { rpcCode: invalidRequest, says: 'this key occurs twice in its object' },
  'escaped-key': { rpcCode: invalidRequest, says: 'this key must be written without escapes' },
  'look-alike-key': {
    rpcCode: invalidRequest,
    says: 'this key differs only in case from one that is looked up here',
  },
  'too-many-members': { rpcCode: invalidRequest, says: 'this object has too many members' },
} as const satisfies Record<string, Refusal>;

export type RefusalReason = keyof typeof refusals;

export class WireError extends Error {
  override readonly name = 'WireError';
  readonly reason: RefusalReason;
  readonly rpcCode: typeof parseError | typeof invalidRequest;
  /** Where in the bytes that were handed in; 0 where the encoding as a whole is wrong. */
  readonly offset: number;
  /** The id to answer with: null when there is none, or when it is ambiguous. */
  readonly id: number | string | null;

  constructor(reason: RefusalReason, offset: number, id: number | string | null = null) {
    // The cause is in the bytes, not in our code. Collecting the stack would cost ten times the
    // rest, and a peer that floods us with bad JSON decides how often.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`the JSON was refused: ${refusals[reason].says} (at byte ${offset})`);
    Error.stackTraceLimit = stackTraceLimit;
    this.reason = reason;
    this.rpcCode = refusals[reason].rpcCode;
    this.offset = offset;
    this.id = id;
  }
}
