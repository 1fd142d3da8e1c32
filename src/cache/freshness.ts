// Decides whether a result may be cached, for how long and for whom; a pure function. Results of
// the catalogue (lists, discover, resources/read) follow the server's own hints. A tool result is
// cached only if the operator configured it, or if a trusted server marks the tool read-only and
// gives its result a time to live. `idempotentHint` is not used: repeated writes must always run.
// Only a plain, complete, successful answer to a one-round request is cached. Faults are not passed
// to this function.

export type CacheScope = 'public' | 'private';

export type Freshness =
  | { readonly cacheable: false }
  | { readonly cacheable: true; readonly ttlMs: number; readonly scope: CacheScope };

/** What is known before the call is sent. */
export type CachedRequest =
  | { readonly kind: 'catalogue' }
  | {
      readonly kind: 'tool';
      readonly readOnlyHint: boolean;
      /** Whether the server's annotations and hints may decide. */
      readonly trusted: boolean;
      /** The operator's setting: a time, 0 for never, null if it is not set. */
      readonly cacheMs: number | null;
    };

/** The members of the result, as received: they have not been validated. */
export interface ResultHints {
  readonly ttlMs: unknown;
  readonly cacheScope: unknown;
  readonly isError: unknown;
  /** Absent in results of legacy servers, where it means `complete`. */
  readonly resultType: unknown;
}

/** Longer times are reduced to this. */
export const maxTtlMs = 24 * 60 * 60 * 1000;

/**
 * Whether any result of this request could be cached. If not, the pipeline computes no key and does
 * no look-up. A multi-round request has `inputResponses` or `requestState`, or asks for a task.
 */
export function mayBeCached(subject: CachedRequest, isMultiRound: boolean): boolean {
  if (isMultiRound) return false;
  if (subject.kind === 'catalogue') return true;
  if (subject.cacheMs !== null) return subject.cacheMs > 0;
  return subject.trusted && subject.readOnlyHint;
}

export function freshness(
  subject: CachedRequest,
  hints: ResultHints,
  isMultiRound: boolean,
): Freshness {
  if (!mayBeCached(subject, isMultiRound) || !isPlainAnswer(hints)) return notCacheable;
  const operatorMs = subject.kind === 'tool' ? subject.cacheMs : null;
  const ttlMs = Math.min(operatorMs ?? serverTtlMs(hints.ttlMs), maxTtlMs);
  if (!(ttlMs > 0)) return notCacheable;
  return { cacheable: true, ttlMs, scope: scopeOf(hints.cacheScope) };
}

const notCacheable: Freshness = { cacheable: false };

/** `input_required`, tasks and unknown types are not final answers. */
function isPlainAnswer({ isError, resultType }: ResultHints): boolean {
  const isSuccess = isError === undefined || isError === false;
  return isSuccess && (resultType === undefined || resultType === 'complete');
}

/** The specification asks for a whole number; absent, negative or anything else counts as 0. */
export function serverTtlMs(ttlMs: unknown): number {
  return typeof ttlMs === 'number' && Number.isInteger(ttlMs) && ttlMs > 0 ? ttlMs : 0;
}

/** Only the exact word is public; every other value is treated as private. */
export function scopeOf(cacheScope: unknown): CacheScope {
  return cacheScope === 'public' ? 'public' : 'private';
}
