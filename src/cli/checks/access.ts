// Checks of roles and tokens: patterns that match nothing, tokens whose role the config does not have, and
// tokens that have expired. A pattern is judged only where the lists that it is about are known.

import type { Config } from '../../config/schema.ts';
import { Pattern, patternKinds } from '../../policy/roles/pattern.ts';
import { type KnownThings, kindOf } from '../known-things.ts';
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

/** `servers`: the names of all servers of the config. */
export function checkPatterns(
  { roles }: Pick<Config, 'roles'>,
  servers: readonly string[],
  { things, unknown }: KnownThings,
): readonly Check[] {
  const matchesNothing = (text: string) => {
    const pattern = new Pattern(text);
    const isOpen = unknown.some(({ server, lists }) =>
      lists.some((list) => pattern.touches(kindOf({ list }), server)),
    );
    return (
      !isOpen && !things.some((thing) => pattern.matches(kindOf(thing), thing.server, thing.name))
    );
  };
  return Object.entries(roles).flatMap(([role, { allow, deny }]) =>
    [
      ...allow.map((text) => ['allow', text] as const),
      ...deny.map((text) => ['deny', text] as const),
    ]
      .filter(([, text]) => matchesNothing(text))
      .map(([key, text]) => {
        const told = `"${text}" in "${key}" of the role '${role}' matches nothing that the servers have`;
        const isServer = servers.some((server) =>
          patternKinds.some((kind) => new Pattern(text).touches(kind, server)),
        );
        return note('roles', isServer ? told : `${told}: there is no such server`);
      }),
  );
}
