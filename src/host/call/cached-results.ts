// The cache as the pipeline uses it: may the result of this call be cached, is one cached, and may
// the new result be cached? A call that cannot be cached costs two look-ups and no hashing. A
// result is cached for clients that the server treats alike: its answer to a client that it can
// send requests to may differ from that to one that it cannot.

import type { CacheMark, ResponseCache } from '../../cache/cache.ts';
import { type CachedRequest, freshness, mayBeCached } from '../../cache/freshness.ts';
import { type CacheKey, cacheKey } from '../../cache/key.ts';
import { canonicalText } from '../../wire/canonical.ts';
import { booleanOf, numberOf, textOf } from '../../wire/decode.ts';
import type { EnvelopeKey } from '../../wire/envelope-keys.ts';
import type { Message } from '../../wire/scan.ts';
import type { Caller } from '../connections/caller.ts';
import type { Server } from '../servers/server.ts';
import type { CallRequest } from './call-parts.ts';

export interface Cacheable {
  readonly key: CacheKey;
  readonly subject: CachedRequest;
  readonly mark: CacheMark;
  /** The clients that the server treated alike when it was looked up. */
  readonly audience: string;
  readonly hit: Buffer | undefined;
}

/** Undefined when no result of this call could be cached. */
export function lookUp(
  cache: ResponseCache,
  server: Server,
  request: CallRequest,
): Cacheable | undefined {
  const { operation, principal, caller } = request;
  const { kind, name } = operation;
  if (kind !== 'tool' || name === null || operation.isFollowUp) return undefined;
  if (caller && server.dependsOnRoots(caller)) return undefined;
  const subject = subjectOf(server, name, caller);
  if (subject === undefined) return undefined;
  const args = typeof operation.args === 'string' ? Buffer.from(operation.args) : operation.args;
  const canonical = (json: Uint8Array) => canonicalText(json as Buffer);
  const audience = audienceNow(server, caller);
  const key = cacheKey(server.name, `tool:${name}`, principal.id, args, canonical, audience);
  if (key === null) return undefined;
  return { key, subject, mark: cache.mark(), audience, hit: cache.get(key) };
}

/**
 * Whether it is still true that the server does not answer this client differently from all others.
 */
export function isForAll(
  server: Server,
  { caller }: CallRequest,
  { audience }: Cacheable,
): boolean {
  return audienceNow(server, caller) === audience;
}

function audienceNow(server: Server, caller: Caller | undefined): string {
  if (caller === undefined) return '';
  return server.dependsOnRoots(caller) ? 'one call' : server.slots.audienceOf(caller);
}

function subjectOf(
  server: Server,
  tool: string,
  caller: Caller | undefined,
): CachedRequest | undefined {
  const { trusted } = server.config;
  const cacheMs = server.toolConfig(tool)?.cacheMs ?? null;
  if (!trusted && cacheMs === null) return undefined;
  // The lists of other clients say nothing about the tool that this one calls.
  const offered = server.isBorrowedFor(caller) ? undefined : server.catalogueFor(caller).find(tool);
  const readOnlyHint = offered?.tool.annotations.readOnlyHint === true;
  const subject: CachedRequest = { kind: 'tool', readOnlyHint, trusted, cacheMs };
  return mayBeCached(subject, false) ? subject : undefined;
}

export function keepResult(
  cache: ResponseCache,
  { key, subject, mark }: Cacheable,
  message: Message,
  result: Buffer,
): void {
  const hints = {
    ttlMs: read(message, 'ttlMs', numberOf),
    cacheScope: read(message, 'cacheScope', textOf),
    isError: read(message, 'isError', booleanOf),
    resultType: read(message, 'resultType', textOf),
  };
  const verdict = freshness(subject, hints, false);
  if (verdict.cacheable) cache.put(key, result, verdict.ttlMs, verdict.scope, mark);
}

/** The member's value; null when it is there but of another type, so that it counts as a claim. */
function read<T>(
  message: Message,
  key: EnvelopeKey,
  decode: (bytes: Buffer, span: { start: number; end: number }) => T | undefined,
): T | null | undefined {
  const span = message.resultObject?.get(key);
  return span === undefined ? undefined : (decode(message.bytes, span) ?? null);
}
