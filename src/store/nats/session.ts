// One connection of the store to its NATS server, from its opening to its end: checked that there is JetStream, and
// with the time of the server. It does not come back; `connection.ts` opens the next.

import type { Clock } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import { apiCodes, isCode, JetStreamApi } from '../../nats/jet-stream-api.ts';
import type { NatsPlace } from '../../nats/nats-address.ts';
import { loadNatsClient } from '../../nats/nats-client.ts';
import { connectNats } from '../../nats/nats-connect.ts';
import { NatsError, type NatsRefusal } from '../../nats/nats-error.ts';
import { ServerClock } from '../../nats/server-clock.ts';
import { Wire } from '../../nats/wire.ts';

export interface Session {
  readonly wire: Wire<NatsError>;
  readonly api: JetStreamApi<NatsError>;
  readonly clock: Clock;
  /**
   * Whether a message that is deleted without erasing stays away after a kill of the server: since 2.10 that is
   * written down.
   */
  readonly writesDeletes: boolean;
  /** What one message may have, in bytes. */
  readonly maxPayload: number;
  /** The time that all who use this server share, in milliseconds since the epoch. */
  now(): number;
  /** The server's clock may have been set. Rejects with a NatsError. */
  measure(): Promise<void>;
  close(): Promise<void>;
}

export interface SessionParts {
  readonly place: NatsPlace;
  readonly clock: Clock;
  readonly caught: Caught;
  /** For tests: the shared time, in place of the server's clock. */
  readonly sharedTime?: (() => number) | undefined;
}

/** Every request ends within this time. */
export const answerMs = 3_000;

const refuse = (reason: NatsRefusal, detail: string) => new NatsError(reason, detail);

/** Rejects with a NatsError. */
export async function openSession(parts: SessionParts, signal: AbortSignal): Promise<Session> {
  const { place, clock, caught } = parts;
  const { url, user, secret } = place;
  const client = await loadNatsClient();
  const inboxPrefix = '_INBOX';
  const address = { url, user, secret, clock, name: 'store of holdfast', inboxPrefix };
  const connection = await connectNats(client, refuse, address, signal);
  const wire = new Wire({ client, connection, url, inboxPrefix, caught, refuse, answerMs });
  const session = sessionOn(wire, parts);
  try {
    await session.api.assertEnabled();
    await session.measure();
    if (wire.over !== undefined) throw wire.over;
    return session;
  } catch (error) {
    connection.close().catch(ignored);
    throw wire.over ?? error;
  }
}

function sessionOn(wire: Wire<NatsError>, { place, clock, sharedTime }: SessionParts): Session {
  const { url, namespace } = place;
  const api = new JetStreamApi(wire, url);
  const stream = `hf-${namespace}-clock`;
  const subject = `hfs.${namespace}.clock`;
  const serverClock = new ServerClock({ wire, api, clock, stream, subject });
  const measure = async () => {
    await ensureClock(api, stream, subject);
    await serverClock.measure();
  };
  return {
    wire,
    api,
    clock,
    writesDeletes: isAtLeast(wire.info?.version ?? '', 2, 10),
    maxPayload: wire.info?.max_payload ?? 0,
    now: sharedTime ?? (() => serverClock.now()),
    measure: sharedTime === undefined ? measure : async () => {},
    close: async () => {
      wire.finish(new NatsError('closed', 'the store is closed'));
      await wire.close(async () => {});
    },
  };
}

/** By numbers: as texts, 2.9 comes after 2.10. */
function isAtLeast(version: string, major: number, minor: number): boolean {
  const [, first, second] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  return Number(first) > major || (Number(first) === major && Number(second) >= minor);
}

/** It is there only to learn the time. */
async function ensureClock(
  api: JetStreamApi<NatsError>,
  stream: string,
  subject: string,
): Promise<void> {
  const config = {
    name: stream,
    subjects: [subject],
    retention: 'limits',
    discard: 'old',
    storage: 'memory',
    max_msgs: 64,
    max_bytes: 65_536,
    max_age: 60_000_000_000,
    num_replicas: 1,
  };
  await api.call(`STREAM.CREATE.${stream}`, config).catch((error: unknown) => {
    // Somebody has given it other limits: it is good enough.
    if (!isCode(error, apiCodes.otherConfig)) throw api.known(error);
  });
}
