// A secret that its holder sends as a bearer token, and what is stored of it: its hash, from which it cannot be
// computed, under a random id that says nothing about it. It has 32 random bytes after a prefix that says what
// it is for.

import { hash, randomBytes } from 'node:crypto';

export interface NewSecret {
  /** It can be shown only now. */
  readonly secret: string;
  /** SHA-256 of the secret, in hexadecimal digits. */
  readonly hash: string;
}

export function newSecret(prefix: string): NewSecret {
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashOfSecret(secret) };
}

export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

export function newRecordId(): string {
  return randomBytes(8).toString('hex');
}

export function isSecretHash(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}
