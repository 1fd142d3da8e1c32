// What Holdfast keeps beyond one call, as a contract: JSON values under keys, in named collections (the
// verdicts about servers, their catalogues, the answers to idempotency keys), each with an optional time
// to live. Keeping is asynchronous, so a caller that does not need the store must not ask it. The rule for
// every implementation: a put that has resolved is seen by every later get; the last put wins; a value is
// gone at the instant its time is over; what is read back is a copy. What a value means is for the caller:
// `get` gives `unknown`, and a caller that says what its values look like gets no others from a disk.

export interface Entry {
  readonly key: string;
  readonly value: unknown;
}

export interface PutOptions {
  /** How long the value lives; without it, until it is removed. */
  readonly ttlMs?: number;
}

export interface Collection {
  /** The value, or undefined when there is none. */
  get(key: string): Promise<unknown>;
  put(key: string, value: unknown, options?: PutOptions): Promise<void>;
  /** Forgetting what is not there is no error. */
  remove(key: string): Promise<void>;
  /** All living values whose key starts with the prefix, in the order of their keys. */
  entries(prefix?: string): Promise<readonly Entry[]>;
  /**
   * Could everything be read that was ever kept here? If not, the user has been told what is missing.
   * For callers to whom a value that cannot be read is not the same as one that was never put.
   */
  isWhole(): Promise<boolean>;
}

/** Whether what is kept can be written. */
export type StoreHealth =
  | {
      /** Everything that was to be kept is kept. */
      readonly ok: true;
    }
  | {
      /** Something could not be kept. */
      readonly ok: false;
      /** What does not work, and what to do, in one line. */
      readonly problem: string;
    };

/** Can this be a value of the collection, of this version or another? One that cannot counts as damaged. */
export type Shape = (value: unknown) => boolean;

export interface Store extends AsyncDisposable {
  /** A collection by its name: lower-case letters, digits and hyphens. */
  collection(name: string, shape?: Shape): Collection;
  health(): StoreHealth;
  /** Ends the store once everything that was put is kept as well as it can be. */
  close(): Promise<void>;
}

export function isCollectionName(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,63}$/.test(name);
}

export function assertCollectionName(name: string): void {
  if (!isCollectionName(name)) throw new TypeError(`"${name}" cannot be the name of a collection`);
}

/** The JSON text of a value; what JSON cannot say is a defect of the caller. */
export function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError('a store keeps JSON values only');
  return text;
}
