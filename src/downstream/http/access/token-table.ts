// The tokens that are valid now, and the principal of each. An incoming secret is compared by its hash, and
// later, while we run, with secrets that were verified before; both in constant time. The table is read from
// the stored records, and read again when they have changed. A record that cannot be read for the moment (the
// machine has a shortage, or its disk fails) keeps its token as it was. One that is gone or damaged ends it, and
// so does one that was made unreadable: what the next start would not accept is not accepted now.

import { hash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../kernel/clock.ts';
import { Turns } from '../../../kernel/turns.ts';
import { localUser, type Principal, verifiedPrincipal } from '../../../policy/principal.ts';
import type { RecordEntry, Records } from '../../../store/contract/records.ts';
import { type ReadRecords, readAgain } from '../../../store/read-again.ts';
import { isTokenRecord, localTokenId, type TokenRecord } from './token-record.ts';

export interface Tokens {
  /** The principal of this token; undefined if it is not valid, or has expired. */
  verify(bearer: string): Principal | undefined;
  /** Whether it is one whose time is over. */
  hasExpired(bearer: string): boolean;
}

/** Where tokens are stored, and what decides about their roles. */
export interface TokenSources {
  /** The local user's own token, which is valid for every config of this user. */
  readonly local: Records;
  /** Those of this config; undefined if it has no place of its own. */
  readonly own?: Records | undefined;
  /** Whether a role makes its holder an operator, now. */
  readonly isOperator: (role: string | null) => boolean;
}

interface Known {
  readonly id: string;
  readonly hash: Buffer;
  readonly expiresAt: number;
  readonly principal: Principal;
  /** Wall time; undefined: not since it was read first. */
  usedAt: number | undefined;
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

export class TokenTable implements Tokens {
  readonly #sources: TokenSources;
  readonly #clock: Clock;
  /** One for each record. */
  #known: readonly Known[] = [];
  #local: readonly TokenRecord[] = [];
  #own: readonly TokenRecord[] = [];
  /** The local user's, while the disk refuses it. */
  #unkept: TokenRecord | undefined;
  /** At most `mostRemembered`, until the records are read again. */
  readonly #remembered: Remembered[] = [];
  readonly #turns = new Turns(1);

  constructor(sources: TokenSources, clock: Clock) {
    this.#sources = sources;
    this.#clock = clock;
  }

  /** Reads the records; resolves to whether each of them could be read. */
  read(): Promise<boolean> {
    return this.#turns.run(async () => {
      const [local, own] = await Promise.all([
        recordsIn(this.#sources.local, this.#local),
        this.#sources.own && recordsIn(this.#sources.own, this.#own),
      ]);
      // Whatever else lies there belongs to no config.
      this.#local = local.records.filter(({ id }) => id === localTokenId);
      this.#own = own?.records ?? [];
      this.#know();
      return local.isWhole && (own?.isWhole ?? true);
    });
  }

  /** How many there are, expired ones included. */
  get size(): number {
    return this.#known.length;
  }

  /** Those whose tokens are valid now. */
  get principals(): readonly Principal[] {
    const now = this.#clock.wallNow();
    return this.#known.filter(({ expiresAt }) => now < expiresAt).map(({ principal }) => principal);
  }

  /** When each was last used, by id; only those that were. */
  get uses(): ReadonlyMap<string, number> {
    return new Map(
      this.#known.flatMap(({ id, usedAt }) => (usedAt === undefined ? [] : [[id, usedAt]])),
    );
  }

  /** It is valid as long as we run, whether it is stored or not; undefined: what is stored counts. */
  set unkept(record: TokenRecord | undefined) {
    this.#unkept = record;
    this.#know();
  }

  verify(bearer: string): Principal | undefined {
    const known = this.#recall(bearer) ?? this.#search(bearer);
    const now = this.#clock.wallNow();
    if (known === undefined || now >= known.expiresAt) return undefined;
    known.usedAt = now;
    return known.principal;
  }

  hasExpired(bearer: string): boolean {
    const known = this.#recall(bearer) ?? this.#search(bearer);
    return known !== undefined && this.#clock.wallNow() >= known.expiresAt;
  }

  #know(): void {
    const { uses } = this;
    const { isOperator } = this.#sources;
    const known = (record: TokenRecord, principal: Principal): Known => ({
      id: record.id,
      hash: Buffer.from(record.hash, 'hex'),
      expiresAt: record.expiresAt ?? Number.POSITIVE_INFINITY,
      principal,
      usedAt: uses.get(record.id),
    });
    const unkept = this.#unkept === undefined ? [] : [this.#unkept];
    this.#remembered.length = 0;
    this.#known = [
      ...[...this.#local, ...unkept].map((record) => known(record, localUser)),
      ...this.#own.map((record) => {
        const { id, role, name } = record;
        return known(
          record,
          verifiedPrincipal(`token:${id}`, role, () => isOperator(role), name),
        );
      }),
    ];
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

function recordsIn(
  records: Records,
  before: readonly TokenRecord[],
): Promise<ReadRecords<TokenRecord>> {
  return readAgain(records, before, tokenIn, ({ id }) => id);
}

/** Those that can be read. */
export async function storedTokens(records: Records): Promise<readonly TokenRecord[]> {
  const entries = await records.entries();
  return entries.map(tokenIn).filter((record) => record !== undefined);
}

function tokenIn({ key, value }: RecordEntry): TokenRecord | undefined {
  return isTokenRecord(value) && value.id === key ? value : undefined;
}
