// The NATS client, loaded when the first link to a NATS server is opened, and what its errors mean to us.

import { BrokerError, notAccepted } from '../broker-error.ts';

export type NatsClient = typeof import('@nats-io/transport-node');

/** The package is CommonJS: bundled, everything is in the default export only. */
export async function loadNatsClient(): Promise<NatsClient> {
  const loaded: NatsClient & { readonly default?: NatsClient } = await import(
    '@nats-io/transport-node'
  );
  return loaded.default ?? loaded;
}

/** Why a request was not answered, or a publish refused. */
export function refusedRequest({ errors }: NatsClient, error: unknown): BrokerError {
  if (error instanceof errors.TimeoutError) {
    return new BrokerError('not_kept', 'the NATS server did not answer in time');
  }
  const cause = error instanceof errors.RequestError ? error.cause : error;
  if (cause instanceof errors.PermissionViolationError) {
    return new BrokerError('not_allowed', `this credential may not use ${cause.subject}`);
  }
  if (cause instanceof errors.NoRespondersError) {
    return new BrokerError('absent', `nobody listens at ${cause.subject} now`);
  }
  return new BrokerError('lost', `the link to the NATS server has ended (${wordsOf(error)})`);
}

/** Why a link has ended by itself. */
export function endOfLink({ errors }: NatsClient, url: string, error: unknown): BrokerError {
  const isOver =
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError;
  if (isOver) return new BrokerError('unauthorized', `${url} does not accept this credential now`);
  return new BrokerError('lost', `the link to ${url} has ended`);
}

/** Why there is no connection at all. */
export function refusedConnect({ errors }: NatsClient, url: string, error: unknown): BrokerError {
  if (error instanceof errors.AuthorizationError) {
    return new BrokerError('unauthorized', notAccepted(url));
  }
  const code = codeOf(error);
  if (
    code !== undefined &&
    /^(ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL)/.test(code)
  ) {
    return new BrokerError('unsupported', `the certificate of ${url} is not accepted (${code})`);
  }
  if (error instanceof errors.InvalidArgumentError) {
    return new BrokerError('unsupported', `${url} cannot be used: ${error.message}`);
  }
  return new BrokerError('lost', `${url} cannot be reached (${code ?? wordsOf(error)})`);
}

function codeOf(error: unknown): string | undefined {
  const at = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (at as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : 'it was closed';
}
