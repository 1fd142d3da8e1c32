// An idempotency key as it is stored: whose it is, what it was used for, and how far its call has got.

export interface StoredKey {
  readonly owner: string;
  readonly fingerprint: string;
  /** `withdrawn`: its call has not run; it is there for a moment only. */
  readonly state: 'begun' | 'answered' | 'dropped' | 'withdrawn';
  readonly bytes: number;
  /** Wall time. */
  readonly expiresAt: number;
  /** The replica that has the call, while it runs. */
  readonly at?: string;
  /** The name of its claim there. */
  readonly claim?: string;
}

const states: ReadonlySet<unknown> = new Set(['begun', 'answered', 'dropped', 'withdrawn']);

export function isStoredKey(value: unknown): value is StoredKey {
  const { owner, fingerprint, state, bytes, expiresAt, at, claim } = (value ??
    {}) as Partial<StoredKey>;
  return (
    (at === undefined || typeof at === 'string') &&
    (claim === undefined || typeof claim === 'string') &&
    typeof owner === 'string' &&
    typeof fingerprint === 'string' &&
    states.has(state) &&
    typeof bytes === 'number' &&
    typeof expiresAt === 'number'
  );
}
