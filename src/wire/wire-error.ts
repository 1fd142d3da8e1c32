// Why a piece of JSON was not accepted, in one table. There are two families, and JSON-RPC has a
// number for each: the bytes are not JSON at all (-32700), or they are JSON but not a message that
// can be read in only one way (-32600). Whoever catches a WireError decides by `reason`; its text
// is for people. What the refusal means for a call or a connection is left to the edges.

interface Refusal {
  readonly rpcCode: -32700 | -32600;
  /** Continues the sentence "the JSON was refused: …". */
  readonly says: string;
}

export const refusals = {
  'invalid-utf8': { rpcCode: -32700, says: 'it is not valid UTF-8' },
  'byte-order-mark': { rpcCode: -32700, says: 'it begins with a byte order mark' },
  'too-deep': { rpcCode: -32700, says: 'it is nested too deeply' },
  'unexpected-end': { rpcCode: -32700, says: 'it ends too early' },
  'unexpected-byte': { rpcCode: -32700, says: 'this character cannot stand here' },
  'trailing-bytes': { rpcCode: -32700, says: 'something follows the value' },
  'bad-number': { rpcCode: -32700, says: 'this is not a JSON number' },
  'bad-literal': { rpcCode: -32700, says: 'only true, false and null may be written as words' },
  'bad-escape': { rpcCode: -32700, says: 'this escape sequence does not exist' },
  'control-character': { rpcCode: -32700, says: 'a control character in a string is not escaped' },
  batch: { rpcCode: -32600, says: 'it is a batch, not one message' },
  'not-a-batch': { rpcCode: -32600, says: 'it is not an array' },
  'too-many-elements': { rpcCode: -32600, says: 'this array has too many elements' },
  'not-an-object': { rpcCode: -32600, says: 'it is not an object' },
  'bad-version': { rpcCode: -32600, says: 'the member "jsonrpc" must be "2.0"' },
  'bad-id': { rpcCode: -32600, says: 'the id must be a string or an integer below 2^53' },
  'bad-method': { rpcCode: -32600, says: 'the method must be a string' },
  'bad-shape': { rpcCode: -32600, says: 'it is neither a request, a notification nor a response' },
  'duplicate-key': { rpcCode: -32600, says: 'this key occurs twice in its object' },
  'escaped-key': { rpcCode: -32600, says: 'this key must be written without escapes' },
  'too-many-members': { rpcCode: -32600, says: 'this object has too many members' },
} as const satisfies Record<string, Refusal>;

export type RefusalReason = keyof typeof refusals;

export class WireError extends Error {
  override readonly name = 'WireError';
  readonly reason: RefusalReason;
  readonly rpcCode: -32700 | -32600;
  /** Where in the bytes that were handed in; 0 where the encoding as a whole is wrong. */
  readonly offset: number;
  /** The id to answer with: null when there is none, or when it could not be told. */
  readonly id: number | string | null;

  constructor(reason: RefusalReason, offset: number, id: number | string | null = null) {
    // The cause is in the bytes, not in our code. Collecting the stack would cost ten times the rest,
    // and whoever floods us with bad JSON decides how often.
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
