// Opens a connection to a NATS server. It never comes back by itself: a link that has ended has ended, and its user
// opens another. A silent server is noticed by missing answers to pings, within 15 seconds.

import type { Authenticator, NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { greetingAt } from './greeting.ts';
import { type NatsClient, refusedConnect } from './nats-client.ts';
import type { Refuse, Refused } from './nats-error.ts';

export interface NatsAddress {
  /** `nats://HOST:PORT`, or `tls://`. */
  readonly url: string;
  /** The user's name on the server; with the seed of an nkey it is not used. */
  readonly user: string;
  /** The seed of an nkey, or a password; undefined: the server asks for none. */
  readonly secret: string | undefined;
  /** How the server's operator sees this connection. */
  readonly name: string;
  readonly inboxPrefix: string;
  /** Certificates to trust besides those of the system, in PEM. */
  readonly ca?: string | Buffer | undefined;
  readonly clock: Clock;
}

const connectMs = 5_000;
const pingEveryMs = 5_000;
const missedPings = 2;
/** The seed of a user's nkey. */
const seed = /^SU[A-Z2-7]{56}$/;

/** Rejects with what `refuse` makes. */
export async function connectNats<E extends Refused>(
  client: NatsClient,
  refuse: Refuse<E>,
  address: NatsAddress,
  signal: AbortSignal,
): Promise<NatsConnection> {
  const { url, name, inboxPrefix, ca, clock } = address;
  const notOpened = () => refuse('closed', 'not opened');
  if (signal.aborted) throw notOpened();
  const parsed = urlIn(url, refuse);
  const greeting = await greetingAt(parsed, clock, signal);
  if (signal.aborted) throw notOpened();
  if (greeting.is === 'other') throw refuse('not_nats', `${url} is no NATS server`);
  if (greeting.is === 'unreachable') throw refusedConnect(client, refuse, url, greeting.error);
  if (greeting.is === 'silent') throw refuse('lost', `${url} does not greet`);
  const connecting = client.connect({
    servers: parsed.host,
    ...authentication(client, address),
    inboxPrefix,
    name,
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
  let isAborted = false;
  let onAbort: () => void = ignored;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      isAborted = true;
      reject(notOpened());
    };
  });
  // The signal may outlive thousands of links.
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([connecting, aborted]);
  } catch (error) {
    // One that opens later is of no use.
    connecting.then((late) => late.close()).catch(ignored);
    throw isAborted ? notOpened() : refusedConnect(client, refuse, url, error);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function authentication(
  client: NatsClient,
  { user, secret }: NatsAddress,
): { readonly authenticator?: Authenticator } {
  if (secret === undefined) return {};
  if (!seed.test(secret)) {
    return { authenticator: client.usernamePasswordAuthenticator(user, secret) };
  }
  return { authenticator: client.nkeyAuthenticator(new TextEncoder().encode(secret)) };
}

function urlIn<E extends Refused>(url: string, refuse: Refuse<E>): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'nats:' || parsed?.protocol === 'tls:') return parsed;
  throw refuse('not_nats', 'the address of a NATS server is nats://HOST:PORT or tls://HOST:PORT');
}
