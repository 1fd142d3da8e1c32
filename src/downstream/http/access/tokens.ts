// Access tokens: a secret that its holder sends with every request, and a record from which the
// secret cannot be computed. The secret has 32 random bytes and is shown once; its SHA-256 is
// stored. An incoming secret is compared by its hash, and later, while we run, with secrets that
// were verified before; both in constant time. The first start creates a token for the local user;
// a token with a role is another record of the same kind. If a record cannot be read, no other
// token is created, because that would silently lock its holder out: the store reports what to do,
// and as soon as the record can be read again its token is valid. A first token that the disk
// refuses is valid while we run; the page that shows it says that it is not stored, and storing it
// is tried again.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { backoffMs } from '../../../kernel/backoff.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { localUser, type Principal } from '../../../policy/principal.ts';
import type { Records } from '../../../store/contract/records.ts';
import { StoreError } from '../../../store/store-error.ts';
import { type Authentication, type Authenticator, bearerChallenge } from './authenticator.ts';

export interface Tokens {
  /** The principal of this token; undefined if it is not valid, or has expired. */
  verify(bearer: string): Principal | undefined;
}

/** Every request shows a token, and is made as its holder. */
export function tokenAuthenticator(tokens: Tokens): Authenticator {
  return {
    authenticate({ token }): Authentication {
      const principal = token === undefined ? undefined : tokens.verify(token);
      return principal === undefined ? bearerChallenge(token) : { principal };
    },
  };
}

/** The stored record of a token, under its id. */
export interface TokenRecord {
  readonly id: string;
  /** SHA-256 of the secret, in hexadecimal digits. */
  readonly hash: string;
  readonly name: string;
  readonly role: string | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

export interface OpenedTokens {
  readonly tokens: Tokens;
  /** The secret of the token that this start created: it can be shown only now. */
  readonly secret: string | undefined;
  /** Whether that token is stored, so that it is valid after a restart, too. */
  readonly isKept: boolean;
  /** Everybody who has a token; undefined if some records could not be read. */
  readonly principals: readonly Principal[] | undefined;
}

/** The id of the local user's own token. */
const localId = 'local';

/** Reads the stored tokens, and creates the first one if there never was one. */
export async function openTokens(records: Records, clock: Clock): Promise<OpenedTokens> {
  const known = await tokensIn(records);
  const isWhole = await records.isWhole();
  if (known.length > 0 || !isWhole) {
    const tokens = new KeptTokens(known, clock);
    // Until everything has been read: what comes back is accepted from then on.
    const readAgain = async () => {
      tokens.know(await tokensIn(records));
      return records.isWhole();
    };
    if (!isWhole) keepTrying(clock, readAgain);
    const principals = isWhole ? known.map(principalOf) : undefined;
    return { tokens, secret: undefined, isKept: true, principals };
  }
  const secret = `hf_${randomBytes(32).toString('base64url')}`;
  const record: TokenRecord = {
    id: localId,
    hash: hash('sha256', secret, 'hex'),
    name: 'the local user',
    role: null,
    createdAt: clock.wallNow(),
    expiresAt: null,
  };
  const tokens = new KeptTokens([record], clock);
  const kept = await keep(records, record);
  // Until it is stored, or another has its place: then this one is valid as long as we run.
  const keepAgain = async () => (await keep(records, record)) !== 'refused';
  if (kept === 'refused') keepTrying(clock, keepAgain);
  const principals = [principalOf(record)];
  if (kept !== 'taken') return { tokens, secret, isKept: kept === 'kept', principals };
  // Another process has created the first token meanwhile: that one counts.
  tokens.know(await tokensIn(records));
  return { tokens, secret: undefined, isKept: true, principals };
}

/** Keeps the token of the local user, unless another one has been kept. */
async function keep(records: Records, record: TokenRecord): Promise<'kept' | 'taken' | 'refused'> {
  try {
    const put = await records.putIfAbsent(record.id, record);
    if (put.isPut) return 'kept';
    const there = put.entry?.value;
    if (!isTokenRecord(there) || there.hash !== record.hash) return 'taken';
    // Ours is there from an attempt that failed in its last step: it may not survive a power cut
    // yet.
    await records.put(record.id, record);
    return 'kept';
  } catch (error) {
    if (error instanceof StoreError && error.reason !== 'closed') return 'refused';
    throw error;
  }
}

const pause = { firstMs: 1_000, longestMs: 60_000 };

/** Later each time, until it is done. */
function keepTrying(clock: Clock, isDone: () => Promise<boolean>, attempts = 0): void {
  const attempt = async () => {
    if (!(await isDone())) keepTrying(clock, isDone, attempts + 1);
  };
  // A store that was closed meanwhile rejects: then there is nothing more to be done.
  clock.after(backoffMs(pause, attempts), () => void attempt().catch(() => {}), true);
}

async function tokensIn(records: Records): Promise<readonly TokenRecord[]> {
  const entries = await records.entries();
  return entries.map(({ value }) => value).filter(isTokenRecord);
}

interface Known {
  readonly hash: Buffer;
  readonly expiresAt: number;
  readonly principal: Principal;
}

/** A secret that was verified, as bytes. */
interface Remembered {
  readonly secret: Buffer;
  /** The buffer for an incoming secret to compare with it. */
  readonly guess: Buffer;
  readonly known: Known;
}

/** Hashing costs several times what comparing does, and the same few secrets come with every request. */
const mostRemembered = 8;

class KeptTokens implements Tokens {
  #known: readonly Known[] = [];
  readonly #clock: Clock;
  /** At most `mostRemembered`, until the records are read again. */
  readonly #remembered: Remembered[] = [];

  constructor(records: readonly TokenRecord[], clock: Clock) {
    this.#clock = clock;
    this.know(records);
  }

  /** Knows these from now on, and no others. */
  know(records: readonly TokenRecord[]): void {
    this.#remembered.length = 0;
    this.#known = records.map((record) => ({
      hash: Buffer.from(record.hash, 'hex'),
      expiresAt: record.expiresAt ?? Number.POSITIVE_INFINITY,
      principal: principalOf(record),
    }));
  }

  verify(bearer: string): Principal | undefined {
    const known = this.#recall(bearer) ?? this.#search(bearer);
    if (known === undefined || this.#clock.wallNow() >= known.expiresAt) return undefined;
    return known.principal;
  }

  /**
   * Compares with secrets that were verified before, in a time that depends only on their length.
   */
  #recall(bearer: string): Known | undefined {
    const bytes = Buffer.byteLength(bearer);
    let found: Known | undefined;
    for (const { secret, guess, known } of this.#remembered) {
      if (bytes !== secret.length) continue;
      guess.write(bearer);
      if (timingSafeEqual(guess, secret)) found = known;
    }
    return found;
  }

  /** Compares with all hashes: the time does not depend on which one matches, or how closely. */
  #search(bearer: string): Known | undefined {
    const digest = hash('sha256', bearer, 'buffer');
    let found: Known | undefined;
    for (const known of this.#known) if (timingSafeEqual(known.hash, digest)) found = known;
    if (found === undefined) return undefined;
    const secret = Buffer.from(bearer);
    this.#remembered.push({ secret, guess: Buffer.alloc(secret.length), known: found });
    if (this.#remembered.length > mostRemembered) this.#remembered.shift();
    return found;
  }
}

function principalOf({ id, role }: TokenRecord): Principal {
  return id === localId ? localUser : { id: `token:${id}`, role };
}

/** What comes back from a disk is a token only if it looks like one. */
export function isTokenRecord(value: unknown): value is TokenRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { id, hash, name, role, expiresAt } = value as Partial<Record<keyof TokenRecord, unknown>>;
  return (
    typeof id === 'string' &&
    typeof hash === 'string' &&
    /^[0-9a-f]{64}$/.test(hash) &&
    typeof name === 'string' &&
    (role === null || typeof role === 'string') &&
    (expiresAt === null || typeof expiresAt === 'number')
  );
}
