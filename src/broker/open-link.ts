// Opens links by the address of a broker: `ws://` and `wss://` are the embedded broker, `nats://` and `tls://` a
// NATS server. What the credential says of its holder is known to the embedded broker; a NATS server says nothing of
// it to its clients, so that a credential for NATS carries it (`nats-credential.ts`). Each driver is loaded when it
// is needed.

import type { Clock } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import { loadedOnce } from '../kernel/loaded-once.ts';
import { loadNatsClient } from '../nats/nats-client.ts';
import { kindOfBroker } from './broker-address.ts';
import { BrokerError } from './broker-error.ts';
import type { OpenLink } from './contract.ts';
import { assertCredential } from './credential-kind.ts';
import { type Identity, otherMailbox } from './identity.ts';
import { readNatsCredential } from './nats-credential.ts';

export interface LinkHolder {
  readonly url: string;
  /** One line, as `token add` or `broker nats-config` has printed it. */
  readonly credential: string;
  /** Whose credential it has to be. */
  readonly holder: Identity['kind'];
}

export interface LinkOptions extends LinkHolder {
  readonly seat: string;
  /** The mailbox that the credential has to be of; absent: any. */
  readonly mailbox?: string | undefined;
  /** The kinds of mail that are received. */
  readonly kinds: readonly string[];
  /** How long letters to us are of use at most; absent: that is left to the broker. A NATS server needs to know it. */
  readonly keepMs?: number | undefined;
  /**
   * The identity of the store in which calls are remembered, as a seat is written; asked for each link. Absent or undefined:
   * none are remembered.
   */
  readonly store?: (() => Promise<string | undefined>) | undefined;
  readonly clock: Clock;
  /** Certificates to trust besides those of the system, in PEM. */
  readonly ca?: string | undefined;
  /** For people: letters that nobody could read. */
  readonly report: (text: string) => void;
  readonly caught: Caught;
}

const loadSocketLink = loadedOnce(() => import('./socket/socket-link.ts'));
const loadNatsLink = loadedOnce(() => import('./nats/nats-link.ts'));

/** What a link to this broker is opened with. Throws a BrokerError if it is the address of none. */
export async function loadLink(url: string): Promise<void> {
  if (kindOfBroker(url) === 'embedded') await loadSocketLink();
  else await Promise.all([loadNatsLink(), loadNatsClient()]);
}

/** Throws a BrokerError if the address or the credential can never be used. */
export function linkOpener(options: LinkOptions): OpenLink {
  const { url, credential, seat, mailbox, clock, ca } = options;
  if (assertLinkable(options) === 'embedded') {
    return async (signal) => {
      const { openSocketLink } = await loadSocketLink();
      const store = await options.store?.();
      return await openSocketLink(
        { url, secret: credential, seat, mailbox, store, clock, ca },
        signal,
      );
    };
  }
  const { secret, ...identity } = readNatsCredential(credential);
  if (mailbox !== undefined && mailbox !== identity.mailbox) {
    throw new BrokerError('unauthorized', otherMailbox(identity.mailbox));
  }
  return async (signal) => {
    const { openNatsLink } = await loadNatsLink();
    const store = await options.store?.();
    return await openNatsLink({ ...options, identity, secret, store }, signal);
  };
}

/** What can be said before anybody is asked. Throws a BrokerError. */
export function assertLinkable({ url, credential, holder }: LinkHolder): 'embedded' | 'nats' {
  const broker = kindOfBroker(url);
  assertCredential(credential, broker, holder);
  return broker;
}
