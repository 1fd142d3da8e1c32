// The keys that Holdfast looks up in the objects it reads: the members of a message's `params`,
// `result`, `error` and `_meta`, and of the definitions in a catalogue. The list is closed, so that
// `ObjectSpan.get` cannot be asked for a key that is not on it, and so that "written with escapes"
// is refused for exactly these (docs/envelope.md): a peer that compares raw bytes must never read
// another document than we do. All are ASCII.

export const knownKeys = [
  // the message
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
  // params
  'name',
  'uri',
  'arguments',
  'cursor',
  'ref',
  'argument',
  'context',
  'level',
  'task',
  'taskId',
  'requestId',
  'reason',
  'progressToken',
  'progress',
  'total',
  'inputResponses',
  'requestState',
  'notifications',
  'mode',
  'elicitationId',
  'protocolVersion',
  'capabilities',
  'clientInfo',
  // result
  'resultType',
  'isError',
  'content',
  'structuredContent',
  'ttlMs',
  'cacheScope',
  'inputRequests',
  'nextCursor',
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'skills',
  'contents',
  'supportedVersions',
  'instructions',
  'serverInfo',
  'roots',
  'status',
  'ttl',
  'pollIntervalMs',
  // error
  'code',
  'message',
  'data',
  // definitions
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  'readOnlyHint',
  'destructiveHint',
  'idempotentHint',
  'openWorldHint',
  'icons',
  'execution',
  'taskSupport',
  'uriTemplate',
  'mimeType',
  'size',
  // _meta
  '_meta',
  'traceparent',
  'tracestate',
  'baggage',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/serverInfo',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/subscriptionId',
  'io.modelcontextprotocol/related-task',
  'holdfast/idempotencyKey',
  'holdfast/fault',
] as const;

export type EnvelopeKey = (typeof knownKeys)[number];

const known: ReadonlySet<string> = new Set(knownKeys);

/**
 * Is this spelling of a key, between its quotes, one that must not carry escapes? `\/` does not
 * count: it is the one escape that encoders in use write unasked (PHP does, in every key of
 * `_meta` that has a prefix), and `get` finds such a key like any other.
 */
export function isDisguised(spelling: string, key: string): boolean {
  return known.has(key) && spelling.replaceAll('\\/', '/') !== key;
}
