// The address of a broker as people write it: `ws://` and `wss://` lead to the embedded broker, `nats://` and
// `tls://` to a NATS server. It is checked before anything is opened. A password in it is refused and not repeated:
// the credential is in a file.

import { isLoopback } from '../kernel/loopback.ts';
import { BrokerError } from './broker-error.ts';

const protocols: ReadonlyMap<string, 'embedded' | 'nats'> = new Map([
  ['ws:', 'embedded'],
  ['wss:', 'embedded'],
  ['nats:', 'nats'],
  ['tls:', 'nats'],
]);

/** Throws a BrokerError if it is no address of a broker. */
export function kindOfBroker(url: string): 'embedded' | 'nats' {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const kind = parsed && protocols.get(parsed.protocol);
  if (parsed?.username || parsed?.password) {
    throw notUsable(
      'the address of a broker has no user and no password: leave them out, the credential is in the file that HOLDFAST_TOKEN_FILE names',
    );
  }
  const isBare =
    parsed !== undefined &&
    parsed.hostname !== '' &&
    ['', '/'].includes(parsed.pathname) &&
    !/[?#]/.test(url);
  if (parsed?.protocol === 'ws:' && isBare && !isLoopback(parsed.hostname)) {
    throw notUsable(
      `ws://${parsed.host} would send the credential to another machine in clear: use wss://${parsed.host}, and start the broker with --tls-cert and --tls-key`,
    );
  }
  if (kind !== undefined && isBare) return kind;
  throw notUsable(
    `the address of a broker is ws://HOST:PORT, wss://HOST:PORT, nats://HOST:PORT or tls://HOST:PORT, not ${JSON.stringify(url.slice(0, 200))}`,
  );
}

function notUsable(words: string): BrokerError {
  return new BrokerError('not_a_broker', words);
}
