// The host of a worker: its one server is the orchestrator, reached through the broker. What the worker sees is what
// its role allows there; the limits of the servers behind it apply there, so the worker's own are wide.

import { assertLinkable, linkOpener } from '../../broker/open-link.ts';
import { configFromObject } from '../../config/load.ts';
import { safeNameFrom } from '../../config/server-name.ts';
import { type HostSurroundings, hostFrom, type OpenedHost } from '../../host/create-host.ts';
import type { Connector } from '../../host/servers/server-parts.ts';
import { replyMs } from '../call-ids.ts';
import { workerKinds } from '../mail-kinds.ts';
import { randomSeat } from '../seat.ts';
import { connectToBroker } from './broker-connection.ts';

export interface WorkerOptions {
  /** The address of the broker. */
  readonly broker: string;
  /** The mailbox of the orchestrator. */
  readonly to: string;
  readonly credential: string;
  readonly ca?: string | undefined;
}

export interface WorkerHost {
  readonly host: OpenedHost;
  /** The name of its one server. */
  readonly server: string;
}

/** The orchestrator's own limits end a call sooner. */
const longestCallMs = 3_600_000;
/** A start may have to wait for a broker that comes back, and for servers that are started for the first list. */
const startTimeoutMs = 60_000;
/** What is too large for a server of the orchestrator does not come here. */
const frameBytes = 268_435_456;
/** As much as the orchestrator takes of one worker. */
const concurrency = 64;

/**
 * When the link is tried again is decided by `reconnection.ts` alone: calls that fail together in an outage must not
 * keep later ones away when it is over.
 */
const always = {
  circuit: { threshold: 1_000_000, resetMs: 1 },
  restart: { max: 1_000_000, windowMs: 1_000, minDelayMs: 100, maxDelayMs: 1_000 },
} as const;

/** Throws a BrokerError if the address or the credential can never be used. */
export function workerHost(
  options: WorkerOptions,
  around: Omit<HostSurroundings, 'connectors'>,
): WorkerHost {
  const { broker: url, to, credential, ca } = options;
  const holder = 'worker' as const;
  assertLinkable({ url, credential, holder });
  const server = safeNameFrom(to, new Set());
  let host: OpenedHost | undefined;
  const caught = (error: unknown) => {
    if (host === undefined) throw error;
    host.defects.caught('a message of the broker', error);
  };
  const connector: Connector = (parts, generation, signal, listener) => {
    const openLink = linkOpener({
      ...{ url, credential, holder, ca, caught },
      seat: randomSeat(),
      kinds: workerKinds,
      keepMs: replyMs,
      clock: parts.clock,
      report: around.report,
    });
    const random = Math.random;
    return connectToBroker(
      { ...parts, openLink, to, random, caught },
      generation,
      signal,
      listener,
    );
  };
  const input = {
    mcpServers: {
      [server]: {
        type: 'http' as const,
        url: 'http://broker.invalid/',
        startTimeoutMs,
        callTimeoutMs: longestCallMs,
        concurrency,
        queue: 4 * concurrency,
        ...always,
        limits: { frameBytes },
      },
    },
    naming: 'transparent' as const,
    hostTools: false,
  };
  const loaded = configFromObject(input, { baseDir: around.folder, env: around.env });
  host = hostFrom(loaded, { ...around, connectors: new Map([[server, connector]]) });
  return { host, server };
}
