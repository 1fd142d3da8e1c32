// Checks of tokens: those whose role the config does not have, those that have expired, and a front without
// authentication although there are some. The patterns of roles are checked in patterns.ts.

import type { Config } from '../../config/schema.ts';
import { Fault } from '../../kernel/fault.ts';
import { assertMeantOpen, assertSharedFront } from '../gateway/safe-start.ts';
import type { ListedToken } from '../token-book.ts';
import { type Check, finding, note } from './check.ts';

export function checkTokens(
  config: Pick<Config, 'roles'>,
  tokens: readonly ListedToken[],
  now: number,
): readonly Check[] {
  const roles = new Set(Object.keys(config.roles));
  return tokens.flatMap(({ name, role, expiresAt }): Check[] => {
    if (expiresAt !== null && expiresAt <= now) {
      const remedy = `remove it with: holdfast token revoke ${name}`;
      return [note('tokens', `the token '${name}' has expired; ${remedy}`)];
    }
    if (role === null || roles.has(role)) return [];
    return [
      finding(
        'tokens',
        `the token '${name}' may use nothing, because the config has no role '${role}'`,
        `add the role under "roles", or revoke the token with: holdfast token revoke ${name}`,
      ),
    ];
  });
}

/** What `serve` would refuse to start with; `tokens` as they are stored. */
export function checkOpenFront(
  { http, store }: Pick<Config, 'http' | 'store'>,
  tokens: readonly ListedToken[],
  now: number,
): readonly Check[] {
  if (http.auth !== 'none') return [];
  const valid = tokens.filter(
    ({ role, expiresAt }) => role !== null && (expiresAt === null || now < expiresAt),
  );
  try {
    assertSharedFront(http, store);
    assertMeantOpen({ ...http, tokens: valid.map(({ name }) => name) });
    return [];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [finding('http', `serve is ${error.message}`, 'then run: holdfast doctor')];
  }
}
