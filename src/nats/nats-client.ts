// The NATS client, loaded when a NATS server is first used, and what its errors mean to us.

import { loadedOnce } from '../kernel/loaded-once.ts';
import { unreachableWords } from '../kernel/unreachable.ts';
import type { Refuse, Refused } from './nats-error.ts';

export type NatsClient = typeof import('@nats-io/transport-node');

/** The package is CommonJS: bundled, everything is in the default export only. */
export const loadNatsClient = loadedOnce(async (): Promise<NatsClient> => {
  const loaded: NatsClient & { readonly default?: NatsClient } = await import(
    '@nats-io/transport-node'
  );
  return loaded.default ?? loaded;
});

/** Why a request was not answered, or a publish refused. */
export function refusedRequest<E extends Refused>(
  { errors }: NatsClient,
  refuse: Refuse<E>,
  error: unknown,
): E {
  if (error instanceof errors.TimeoutError) {
    return refuse('timeout', 'the NATS server did not answer in time');
  }
  const cause = error instanceof errors.RequestError ? error.cause : error;
  if (cause instanceof errors.PermissionViolationError) {
    return refuse('not_allowed', `this credential may not use ${cause.subject}`);
  }
  if (cause instanceof errors.NoRespondersError) {
    return refuse('absent', `nobody listens at ${cause.subject} now`);
  }
  return refuse('lost', `the link to the NATS server has ended (${wordsOf(error)})`);
}

/** Why a link has ended by itself. */
export function endOfLink<E extends Refused>(
  { errors }: NatsClient,
  refuse: Refuse<E>,
  url: string,
  error: unknown,
): E {
  const isOver =
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError;
  if (isOver) return refuse('unauthorized', `${url} does not accept this credential now`);
  return refuse('lost', `the link to ${url} has ended`);
}

/**
 * An error of the protocol of NATS has no number: this word is its code. The client has one class for it and for a
 * credential that is refused.
 */
const authenticationTimeout = 'authentication timeout';

/** Why there is no connection at all. */
export function refusedConnect<E extends Refused>(
  { errors }: NatsClient,
  refuse: Refuse<E>,
  url: string,
  error: unknown,
): E {
  if (error instanceof errors.AuthorizationError) {
    // Our credential has not arrived there in time: nothing is known about it.
    if (error.message.toLowerCase().includes(authenticationTimeout)) {
      return refuse('lost', `${url} has not heard from us in time`);
    }
    return refuse('unauthorized', `${url} does not accept this credential`);
  }
  const code = codeOf(error);
  if (
    code !== undefined &&
    /^(ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL)/.test(code)
  ) {
    const words = `the certificate of ${url} is not accepted (${code}); one that the system does not know is trusted with NODE_EXTRA_CA_CERTS=FILE in the environment, or at a broker with --tls-ca FILE`;
    return refuse('unsupported', words);
  }
  if (error instanceof errors.InvalidArgumentError) {
    return refuse('unsupported', `${url} cannot be used: ${error.message}`);
  }
  return refuse('lost', unreachableWords(url, code ?? wordsOf(error), 'the NATS server'));
}

function codeOf(error: unknown): string | undefined {
  const at = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (at as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : 'it was closed';
}
