// Authentication of HTTP requests. An authenticator gets the credential of a request, and returns
// its principal, or the challenge for the client. It may return a promise (for a signature whose
// key must be fetched first, or a token that another service checks). There are two today: the
// access tokens (tokens.ts), and the one below for a front without authentication.

import type { IncomingMessage } from 'node:http';
import { localUser, type Principal } from '../../../policy/principal.ts';

/** What an authenticator gets of a request; it sees nothing else. */
export interface Credential {
  /** The bearer token; empty if something else was sent as a credential, undefined if nothing was. */
  readonly token: string | undefined;
  /** The other end of the connection; undefined if that is closed already. */
  readonly remoteAddress: string | undefined;
}

/** Why a request is refused, for the client. */
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
   * answered with 503, and counted as an internal error; it never grants access.
   */
  authenticate(credential: Credential): Authentication | Promise<Authentication>;
}

/** Without authentication: everyone who can reach us is the local user. */
export const everyoneIsLocal: Authenticator = {
  authenticate: () => local,
};

const local: Authentication = { principal: localUser };

/** The challenge for a client that sent no token, something else in its place, or an invalid one. */
export function bearerChallenge(token: string | undefined): Authentication {
  if (token === undefined) return tokenMissing;
  return looksLikeToken.test(token) ? tokenInvalid : tokenMalformed;
}

/** As token-record.ts makes them. */
const looksLikeToken = /^hf_[\w-]{16,}$/;
const newOne = 'ask whoever runs this gateway for a new one';

const tokenMissing = challengeOf('send the header "Authorization: Bearer TOKEN"');

const tokenMalformed = challengeOf(
  'the header "Authorization" has no token of this gateway; send "Authorization: Bearer TOKEN", where TOKEN begins with hf_ and has no quotes or spaces',
  'invalid_token',
);

const tokenInvalid = challengeOf(
  `the token is not valid here: it was revoked, or is not of this gateway; ${newOne}`,
  'invalid_token',
);

/** Only the holder of a token can learn this of it. */
export const tokenExpired = challengeOf(`the token has expired; ${newOne}`, 'invalid_token');

function challengeOf(text: string, error?: string): Authentication {
  const more = error === undefined ? '' : `, error="${error}"`;
  return {
    challenge: {
      status: 401,
      message: `Unauthorized: ${text}`,
      wwwAuthenticate: `Bearer realm="holdfast"${more}`,
    },
  };
}

const bearer = /^Bearer +([\x21-\x7e]+)$/i;

/** A copy: an authenticator that keeps it, or never answers, keeps nothing of the request. */
export function credentialOf(req: IncomingMessage): Credential {
  const header = req.headers.authorization;
  return {
    token: header === undefined ? undefined : (bearer.exec(header)?.[1] ?? ''),
    remoteAddress: req.socket.remoteAddress,
  };
}
