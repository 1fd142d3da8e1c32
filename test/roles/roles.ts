// The roles of the tables: every form of a pattern, alone and together, and those that must be nothing.

import type { Rules } from './oracle.ts';

export const roles: Readonly<Record<string, Rules>> = {
  everything: { allow: ['*'] },
  nothing: { allow: [] },
  'all-tools': { allow: ['*/*'] },
  'tools-of-alpha': { allow: ['alpha/*'] },
  'one-tool': { allow: ['beta/read'] },
  'flat-names': { allow: ['alpha__read', 'beta__*', 'prompt:gamma__p'] },
  'prompts-only': { allow: ['prompt:*'] },
  'prompts-of-beta': { allow: ['prompt:beta/*'] },
  'resources-only': { allow: ['resource:*'] },
  'resources-of-gamma': { allow: ['resource:gamma/*'] },
  'one-resource': { allow: ['resource:alpha/x://alpha/a', 'resource:beta/y://*'] },
  'shared-of-gamma': { allow: ['resource:gamma/x://both', 'gamma/write'] },
  'whole-alpha': { allow: ['alpha/*', 'prompt:alpha/*', 'resource:alpha/*'] },
  'all-but-gamma': { allow: ['*'], deny: ['gamma/*', 'prompt:gamma/*', 'resource:gamma/*'] },
  'all-but-write': { allow: ['*'], deny: ['*/write', 'prompt:*/q', 'resource:*/x://both'] },
  'middle-star': { allow: ['*/*r*', 'prompt:a*/p', 'resource:*/z://*'] },
  'addresses-but-a': { allow: ['resource:*'], deny: ['resource:*/x://*/a'] },
  'addresses-in-alpha': { allow: ['resource:alpha/x://alpha/b', 'resource:alpha/x://alpha/{*'] },
  'denied-itself': { allow: ['alpha/*'], deny: ['*'] },
  'host-tools': { allow: ['holdfast/*', 'beta/read'] },
  operator: { allow: ['beta/*'], operator: true },
  'operator-of-read': { allow: ['holdfast/*', 'beta/read'], operator: true },
};

/** Roles that a credential may name and the config does not have. */
export const absent = [null, 'constructor', '__proto__', 'Everything'] as const;

export const everybody: readonly (string | null)[] = [...Object.keys(roles), ...absent];

export function rulesOf(role: string | null): Rules | undefined {
  return role !== null && Object.hasOwn(roles, role) ? roles[role] : undefined;
}
