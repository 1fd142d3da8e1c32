// Which token or credential a word means, and its end. A word is a name or an id; where several have the name, only
// an id tells them apart.

import { nearestWord } from '../config/nearest-word.ts';
import { Fault } from '../kernel/fault.ts';
import type { Records } from '../store/contract/records.ts';
import { type BrokerPlace, withCredentials } from './broker-place.ts';
import { type ListedCredential, listedCredentials, revokeCredential } from './credential-book.ts';
import type { Shell } from './shell.ts';
import { type ListedToken, listedTokens, revokeToken } from './token-book.ts';
import { type TokenOwner, type TokenRecords, withTokenRecords } from './token-records.ts';

export type Revoked = ListedToken | ListedCredential;

/** `owner` is the config with the tokens; undefined: only credentials are meant. Throws a Fault. */
export async function revokeAnywhere(
  shell: Shell,
  owner: TokenOwner | undefined,
  place: BrokerPlace,
  word: string,
): Promise<Revoked> {
  const revoke = (tokens: TokenRecords | undefined) =>
    withCredentials(shell, place, (credentials) => revokeNamed({ tokens, credentials }, word));
  return owner === undefined
    ? await revoke(undefined)
    : await withTokenRecords(shell, owner, revoke);
}

export interface RevocableRecords {
  readonly tokens: TokenRecords | undefined;
  readonly credentials: Records;
}

/** Resolves to what was revoked, when it is gone for good. Throws a Fault if there is none or several. */
export async function revokeNamed(
  { tokens, credentials }: RevocableRecords,
  word: string,
): Promise<Revoked> {
  const known: readonly Revoked[] = [
    ...(tokens === undefined ? [] : await listedTokens(tokens)),
    ...(await listedCredentials(credentials)),
  ];
  const byId = known.filter(({ id }) => id === word);
  const found = byId.length > 0 ? byId : known.filter((one) => isNamed(one, word));
  const [one, ...more] = found;
  if (one === undefined) throw unknownWord(word, known);
  if (more.length > 0) {
    const all = found.map(described).join(', ');
    throw new Fault(
      'invalid_request',
      `there are ${found.length} tokens '${word}'; name one by its id: ${all}`,
    );
  }
  if ('mailbox' in one) await revokeCredential(credentials, one);
  else if (tokens !== undefined) await revokeToken(tokens, one);
  return one;
}

function isNamed(one: Revoked, word: string): boolean {
  return one.name === word || ('mailbox' in one && one.mailbox === word);
}

function described(one: Revoked): string {
  return 'mailbox' in one ? `${one.id} (${one.kind})` : one.id;
}

function unknownWord(word: string, known: readonly Revoked[]): Fault {
  const near = nearestWord(
    word,
    known.flatMap(({ id, name }) => [name, id]),
  );
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  const told = `there is no token '${word}'${hint}; see: holdfast token list`;
  return new Fault('not_found', told);
}
