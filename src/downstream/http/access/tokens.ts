// The access tokens of a gateway, from its start. The first start creates a token for the local user, unless
// there are others for this config. If a record cannot be read, no token is created, because that would
// silently lock its holder out: the store reports what to do, and as soon as the record can be read again
// its token is valid. A first token that the disk refuses is valid while we run; the page that shows it says
// that it is not stored, and storing it is tried again.

import { backoffMs } from '../../../kernel/backoff.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Principal } from '../../../policy/principal.ts';
import type { Records } from '../../../store/contract/records.ts';
import { StoreError } from '../../../store/store-error.ts';
import { type Authentication, type Authenticator, bearerChallenge } from './authenticator.ts';
import { isTokenRecord, localTokenId, newToken, type TokenRecord } from './token-record.ts';
import { type TokenSources, type Tokens, TokenTable } from './token-table.ts';

/** Every request shows a token, and is made as its holder. */
export function tokenAuthenticator(tokens: Tokens): Authenticator {
  return {
    authenticate({ token }): Authentication {
      const principal = token === undefined ? undefined : tokens.verify(token);
      return principal === undefined ? bearerChallenge(token) : { principal };
    },
  };
}

export interface OpenedTokens {
  readonly tokens: TokenTable;
  /** The secret of the token that this start created: it can be shown only now. */
  readonly secret: string | undefined;
  /** Whether that token is stored, so that it is valid after a restart, too. */
  readonly isKept: boolean;
  /** Everybody who has a token; undefined if some records could not be read. */
  readonly principals: readonly Principal[] | undefined;
}

/** Reads the stored tokens, and creates the first one if there never was one. */
export async function openTokens(sources: TokenSources, clock: Clock): Promise<OpenedTokens> {
  const tokens = new TokenTable(sources, clock);
  const isWhole = await tokens.read();
  // Until everything has been read: what comes back is accepted from then on.
  if (!isWhole) keepTrying(clock, () => tokens.read());
  if (tokens.size > 0 || !isWhole) {
    const principals = isWhole ? tokens.principals : undefined;
    return { tokens, secret: undefined, isKept: true, principals };
  }
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
    keepTrying(clock, keepAgain);
  } else {
    await tokens.read();
  }
  const { principals } = tokens;
  // Another process has created the first token meanwhile: that one counts.
  if (kept === 'taken') return { tokens, secret: undefined, isKept: true, principals };
  return { tokens, secret, isKept: kept === 'kept', principals };
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
