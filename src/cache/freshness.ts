// Whether a result may be kept, for how long and for whom: one pure decision. The catalogue (lists,
// discover, resources/read) follows the server's own hints. A tool result is kept only on the
// operator's word, or when a trusted server calls the tool read-only and gives its result a time.
// `idempotentHint` has no say: set 1, set 2, set 1 is three calls. Anything that is not a plain,
// complete, successful answer to a one-round request is never kept. Faults do not come here.

export type CacheScope = 'public' | 'private';

export type Freshness =
  | { readonly cacheable: false }
  | { readonly cacheable: true; readonly ttlMs: number; readonly scope: CacheScope };

/** What is known before the call goes out. */
export type Subject =
  | { readonly kind: 'catalogue' }
  | {
      readonly kind: 'tool';
      readonly readOnlyHint: boolean;
      /** May the server's annotations and hints decide? */
      readonly trusted: boolean;
      /** The operator's word: a time, 0 for never, null for none given. */
      readonly cacheMs: number | null;
    };

/** What the result says about itself, as it came: nothing here has been checked. */
export interface ResultHints {
  readonly ttlMs: unknown;
  readonly cacheScope: unknown;
  readonly isError: unknown;
  /** Absent from a legacy server, where it means `complete`. */
  readonly resultType: unknown;
}

/** Longer times are cut to this. */
export const maxTtlMs = 24 * 60 * 60 * 1000;

/**
 * Could any result of this request be kept? If not, the pipeline neither hashes nor looks. A
 * multi-round request carries `inputResponses` or `requestState`, or asks for a task.
 */
export function mayBeCached(subject: Subject, isMultiRound: boolean): boolean {
  if (isMultiRound) return false;
  if (subject.kind === 'catalogue') return true;
  if (subject.cacheMs !== null) return subject.cacheMs > 0;
  return subject.trusted && subject.readOnlyHint;
}

export function freshness(subject: Subject, hints: ResultHints, isMultiRound: boolean): Freshness {
  if (!mayBeCached(subject, isMultiRound) || !isPlainAnswer(hints)) return notCacheable;
  const operatorMs = subject.kind === 'tool' ? subject.cacheMs : null;
  const ttlMs = Math.min(operatorMs ?? serverTtlMs(hints.ttlMs), maxTtlMs);
  if (!(ttlMs > 0)) return notCacheable;
  return { cacheable: true, ttlMs, scope: scopeOf(hints.cacheScope) };
}

const notCacheable: Freshness = { cacheable: false };

/** `input_required`, tasks and every type we do not know are steps, not answers. */
function isPlainAnswer({ isError, resultType }: ResultHints): boolean {
  const isSuccess = isError === undefined || isError === false;
  return isSuccess && (resultType === undefined || resultType === 'complete');
}

/** The specification asks for a whole number; absent, negative or anything else counts as 0. */
export function serverTtlMs(ttlMs: unknown): number {
  return typeof ttlMs === 'number' && Number.isInteger(ttlMs) && ttlMs > 0 ? ttlMs : 0;
}

/** Only the exact word is public; whatever we do not understand is shared with nobody. */
export function scopeOf(cacheScope: unknown): CacheScope {
  return cacheScope === 'public' ? 'public' : 'private';
}
