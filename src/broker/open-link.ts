// Opens links by the address of a broker: `ws://` and `wss://` are the embedded broker, `nats://` and `tls://` a
// NATS server. What the credential says of its holder is known to the embedded broker; a NATS server says nothing of
// it to its clients, so that a credential for NATS carries it (`nats-credential.ts`). Each driver is loaded when it
// is needed.

import type { Clock } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import { BrokerError } from './broker-error.ts';
import type { OpenLink } from './contract.ts';
import { readNatsCredential } from './nats-credential.ts';

export interface LinkOptions {
  readonly url: string;
  /** One line, as `token add` or `broker nats-config` has printed it. */
  readonly credential: string;
  readonly seat: string;
  /** The kinds of mail that are received. */
  readonly kinds: readonly string[];
  readonly clock: Clock;
  /** Certificates to trust besides those of the system, in PEM. */
  readonly ca?: string | undefined;
  /** For people: letters that nobody could read. */
  readonly report: (text: string) => void;
  readonly caught: Caught;
}

const protocols: ReadonlyMap<string, 'embedded' | 'nats'> = new Map([
  ['ws:', 'embedded'],
  ['wss:', 'embedded'],
  ['nats:', 'nats'],
  ['tls:', 'nats'],
]);

/** Throws a BrokerError if the address or the credential can never be used. */
export function linkOpener(options: LinkOptions): OpenLink {
  const { url, credential, seat, clock, ca } = options;
  if (kindOfBroker(url) === 'embedded') {
    return async (signal) => {
      const { openSocketLink } = await import('./socket/socket-link.ts');
      return await openSocketLink({ url, secret: credential, seat, clock, ca }, signal);
    };
  }
  const { secret, ...identity } = readNatsCredential(credential);
  return async (signal) => {
    const { openNatsLink } = await import('./nats/nats-link.ts');
    return await openNatsLink({ ...options, identity, secret }, signal);
  };
}

/** Throws a BrokerError if it is no address of a broker. */
export function kindOfBroker(url: string): 'embedded' | 'nats' {
  const kind = URL.canParse(url) ? protocols.get(new URL(url).protocol) : undefined;
  if (kind !== undefined) return kind;
  throw new BrokerError(
    'not_a_broker',
    `the address of a broker is ws://HOST:PORT, wss://HOST:PORT or nats://HOST:PORT, not ${JSON.stringify(url)}`,
  );
}
