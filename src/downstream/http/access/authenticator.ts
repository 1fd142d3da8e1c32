// Who asks? An authenticator is given what a request showed as its credential, and answers with the
// principal whose credential it is, or with the challenge that the client is answered with. It may
// answer at once, or with a promise (a signature whose key must be fetched first, a token that
// another service knows). There are two today: the access tokens (tokens.ts), and the one below for
// a front without authentication.

import type { IncomingMessage } from 'node:http';
import { localUser, type Principal } from '../../../policy/principal.ts';

/** What a request shows of its sender; nothing else of it is known to an authenticator. */
export interface Credential {
  /** The bearer token; empty if something else was sent as a credential, undefined if nothing was. */
  readonly token: string | undefined;
  /** The other end of the connection; undefined if that is closed already. */
  readonly remoteAddress: string | undefined;
}

/** Why a request is refused, as the client is told. */
export interface Challenge {
  readonly status: 401 | 403;
  readonly message: string;
  /** The header `WWW-Authenticate`. */
  readonly wwwAuthenticate: string;
}

export type Authentication =
  | { readonly principal: Principal; readonly challenge?: undefined }
  | { readonly challenge: Challenge; readonly principal?: undefined };

export interface Authenticator {
  /**
   * A failure of the authenticator itself (it throws, rejects or does not answer in time) is
   * answered with 503, and counted as a defect; it never lets anybody in.
   */
  authenticate(credential: Credential): Authentication | Promise<Authentication>;
}

/** Without authentication: everyone who can reach us is the local user. */
export const everyoneIsLocal: Authenticator = {
  authenticate: () => local,
};

const local: Authentication = { principal: localUser };

/** What is asked of a client that showed no token, or one that is not valid. */
export function bearerChallenge(token: string | undefined): Authentication {
  return token === undefined ? tokenMissing : tokenInvalid;
}

const tokenMissing: Authentication = {
  challenge: {
    status: 401,
    message: 'Unauthorized: send the header "Authorization: Bearer TOKEN"',
    wwwAuthenticate: 'Bearer realm="holdfast"',
  },
};

const tokenInvalid: Authentication = {
  challenge: {
    status: 401,
    message: 'Unauthorized: the token is not valid here',
    wwwAuthenticate: 'Bearer realm="holdfast", error="invalid_token"',
  },
};

const bearer = /^Bearer +([\x21-\x7e]+)$/i;

/** A copy: an authenticator that keeps it, or never answers, keeps nothing of the request. */
export function credentialOf(req: IncomingMessage): Credential {
  const header = req.headers.authorization;
  return {
    token: header === undefined ? undefined : (bearer.exec(header)?.[1] ?? ''),
    remoteAddress: req.socket.remoteAddress,
  };
}
