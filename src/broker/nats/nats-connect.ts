// Opens a connection to a NATS server. It never comes back by itself: a link that has ended has ended, and its user
// opens another. A silent server is noticed by missing answers to pings, within 15 seconds.

import type { Authenticator, NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { BrokerError } from '../broker-error.ts';
import { greetingAt } from './greeting.ts';
import { type NatsClient, refusedConnect } from './nats-client.ts';
import { partOf } from './subjects.ts';

export interface NatsAddress {
  /** `nats://HOST:PORT`, or `tls://`. */
  readonly url: string;
  /** The user's name on the server. */
  readonly mailbox: string;
  /** The seed of an nkey, or a password. */
  readonly secret: string;
  /** Certificates to trust besides those of the system, in PEM. */
  readonly ca?: string | Buffer | undefined;
  readonly clock: Clock;
}

const connectMs = 5_000;
const pingEveryMs = 5_000;
const missedPings = 2;
/** The seed of a user's nkey. */
const seed = /^SU[A-Z2-7]{56}$/;

/** Rejects with a BrokerError. */
export async function connectNats(
  client: NatsClient,
  address: NatsAddress,
  signal: AbortSignal,
): Promise<NatsConnection> {
  const { url, mailbox, ca, clock } = address;
  if (signal.aborted) throw notOpened();
  const parsed = urlIn(url);
  const greeting = await greetingAt(parsed, clock, signal);
  if (signal.aborted) throw notOpened();
  if (greeting.is === 'other') throw new BrokerError('not_a_broker', `${url} is no NATS server`);
  if (greeting.is === 'unreachable') throw refusedConnect(client, url, greeting.error);
  if (greeting.is === 'silent') throw new BrokerError('lost', `${url} does not greet`);
  const connecting = client.connect({
    servers: parsed.host,
    authenticator: authenticator(client, address),
    inboxPrefix: inboxPrefixOf(mailbox),
    name: `holdfast ${mailbox}`,
    reconnect: false,
    ignoreClusterUpdates: true,
    noAsyncTraces: true,
    timeout: connectMs,
    pingInterval: pingEveryMs,
    maxPingOut: missedPings,
    ...(ca === undefined && parsed.protocol !== 'tls:'
      ? {}
      : { tls: ca === undefined ? {} : { ca: ca.toString() } }),
  });
  let onAbort: () => void = ignored;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(notOpened());
  });
  // The signal may outlive thousands of links.
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([connecting, aborted]);
  } catch (error) {
    // One that opens later is of no use.
    connecting.then((late) => late.close()).catch(ignored);
    throw error instanceof BrokerError ? error : refusedConnect(client, url, error);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export function inboxPrefixOf(mailbox: string): string {
  return `_INBOX.${partOf(mailbox)}`;
}

function authenticator(client: NatsClient, { mailbox, secret }: NatsAddress): Authenticator {
  if (seed.test(secret)) return client.nkeyAuthenticator(new TextEncoder().encode(secret));
  return client.usernamePasswordAuthenticator(mailbox, secret);
}

function urlIn(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'nats:' || parsed?.protocol === 'tls:') return parsed;
  throw new BrokerError('not_a_broker', 'the address of a NATS server is nats://HOST:PORT');
}

function notOpened(): BrokerError {
  return new BrokerError('closed', 'not opened');
}
