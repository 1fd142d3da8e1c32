// Opens a connection from a server's config: which transport, with which parameters, and for which
// clients: the era that is tried first, and the capabilities that a legacy server is told. Errors
// of a connection are redacted from here on, and the outcome of a start decides what the next one
// begins with.

import { inFolder, runsInFolders } from '../../config/client-folders.ts';
import type { RemoteServerConfig, ServerConfig, StdioServerConfig } from '../../config/schema.ts';
import { secretsOf } from '../../config/secrets.ts';
import { Fault } from '../../kernel/fault.ts';
import { Redactor, type Secret } from '../../kernel/redactor.ts';
import { childEnvironment, type Environment } from '../../supervise/process/start/environment.ts';
import { adoptConnection } from '../../upstream/adopt-connection.ts';
import type { Connection, ConnectionListener } from '../../upstream/connection.ts';
import type { AdoptedConnection } from '../../upstream/handed-connection.ts';
import { connectHttp, connectSse } from '../../upstream/http/connect-http.ts';
import { NotStreamable } from '../../upstream/http/http-connection.ts';
import type { HttpParts } from '../../upstream/http/http-parts.ts';
import type { ConnectionParts } from '../../upstream/server-connection.ts';
import { connectStdio } from '../../upstream/stdio/connect-stdio.ts';
import type { StdioConnectionParts } from '../../upstream/stdio/stdio-parts.ts';
import { noFolderFault } from '../connections/client-folder.ts';
import type { Aim } from '../connections/connection-slot.ts';
import type { ConnectionSlots } from '../connections/connection-slots.ts';
import type { RestoredConnection } from '../handover/handed-host.ts';
import { readLate } from './late-secrets.ts';
import type { ServerFacts } from './server-facts.ts';
import type { ServerParts } from './server-parts.ts';

interface Destination {
  readonly name: string;
  readonly config: ServerConfig;
  readonly facts: ServerFacts;
  readonly slots: Pick<ConnectionSlots, 'isConnected'>;
  readonly redactor: Redactor;
  /** Values that were read for starts, also by the process before this one. */
  readonly knownSecrets: readonly Secret[];
  /** Values that were read for a start: from now on the redactor knows them. */
  learnSecrets(secrets: readonly Secret[]): void;
}

export async function openConnection(
  server: Destination,
  parts: ServerParts,
  aim: Aim,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const { facts, slots } = server;
  const told = { ...listener, lost: (cause: Fault) => listener.lost(server.redactor.fault(cause)) };
  const { basis } = facts;
  try {
    const connection = await open(server, parts, aim, generation, signal, told);
    facts.connected();
    return connection;
  } catch (error) {
    // An open connection confirms the facts about the server's eras.
    if (!slots.isConnected && isByGreeting(error, signal)) facts.startFailed(basis);
    throw error instanceof Fault ? server.redactor.fault(error) : error;
  }
}

/**
 * Goes on with a connection that the process before this one has handed over. Rejects with a Fault, and then leaves
 * nothing open.
 */
export async function adoptedConnection(
  server: Destination,
  parts: ServerParts,
  aim: Aim,
  listener: ConnectionListener,
  { handed, former, mayBegin }: Pick<RestoredConnection, 'handed' | 'former' | 'mayBegin'>,
): Promise<AdoptedConnection> {
  const { config } = server;
  const told = { ...listener, lost: (cause: Fault) => listener.lost(server.redactor.fault(cause)) };
  const adopt = parts.adoptConnection ?? adoptConnection;
  const late = { signal: new AbortController().signal };
  try {
    const shared = sharedParts(server, parts, aim);
    const own =
      config.type === 'stdio'
        ? stdioParts(server, parts, shared, aim.folder, { config, secrets: server.knownSecrets })
        : await httpParts(server, parts, shared, config, late);
    await mayBegin;
    return await adopt(own, handed, told, former);
  } catch (error) {
    throw error instanceof Fault ? server.redactor.fault(error) : error;
  }
}

/** Whether a start failed because of the server's behaviour during the handshake. */
function isByGreeting(error: unknown, signal: AbortSignal): boolean {
  if (!(error instanceof Fault)) return false;
  return error.code === 'start_timeout' || (!signal.aborted && error.dispatched !== 'no');
}

/** Knows every value that a server was given by any of these configs, and those that were read. */
export function redactorFor(
  configs: readonly ServerConfig[],
  sourceEnv: Environment = {},
  read: readonly Secret[] = [],
  isSecret: (secret: Secret) => boolean = () => true,
): Redactor {
  const secrets = configs.map((config) => {
    const environment =
      config.type === 'stdio' ? childEnvironment(sourceEnv, { ...config, token: '' }) : {};
    return secretsOf(config, environment);
  });
  return new Redactor([...read, ...secrets.flat()].filter(isSecret));
}

async function open(
  server: Destination,
  parts: ServerParts,
  aim: Aim,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const { config, name } = server;
  const { clock, spawn, readSecret } = parts;
  const late = { server: name, clock, spawn, readSecret, signal };
  const shared = sharedParts(server, parts, aim);
  const connector = parts.connectors?.get(name);
  if (connector !== undefined) return await connector(shared, generation, signal, listener);
  if (config.type !== 'stdio') {
    const remote = await httpParts(server, parts, shared, config, late);
    return openRemote(remote, config.type, generation, signal, listener);
  }
  const placed = placedIn(name, config, aim.folder);
  const { values: env, secrets } = await readLate(placed.env, 'env', late);
  server.learnSecrets(secrets);
  const local = stdioParts(server, parts, shared, aim.folder, { config, env, secrets });
  return connectStdio(local, generation, signal, listener);
}

function sharedParts(server: Destination, parts: ServerParts, aim: Aim): ConnectionParts {
  const { config, name, facts: eras } = server;
  const { clock, identity } = parts;
  const { startTimeoutMs } = config;
  const { frameBytes } = config.limits;
  const { capabilities } = aim.clients;
  const starting = { startTimeoutMs, first: aim.era, eras, capabilities };
  return { server: name, frameBytes, clock, identity, ...starting };
}

async function httpParts(
  server: Destination,
  { http, clock, spawn, readSecret }: ServerParts,
  shared: ConnectionParts,
  { url, headers: declared }: RemoteServerConfig,
  { signal }: { readonly signal: AbortSignal },
): Promise<HttpParts> {
  const late = { server: server.name, clock, spawn, readSecret, signal };
  const { values: headers, secrets } = await readLate(declared, 'header', late);
  server.learnSecrets(secrets);
  return { ...shared, url: new URL(url), headers, http };
}

interface LocalConfig {
  readonly config: StdioServerConfig;
  /** With what was read late; absent: it runs already. */
  readonly env?: Readonly<Record<string, string>>;
  readonly secrets: readonly Secret[];
}

function stdioParts(
  server: Destination,
  parts: ServerParts,
  shared: ConnectionParts,
  folder: string | undefined,
  { config, env: read, secrets }: LocalConfig,
): StdioConnectionParts {
  const { memoryMb, processes } = config.limits;
  const placed = placedIn(server.name, config, folder);
  const env = read ?? placed.env;
  const spec = { ...placed, env, memoryMb, processes };
  const { write: output } = parts.outputs.of(server.name);
  // What it was given may have the folder in it.
  const redactor =
    folder !== undefined
      ? redactorFor([{ ...config, env }, config], parts.sourceEnv, secrets)
      : server.redactor;
  const { spawn, adopt } = parts;
  return { ...shared, spec, spawn, ...(adopt && { adopt }), redactor, output };
}

/** What is run, and where. */
function placedIn(name: string, config: StdioServerConfig, folder: string | undefined) {
  const { command, args, env, inheritEnv, allowEnv, cwd } = config;
  if (!runsInFolders(config)) return { name, command, args, env, inheritEnv, allowEnv, cwd };
  if (folder === undefined || folder === '') throw noFolderFault(name, undefined);
  const own = (text: string) => inFolder(text, folder);
  return {
    name,
    command: own(command),
    args: args.map(own),
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, own(value)])),
    inheritEnv,
    allowEnv,
    cwd: folder,
    isClientFolder: true,
  };
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
