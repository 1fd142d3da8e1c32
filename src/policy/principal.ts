// Who makes a request. A principal is created in one place only, where a credential has been
// verified (a token's hash, a signed JWT, the peer of a socket, a broker's credential); nothing
// that a caller writes into a message, a header or a path ever becomes part of one. The id begins
// with the kind of credential (`token:…`, `jwt:…`), because private cache entries and idempotency
// keys belong to an id: two credentials with the same id are the same principal.

/** On whose behalf something is done. */
export interface Principal {
  /** The id, beginning with the kind of credential, such as `token:ci`. */
  readonly id: string;
  /** The role whose rules apply; null when the credential names none. */
  readonly role: string | null;
}

/**
 * The user of this machine: stdio, the control socket, the caller of the library. It is recognised
 * by object identity, not by its fields, so that a remote credential named "local" does not become
 * it.
 */
export const localUser: Principal = Object.freeze({ id: 'local', role: null });
