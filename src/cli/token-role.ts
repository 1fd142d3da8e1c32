// The role that a token is made for: one of the config.

import { nearestWord } from '../config/nearest-word.ts';
import { Fault } from '../kernel/fault.ts';

/** Throws a Fault that says which roles there are. */
export function knownRole(
  role: string | undefined,
  known: readonly string[],
  file: string | null,
): string {
  const none = `${file} has no roles: add one under "roles", such as "researcher": { "allow": ["docs/*"] }`;
  const all = known.length === 0 ? none : `the roles of ${file} are: ${known.join(', ')}`;
  if (role === undefined) {
    throw new Fault(
      'invalid_request',
      `--role is missing: a token may use what its role allows, so name one with --role ROLE; ${all}`,
    );
  }
  if (known.includes(role)) return role;
  const near = nearestWord(role, known);
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  throw new Fault('invalid_request', `there is no role '${role}' in the config${hint}; ${all}`);
}
