// Why a broker's address gave no link: told apart by the status or the code of the error.

import { BrokerError, notAccepted } from '../broker-error.ts';

/** `found` is the status of the answer, or the error instead of one. */
export function refusedUpgrade(url: string, found: number | Error): BrokerError {
  if (typeof found === 'number') return byStatus(url, found);
  const { code, message } = found as Error & { readonly code?: string };
  if (
    code !== undefined &&
    /^(ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL)/.test(code)
  ) {
    return new BrokerError('unsupported', `the certificate of ${url} is not accepted (${code})`);
  }
  if (code?.startsWith('HPE_')) return notABroker(url);
  if (code === undefined || code.startsWith('WS_')) return notABroker(url);
  return new BrokerError('lost', `${url} cannot be reached (${code}: ${message})`);
}

function byStatus(url: string, status: number): BrokerError {
  if (status === 401) return new BrokerError('unauthorized', notAccepted(url));
  if (status === 403) {
    return new BrokerError('unauthorized', `${url} does not let anybody in from here (403)`);
  }
  if (status === 503) return new BrokerError('lost', `${url} has no room for another link now`);
  return notABroker(url);
}

function notABroker(url: string): BrokerError {
  return new BrokerError('not_a_broker', `${url} is no Holdfast broker`);
}
