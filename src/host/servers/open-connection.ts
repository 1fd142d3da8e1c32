// From a server's config to a live connection: which transport, with which parameters, and for which
// clients: the era that is tried first, and what a legacy server is told that its client can do. Whatever
// goes wrong with a connection is told from here on without the secrets of its server, and how a start
// went decides what the next one begins with.

import type { ServerConfig } from '../../config/schema.ts';
import { secretsOf } from '../../config/secrets.ts';
import { Fault } from '../../kernel/fault.ts';
import { Redactor } from '../../kernel/redactor.ts';
import { childEnvironment, type Environment } from '../../supervise/process/start/environment.ts';
import type { Connection, ConnectionListener } from '../../upstream/connection.ts';
import { connectHttp, type HttpParts, NotStreamable } from '../../upstream/http/http-connection.ts';
import { connectSse } from '../../upstream/http/sse-2024-connection.ts';
import { connectStdio } from '../../upstream/stdio/stdio-connection.ts';
import type { Aim } from '../connections/connection-slot.ts';
import type { ConnectionSlots } from '../connections/connection-slots.ts';
import type { ServerParts } from './server.ts';
import type { ServerFacts } from './server-facts.ts';

interface Destination {
  readonly name: string;
  readonly config: ServerConfig;
  readonly facts: ServerFacts;
  readonly slots: Pick<ConnectionSlots, 'isConnected'>;
  readonly redactor: Redactor;
}

export async function openConnection(
  server: Destination,
  parts: ServerParts,
  aim: Aim,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const { redactor, facts, slots } = server;
  const told = { ...listener, lost: (cause: Fault) => listener.lost(redactor.fault(cause)) };
  const { basis } = facts;
  try {
    const connection = await open(server, parts, aim, generation, signal, told);
    facts.connected();
    return connection;
  } catch (error) {
    // A connection that is there shows that what is known of the server's eras is true.
    if (!slots.isConnected && isByGreeting(error, signal)) facts.startFailed(basis);
    throw error instanceof Fault ? redactor.fault(error) : error;
  }
}

/** Has a start failed by what the server did, or did not do, when it was greeted? */
function isByGreeting(error: unknown, signal: AbortSignal): boolean {
  if (!(error instanceof Fault)) return false;
  return error.code === 'start_timeout' || (!signal.aborted && error.dispatched !== 'no');
}

/** Knows every value that this server was given. */
export function redactorFor(config: ServerConfig, sourceEnv: Environment = {}): Redactor {
  const environment =
    config.type === 'stdio' ? childEnvironment(sourceEnv, { ...config, token: '' }) : {};
  return new Redactor(secretsOf(config, environment));
}

function open(
  server: Destination,
  parts: ServerParts,
  aim: Aim,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const { config, name, facts: eras, redactor } = server;
  const { clock, identity } = parts;
  const { frameBytes } = config.limits;
  const { capabilities } = aim.clients;
  const shared = { server: name, frameBytes, clock, identity, first: aim.era, eras, capabilities };
  if (config.type !== 'stdio') {
    const { url, headers, type } = config;
    const remote = { ...shared, url: new URL(url), headers, http: parts.http };
    return openRemote(remote, type, generation, signal, listener);
  }
  const { command, args, env, inheritEnv, cwd, limits } = config;
  const { memoryMb, processes } = limits;
  const spec = { name, command, args, env, inheritEnv, cwd, memoryMb, processes };
  const local = { ...shared, spec, spawn: parts.spawn, redactor };
  return connectStdio(local, generation, signal, listener);
}

async function openRemote(
  parts: HttpParts,
  type: 'http' | 'sse',
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  if (type === 'sse') return connectSse(parts, generation, signal, listener);
  try {
    return await connectHttp(parts, generation, signal, listener);
  } catch (error) {
    if (!(error instanceof NotStreamable)) throw error;
    return connectSse(parts, generation, signal, listener);
  }
}
