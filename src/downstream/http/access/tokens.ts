// Access tokens: a secret that its holder sends with every request, and a record of it that cannot
// be turned back into the secret. The secret is made of 32 random bytes and shown once; what is kept
// is its SHA-256. What comes in is compared hash to hash, and after that, while we run, with what was
// found good before; both in a time that says nothing. The first start makes a token for the local
// user; a token with a role is another record of the same kind. Where a record cannot be read, no other
// token is made, which would lock its holder out without a word: the store says what to do about it, and as
// soon as the record can be read again its token is good. A first token that the disk refuses is good all
// the same while we run, whoever shows it says that it is not kept, and we go on trying to keep it.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../kernel/clock.ts';
import { localUser, type Principal } from '../../../policy/principal.ts';
import type { Records } from '../../../store/contract/records.ts';
import { StoreError } from '../../../store/store-error.ts';
import { type Authentication, type Authenticator, bearerChallenge } from './authenticator.ts';

export interface Tokens {
  /** Whose token this is; undefined if it is nobody's, or its time is over. */
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

/** What is kept of a token, under its id. */
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
  /** The secret of the token that this start made: to be shown now, or never. */
  readonly secret: string | undefined;
  /** Is that token kept, so that it is good after a restart, too? */
  readonly isKept: boolean;
}

/** The id of the local user's own token. */
const localId = 'local';

/** Reads what is kept, durably, and makes the first token if there never was one. */
export async function openTokens(records: Records, clock: Clock): Promise<OpenedTokens> {
  const known = await tokensIn(records);
  const isWhole = await records.isWhole();
  if (known.length > 0 || !isWhole) {
    const tokens = new KeptTokens(known, clock);
    if (!isWhole) keepReading(records, clock, tokens, firstPauseMs);
    return { tokens, secret: undefined, isKept: true };
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
  if (kept === 'refused') keepWriting(records, clock, record, firstPauseMs);
  if (kept !== 'taken') return { tokens, secret, isKept: kept === 'kept' };
  // Another process has made the first token meanwhile: that one counts.
  tokens.know(await tokensIn(records));
  return { tokens, secret: undefined, isKept: true };
}

/** Keeps the token of the local user, unless another one has been kept. */
async function keep(records: Records, record: TokenRecord): Promise<'kept' | 'taken' | 'refused'> {
  try {
    const put = await records.putIfAbsent(record.id, record);
    if (put.isPut) return 'kept';
    const there = put.entry?.value;
    if (!isTokenRecord(there) || there.hash !== record.hash) return 'taken';
    // Ours is there from an attempt that was refused in its last step: it may not outlive a power cut yet.
    await records.put(record.id, record);
    return 'kept';
  } catch (error) {
    if (error instanceof StoreError && error.reason !== 'closed') return 'refused';
    throw error;
  }
}

/** Until it is kept, or another has its place: then this one is good as long as we run. */
function keepWriting(records: Records, clock: Clock, record: TokenRecord, pauseMs: number): void {
  const write = async () => {
    if ((await keep(records, record)) !== 'refused') return;
    keepWriting(records, clock, record, Math.min(longestPauseMs, 2 * pauseMs));
  };
  // A store that was closed meanwhile rejects: then there is nothing more to be done.
  clock.after(pauseMs, () => void write().catch(() => {}), true);
}

async function tokensIn(records: Records): Promise<readonly TokenRecord[]> {
  const entries = await records.entries();
  return entries.map(({ value }) => value).filter(isTokenRecord);
}

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

/** Until everything has been read: what comes back is accepted from then on. */
function keepReading(records: Records, clock: Clock, tokens: KeptTokens, pauseMs: number): void {
  const read = async () => {
    tokens.know(await tokensIn(records));
    if (await records.isWhole()) return;
    keepReading(records, clock, tokens, Math.min(longestPauseMs, 2 * pauseMs));
  };
  // A store that was closed meanwhile rejects: then nobody needs its tokens any more.
  clock.after(pauseMs, () => void read().catch(() => {}), true);
}

interface Known {
  readonly hash: Buffer;
  readonly expiresAt: number;
  readonly principal: Principal;
}

/** A secret that was verified, as bytes. */
interface Remembered {
  readonly secret: Buffer;
  /** Where a secret that comes in is put to be compared with it. */
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

  /** Compares with secrets that were verified before, in a time that depends on their length alone. */
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

  /** Compares hashes with all of them: which one it is, or how near it came, takes no other time. */
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
