// A principal that a program gives us, by the library or from an authenticator: outside input, like everything
// else that is given. Its id must be one that can stand for a credential: it has no slash, because the ids of
// paths that narrow are made by adding one, so that it would be somebody else behind a path. Nor is it that of the
// local user: idempotency keys, private cache entries, sessions and budgets belong to an id.

import { Fault } from '../kernel/fault.ts';
import { cutOf, isLocalUser, isVerified, localUser, type Principal } from './principal.ts';

const maxIdLength = 256;

/** The principal, checked; the local user if none is given. Throws `invalid_request`. */
export function givenPrincipal(given: Principal | undefined): Principal {
  if (given === undefined) return localUser;
  const problem = principalProblem(given);
  if (problem !== undefined) throw new Fault('invalid_request', problem);
  return given;
}

/** Those that were looked at and can not change: every request asks. Bounded by the principals that are in use. */
const sound = new WeakSet<object>();

/** What is wrong with it, in a sentence; undefined if nothing is. */
export function principalProblem(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null) {
    return 'a principal is an object with an id and a role';
  }
  if (sound.has(given)) return undefined;
  const problem = problemOf(given);
  if (problem === undefined && isVerified(given)) sound.add(given);
  return problem;
}

function problemOf(given: object): string | undefined {
  // What we have made ourselves, and a guard may have passed on.
  const known = given as Principal;
  if (isLocalUser(known) || cutOf(known) !== undefined) return undefined;
  const { id, role } = given as { readonly id?: unknown; readonly role?: unknown };
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength) {
    return `the id of a principal is a text of 1 to ${maxIdLength} characters`;
  }
  if (id.includes('/') || hasControl(id)) {
    return 'the id of a principal has no slash and no control characters; encode it, for instance with encodeURIComponent';
  }
  if (id === localUser.id) {
    return `the id '${id}' is that of the local user; leave the principal out to act as the local user, or give it an id that begins with its kind, such as 'user:${id}'`;
  }
  if (role !== null && typeof role !== 'string')
    return 'the role of a principal is a text, or null';
  return undefined;
}

function hasControl(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  }
  return false;
}
