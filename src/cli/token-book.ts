// The tokens of a config as commands see and change them: added, listed, revoked. A name is unique among
// them; where two processes have added the same one at once, only the id tells them apart.

import {
  isTokenName,
  localTokenId,
  type NewToken,
  newToken,
  type TokenRecord,
} from '../downstream/http/access/token-record.ts';
import { storedTokens } from '../downstream/http/access/token-table.ts';
import { lastUses } from '../downstream/http/access/token-uses.ts';
import { Fault } from '../kernel/fault.ts';
import type { TokenRecords } from './token-records.ts';

/** Every request without a valid token is compared with each of them. */
const maxTokens = 1_000;

export interface ListedToken extends Omit<TokenRecord, 'hash'> {
  /** Wall time; null: never, or not known. */
  readonly lastUsedAt: number | null;
}

/** Oldest first; that of the local user is the first. */
export async function listedTokens({ local, own, uses }: TokenRecords): Promise<ListedToken[]> {
  const used = await lastUses(uses);
  const locals = (await storedTokens(local)).filter(({ id }) => id === localTokenId);
  const owns = (await storedTokens(own)).toSorted((one, other) => one.createdAt - other.createdAt);
  return [...locals, ...owns].map(({ hash: _, ...token }) => ({
    ...token,
    lastUsedAt: used.get(token.id) ?? null,
  }));
}

export interface TokenWish {
  readonly role: string;
  /** Undefined: one is made of the role. */
  readonly name: string | undefined;
  /** Wall time. */
  readonly now: number;
  readonly expiresAt: number | null;
}

/** Resolves when it is stored. Throws a Fault. */
export async function addToken(records: TokenRecords, wish: TokenWish): Promise<NewToken> {
  const { role, now, expiresAt } = wish;
  const known = await listedTokens(records);
  if (known.length >= maxTokens) {
    throw refusal(
      `there are ${maxTokens} tokens, which is the most; revoke one that is not needed with: holdfast token revoke NAME`,
    );
  }
  const taken = new Set(known.flatMap(({ id, name }) => [id, name]));
  const name = wish.name ?? freeName(role, taken);
  if (!isTokenName(name)) {
    throw refusal(
      `'${name}' cannot be the name of a token: use 1 to 64 letters, digits, dots, underscores and hyphens`,
    );
  }
  if (taken.has(name) || name === localTokenId) {
    throw refusal(
      `there is a token '${name}' already; choose another name, or revoke that one with: holdfast token revoke ${name}`,
    );
  }
  const token = newToken({ name, role, createdAt: now, expiresAt });
  await records.own.put(token.record.id, token.record);
  return token;
}

/** The role, or the role with the first free number. */
function freeName(role: string, taken: ReadonlySet<string>): string {
  if (!taken.has(role)) return role;
  const start = role.slice(0, 58);
  let number = 2;
  while (taken.has(`${start}-${number}`)) number += 1;
  return `${start}-${number}`;
}

/** Resolves when it is gone for good. */
export async function revokeToken(records: TokenRecords, { id }: ListedToken): Promise<void> {
  if (id === localTokenId) await records.local.remove(id);
  await records.own.remove(id);
  await records.uses.remove(id);
}

function refusal(text: string): Fault {
  return new Fault('invalid_request', text);
}
