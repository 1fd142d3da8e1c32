// The keys that Holdfast looks up in the objects it reads: the members of a message's `params`,
// `result`, `error` and `_meta`, and of the definitions in a catalogue. The list is closed, so that
// `ObjectSpan.get` accepts only keys on it, and so that keys written with escapes are refused for
// exactly these (docs/envelope.md): a peer that compares raw bytes must never read another document
// than we do. All are ASCII.

import { envelopeKeys } from './eras.ts';

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
  'type',
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
  envelopeKeys.protocolVersion,
  envelopeKeys.clientInfo,
  envelopeKeys.clientCapabilities,
  envelopeKeys.serverInfo,
  envelopeKeys.logLevel,
  envelopeKeys.subscriptionId,
  envelopeKeys.relatedTask,
  'holdfast/idempotencyKey',
  'holdfast/fault',
] as const;

export type EnvelopeKey = (typeof knownKeys)[number];

const known: ReadonlySet<string> = new Set(knownKeys);

/**
 * Whether this spelling of a key, between its quotes, must not contain escapes. `\/` does not
 * count: it is the one escape that common encoders write by default (PHP does, in every key of
 * `_meta` that has a prefix), and `get` finds such a key like any other.
 */
export function isDisguised(spelling: string, key: string): boolean {
  return known.has(key) && spelling.replaceAll('\\/', '/') !== key;
}
