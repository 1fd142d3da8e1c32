// One access token: a secret that its holder sends with every request, and the record that is stored of it,
// from which the secret cannot be computed. The id says nothing about the name: it is what the principal of the
// token is known by. Other files decide where records are stored and who may use one.

import { isSecretHash, newRecordId, newSecret } from '../../../kernel/bearer-secret.ts';

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

/** The id of the local user's own token. */
export const localTokenId = 'local';

/** Names and ids; an id becomes part of the id of a principal, which must not contain a slash. */
const word = /^[A-Za-z0-9._-]{1,64}$/;

export function isTokenName(name: string): boolean {
  return word.test(name);
}

/** What no token of ours can look like need not be looked for. */
export function isSecretOfToken(secret: string): boolean {
  return /^hf_[A-Za-z0-9_-]{43}$/.test(secret);
}

export interface NewToken {
  readonly record: TokenRecord;
  /** It can be shown only now. */
  readonly secret: string;
}

export function newToken(about: Omit<TokenRecord, 'hash' | 'id'>, id = newRecordId()): NewToken {
  const { secret, hash } = newSecret('hf');
  return { record: { ...about, id, hash }, secret };
}

/** What comes back from a disk is a token only if it looks like one. */
export function isTokenRecord(value: unknown): value is TokenRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { id, hash, name, role, createdAt, expiresAt } = value as Partial<
    Record<keyof TokenRecord, unknown>
  >;
  return (
    typeof id === 'string' &&
    word.test(id) &&
    isSecretHash(hash) &&
    typeof name === 'string' &&
    (role === null || typeof role === 'string') &&
    typeof createdAt === 'number' &&
    (expiresAt === null || typeof expiresAt === 'number')
  );
}
