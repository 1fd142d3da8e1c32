// Who is asking. A principal is made in one place only, where a credential has been verified (a
// token's hash, a signed JWT, the peer of a socket, a broker's credential); nothing that a caller
// writes into a message, a header or a path ever becomes part of one. Whoever makes one puts the
// kind of credential in front of the id (`token:…`, `jwt:…`), because private cache entries and
// idempotency keys belong to an id: two credentials with the same id are the same person.

/** On whose behalf something is done. */
export interface Principal {
  /** Who it is, with the kind of credential in front, such as `token:ci`. */
  readonly id: string;
  /** The role whose rules apply; null when the credential names none. */
  readonly role: string | null;
}

/**
 * The person at this machine: stdio, the control socket, the library's own caller. It is known by
 * identity, not by its fields, so that a remote credential called "local" does not become it.
 */
export const localUser: Principal = Object.freeze({ id: 'local', role: null });
