// Every limit of the HTTP front, in one place: connections, bytes, time, sessions, memory. A client
// can use no more than these. They are not in the config file until somebody needs another value;
// tests set their own.

import type { OpenFileShares } from '../../kernel/open-files.ts';

export interface HttpLimits {
  /** The largest request body; the same as the largest frame of a server. */
  readonly bodyBytes: number;
  /** Bytes of bodies that are being received, of all together; a remote principal has its share of them. */
  readonly bodyBytesOfAll: number;
  readonly headerBytes: number;
  /** The most headers of one request. */
  readonly headers: number;
  /** A request's headers, and the whole of it, must have arrived by then. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How often the two above are looked at; what is late is cut this much later at most. */
  readonly lateCheckMs: number;
  /** How long a connection may wait between requests. */
  readonly keepAliveMs: number;
  /** Beyond this, requests on a new connection are answered with 503. */
  readonly connections: number;
  /** Connections on which no credential was accepted yet; beyond them, the oldest ones are closed. */
  readonly strangers: number;
  /** Connections that are still accepted to be refused with a response; beyond them, none. */
  readonly spareConnections: number;
  /** Requests that may wait for an authenticator which answers later; further ones get 503. */
  readonly authentications: number;
  /** An authenticator that has not answered after this long has failed; shorter than `requestMs`. */
  readonly authenticationMs: number;
  /** A request without an answer, and a stream, send a heartbeat this often. */
  readonly heartbeatMs: number;
  /** How much may wait in one stream for a client that reads slowly. */
  readonly streamBytes: number;
  /** A client that stops reading a large response is disconnected after this long. */
  readonly stallMs: number;
  readonly sessions: number;
  /** What clients have said to set all legacy sessions up; a remote principal has its share of them. */
  readonly setupBytesOfAll: number;
  /** A legacy session without requests and without open streams ends after this long. */
  readonly sessionIdleMs: number;
  readonly streamsPerSession: number;
  /** Events kept for a client that comes back: per session, and bytes of all sessions together. */
  readonly keptEvents: number;
  readonly keptBytes: number;
  readonly keptBytesOfAll: number;
  /** A legacy request that takes longer than this becomes a stream that can be resumed. */
  readonly primeMs: number;
  /** After how long a client should reconnect to a stream that ended. */
  readonly retryMs: number;
  /** How long responses may take to be read when the listener closes. */
  readonly closeMs: number;
}

/** These, or fewer if this process may not have as many files open. */
export function limitsWithin(
  limits: HttpLimits,
  { strangers, guests }: OpenFileShares,
): HttpLimits {
  return {
    ...limits,
    strangers: Math.min(limits.strangers, strangers),
    connections: Math.min(limits.connections, guests),
  };
}

export const defaultLimits: HttpLimits = {
  bodyBytes: 16_777_216,
  bodyBytesOfAll: 268_435_456,
  headerBytes: 32_768,
  headers: 256,
  headersMs: 9_000,
  requestMs: 29_000,
  lateCheckMs: 1_000,
  keepAliveMs: 60_000,
  connections: 10_000,
  strangers: 1_024,
  spareConnections: 256,
  authentications: 1_024,
  authenticationMs: 10_000,
  heartbeatMs: 15_000,
  streamBytes: 8_388_608,
  stallMs: 30_000,
  sessions: 10_000,
  setupBytesOfAll: 33_554_432,
  sessionIdleMs: 1_800_000,
  streamsPerSession: 4,
  keptEvents: 256,
  keptBytes: 8_388_608,
  keptBytesOfAll: 33_554_432,
  primeMs: 25,
  retryMs: 1_000,
  closeMs: 1_000,
};
