// The access tokens of a gateway, from its start. The first start that listens creates a token for the local
// user, unless there are others for this config. If a record cannot be read, no token is created, because that would
// silently lock its holder out: the store reports what to do, and as soon as the record can be read again
// its token is valid. A first token that the disk refuses is valid while we run; the page that shows it says
// that it is not stored, and storing it is tried again.

import { backoffMs } from '../../../kernel/backoff.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Caught } from '../../../kernel/contain.ts';
import { localUser, type Principal } from '../../../policy/principal.ts';
import type { Records } from '../../../store/contract/records.ts';
import { StoreError } from '../../../store/store-error.ts';
import {
  type Authentication,
  type Authenticator,
  bearerChallenge,
  tokenExpired,
} from './authenticator.ts';
import {
  isSecretOfToken,
  isTokenRecord,
  localTokenId,
  newToken,
  type TokenRecord,
} from './token-record.ts';
import { type TokenSources, type Tokens, TokenTable } from './token-table.ts';

/**
 * Every request shows a token, and is made as its holder. One that is not known may have been added just now:
 * `lookNow` reads what has changed, before it is refused.
 */
export function tokenAuthenticator(
  tokens: Tokens,
  lookNow?: () => Promise<void> | undefined,
): Authenticator {
  const known = (token: string): Authentication | undefined => {
    const principal = tokens.verify(token);
    if (principal !== undefined) return { principal };
    return tokens.hasExpired(token) ? tokenExpired : undefined;
  };
  return {
    authenticate({ token }): Authentication | Promise<Authentication> {
      if (token === undefined) return bearerChallenge(token);
      const found = known(token);
      if (found !== undefined) return found;
      const looked = isSecretOfToken(token) ? lookNow?.() : undefined;
      return looked?.then(() => known(token) ?? bearerChallenge(token)) ?? bearerChallenge(token);
    },
  };
}

/** The token that this start created. */
export interface FirstToken {
  /** It can be shown only now. */
  readonly secret: string;
  /** Whether it is stored, so that it is valid after a restart, too. */
  readonly isKept: boolean;
}

export interface OpenedTokens {
  readonly tokens: TokenTable;
  /** Everybody who has a token, or will have the first one; undefined if some records could not be read. */
  readonly principals: readonly Principal[] | undefined;
  /**
   * Creates the token of the local user if there is none at all. Called when it can be shown: a start that
   * fails before must not leave one behind that nobody has seen.
   */
  readonly makeFirst: () => Promise<FirstToken | undefined>;
}

/** Reads the stored tokens. */
export async function openTokens(
  sources: TokenSources,
  clock: Clock,
  caught: Caught,
): Promise<OpenedTokens> {
  const tokens = new TokenTable(sources, clock);
  const isWhole = await tokens.read();
  // Until everything has been read: what comes back is accepted from then on.
  if (!isWhole) keepTrying({ clock, caught, isDone: () => tokens.read() });
  if (tokens.size > 0 || !isWhole) {
    const principals = isWhole ? tokens.principals : undefined;
    return { tokens, principals, makeFirst: async () => undefined };
  }
  const makeFirst = () => firstToken(tokens, sources, clock, caught);
  return { tokens, principals: [localUser], makeFirst };
}

async function firstToken(
  tokens: TokenTable,
  sources: TokenSources,
  clock: Clock,
  caught: Caught,
): Promise<FirstToken | undefined> {
  const about = { name: 'the local user', role: null, createdAt: clock.wallNow(), expiresAt: null };
  const { record, secret } = newToken(about, localTokenId);
  const kept = await keep(sources.local, record);
  // Until it is stored, or another has its place: then this one is valid as long as we run.
  const keepAgain = async () => {
    const again = await keep(sources.local, record);
    if (again === 'kept') {
      await tokens.read();
      tokens.unkept = undefined;
    }
    return again !== 'refused';
  };
  if (kept === 'refused') {
    tokens.unkept = record;
    keepTrying({ clock, caught, isDone: keepAgain });
  } else {
    await tokens.read();
  }
  // Another process has created the first token meanwhile: that one counts.
  return kept === 'taken' ? undefined : { secret, isKept: kept === 'kept' };
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

interface Trying {
  readonly clock: Clock;
  readonly isDone: () => Promise<boolean>;
  readonly caught: Caught;
}

/** Later each time, until it is done. An error that nobody expects is reported, and it is tried again, too. */
function keepTrying(trying: Trying, attempts = 0): void {
  const { clock, isDone, caught } = trying;
  const attempt = async () => {
    try {
      if (await isDone()) return;
    } catch (error) {
      // The store was closed meanwhile: there is nothing more to be done.
      if (error instanceof StoreError && error.reason === 'closed') return;
      caught(error);
    }
    keepTrying(trying, attempts + 1);
  };
  clock.after(backoffMs(pause, attempts), () => void attempt().catch(caught), true);
}
