// Who makes a request. A principal is created in one place only, where a credential has been
// verified (a token's hash, a signed JWT, the peer of a socket, a broker's credential); nothing
// that a caller writes into a message, a header or a path ever becomes part of one. The id begins
// with the kind of credential (`token:…`, `jwt:…`), because private cache entries and idempotency
// keys belong to an id: two credentials with the same id are the same principal. A path of the
// gateway can take rights away (`/mcp/s/SERVER`): the same principal behind such a path has an id of
// its own, so that nothing of one path is valid under another.

/** On whose behalf something is done. */
export interface Principal {
  /** The id, beginning with the kind of credential, such as `token:ci`: 1 to 256 characters, no slash, not `local`. */
  readonly id: string;
  /** The role whose rules apply; null when the credential names none. */
  readonly role: string | null;
}

/** What a path leaves of a principal's rights. */
export type Cut =
  /** One server. */
  | { readonly kind: 'server'; readonly name: string }
  /** What this role may do, too. */
  | { readonly kind: 'role'; readonly name: string };

interface Verified {
  /** What people call the credential. */
  readonly name?: string;
  readonly isLocal?: boolean;
  readonly isOperator?: () => boolean;
  readonly cut?: Cut;
  /** Whether the path leaves the rights of an operator. */
  readonly mayOperate?: () => boolean;
  readonly owner?: Principal;
}

/** Of a verified credential. A plain object with the same fields is not one. */
class VerifiedPrincipal implements Principal {
  readonly id: string;
  readonly role: string | null;
  readonly #facts: Verified;

  constructor(id: string, role: string | null, facts: Verified) {
    this.id = id;
    this.role = role;
    this.#facts = facts;
    Object.freeze(this);
  }

  static factsOf(principal: Principal): Verified {
    return #facts in principal ? principal.#facts : nothingVerified;
  }

  static isOne(given: object): boolean {
    return #facts in given;
  }
}

const nothingVerified: Verified = {};

/**
 * The user of this machine: stdio, the control socket, the caller of the library. It is recognised
 * by object identity, not by its fields, so that a remote credential named "local" does not become
 * it.
 */
export const localUser: Principal = new VerifiedPrincipal('local', null, { isLocal: true });

/** `isOperator` is asked whenever it matters, because the rules of a role can change. */
export function verifiedPrincipal(
  id: string,
  role: string | null,
  isOperator: () => boolean,
  name?: string,
): Principal {
  return new VerifiedPrincipal(id, role, { isOperator, ...(name !== undefined && { name }) });
}

/** Whether it was made here: then none of its fields ever changes. */
export function isVerified(given: object): boolean {
  return VerifiedPrincipal.isOne(given);
}

/** The name of its credential, which is no secret; undefined if it has none. */
export function nameOf(principal: Principal): string | undefined {
  return VerifiedPrincipal.factsOf(principal).name;
}

/** The local user, under whichever path. */
export function isLocalUser(principal: Principal): boolean {
  return VerifiedPrincipal.factsOf(principal).isLocal === true;
}

/** Whether its role makes it an operator, of what it sees; the local user is one. A path can take that away. */
export function isOperator(principal: Principal): boolean {
  const { isLocal, isOperator, mayOperate } = VerifiedPrincipal.factsOf(principal);
  return (isLocal === true || isOperator?.() === true) && (mayOperate?.() ?? true);
}

/** The same of one server; empty: of the instance as a whole, which is beyond every path that narrows. */
export function isOperatorOf(principal: Principal, server: string): boolean {
  const cut = cutOf(principal);
  if (cut === undefined) return isOperator(principal);
  const isLeft = cut.kind === 'server' ? server === cut.name : server !== '';
  return isLeft && isOperator(principal);
}

export function cutOf(principal: Principal): Cut | undefined {
  return VerifiedPrincipal.factsOf(principal).cut;
}

/** The one whose credential it is, without the path: budgets and tokens are its own. */
export function ownerOf(principal: Principal): Principal {
  return VerifiedPrincipal.factsOf(principal).owner ?? principal;
}

/** The owner that may have only a share of what all use, by id; undefined: the local user, who has no such limit. */
export function sharingOwnerOf(principal: Principal): string | undefined {
  return isLocalUser(principal) ? undefined : ownerOf(principal).id;
}

/** The id of the one whose credential it is, in the id of a principal. */
export function ownerIdIn(id: string): string {
  const slash = id.indexOf('/');
  return slash < 0 ? id : id.slice(0, slash);
}

/** The same principal with less; `mayOperate` says whether an operator stays one behind this path. */
export function cutBy(owner: Principal, cut: Cut, mayOperate?: () => boolean): Principal {
  const { kind, name } = cut;
  const left = mayOperate ?? (() => kind === 'server');
  const facts = { ...VerifiedPrincipal.factsOf(owner), cut, owner, mayOperate: left };
  // No credential's id has a slash.
  return new VerifiedPrincipal(`${owner.id}/${kind}/${name}`, owner.role, facts);
}
