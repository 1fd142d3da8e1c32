// What a registered server is created from: access to processes and the network, stored data, and
// listeners.

import type { Clock, Random } from '../../kernel/clock.ts';
import type { ReadSecret } from '../../kernel/secret-file.ts';
import type { EventHub } from '../../observe/events.ts';
import type { ServerOutputs } from '../../observe/server-output.ts';
import type { Records } from '../../store/contract/records.ts';
import type { Adopt, Spawn } from '../../supervise/child.ts';
import type { Environment } from '../../supervise/process/start/environment.ts';
import type { adoptConnection } from '../../upstream/adopt-connection.ts';
import type { Connection, ConnectionListener } from '../../upstream/connection.ts';
import type { HttpClient } from '../../upstream/http/http-client.ts';
import type { Identity } from '../../upstream/negotiate.ts';
import type { ConnectionParts } from '../../upstream/server-connection.ts';
import type { Message } from '../../wire/scan.ts';
import type { RestoredClients } from '../handover/restored-clients.ts';
import type { ListChange, UpdateAudience } from '../host-news.ts';
import type { KeptCatalogues } from '../lists/kept-catalogues.ts';
import type { ListKind } from '../lists/listings.ts';
import type { BegunTasks } from '../tasks/begun-tasks.ts';
import type { Server } from './server.ts';

/** The access to processes and the network. */
export interface Edges {
  readonly clock: Clock;
  readonly random: Random;
  readonly spawn: Spawn;
  readonly http: HttpClient;
  /** Takes over a process that the serving process before this one has started; absent: there is no holder. */
  readonly adopt?: Adopt;
  /** Takes over a connection of that process; absent: as src/upstream does it. */
  readonly adoptConnection?: typeof adoptConnection;
  /** The environment that processes inherit from; it is needed to find their secrets. */
  readonly sourceEnv?: Environment;
  /** Reads a file that holds a secret; absent where there is no disk. */
  readonly readSecret?: ReadSecret;
  /** Servers that are neither processes nor at an address, by name: how each is reached. */
  readonly connectors?: ReadonlyMap<string, Connector>;
}

/** Opens a connection, or rejects with a Fault and leaves nothing open. */
export type Connector = (
  parts: ConnectionParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
) => Promise<Connection>;

export interface ServerParts extends Edges {
  readonly events: EventHub;
  readonly outputs: ServerOutputs;
  /** What was learnt of servers, by their spec. */
  readonly facts: Records;
  readonly kept: KeptCatalogues;
  /** Where the start history is stored. */
  readonly starts: Records;
  readonly identity: Identity;
  /**
   * Whether this host serves clients: then everything is forwarded, and servers may send requests.
   */
  readonly hasClients: boolean;
  /** Tools whose definition changed: cached results of them are invalid. */
  readonly toolsChanged: (server: string, tools: readonly string[]) => void;
  /** A client has sent the server something on which its answers may depend. */
  readonly clientsTold: (server: string) => void;
  /** A connection was opened; for the idle pool. */
  readonly connected: (server: Server) => void;
  /** A list as clients see it has, or may have, changed. */
  readonly listChanged: (server: string, kind: ListKind, change: ListChange) => void;
  /** A watched resource changed. */
  readonly updated: (server: string, message: Message, audience: UpdateAudience) => void;
  readonly tasks: BegunTasks;
  /** Clients of the process before this one, of which connections know. */
  readonly restoredClients: RestoredClients;
}
