// Why a broker's address gave no link: told apart by the status or the code of the error.

import { unreachableWords } from '../../kernel/unreachable.ts';
import { BrokerError, credentialWords } from '../broker-error.ts';

/** What answers a greeting of TLS with something else gives these, by the version of OpenSSL. */
const notTls: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);

/** `found` is the status of the answer, or the error instead of one. */
export function refusedUpgrade(url: string, found: number | Error): BrokerError {
  if (typeof found === 'number') return byStatus(url, found);
  const { code } = found as Error & { readonly code?: string };
  const isSecure = new URL(url).protocol === 'wss:';
  if (isSecure && code !== undefined && notTls.has(code)) {
    const words = `${url} does not speak TLS; the address of a broker without a certificate begins with ws://`;
    return new BrokerError('unsupported', words);
  }
  // So does a network that cuts connections: it is tried again.
  if (!isSecure && code === 'ECONNRESET') {
    const words = `${url} has ended the connection without an answer (ECONNRESET); the address of a broker with a certificate begins with wss://`;
    return new BrokerError('lost', words);
  }
  if (
    code !== undefined &&
    /^(ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL)/.test(code)
  ) {
    const words = `the certificate of ${url} is not accepted (${code}); one that the system does not know is trusted with --tls-ca FILE`;
    return new BrokerError('unsupported', words);
  }
  if (code?.startsWith('HPE_')) return notABroker(url);
  if (code === undefined || code.startsWith('WS_')) return notABroker(url);
  return new BrokerError('lost', unreachableWords(url, code, 'the broker (holdfast broker)'));
}

function byStatus(url: string, status: number): BrokerError {
  if (status === 401) {
    const words = `${url} does not accept this credential: ${credentialWords('embedded')}`;
    return new BrokerError('unauthorized', words);
  }
  if (status === 403) {
    return new BrokerError('unauthorized', `${url} does not let anybody in from here (403)`);
  }
  if (status === 503) return new BrokerError('lost', `${url} has no room for another link now`);
  // As a proxy answers while the broker behind it starts again.
  if (status >= 500 || status === 408 || status === 429) {
    return new BrokerError('lost', `${url} does not answer as a broker now (${status})`);
  }
  return notABroker(url);
}

function notABroker(url: string): BrokerError {
  return new BrokerError('not_a_broker', `${url} is no Holdfast broker`);
}
