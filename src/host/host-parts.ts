// What a host is made from: its edges to the world, the config that was read, its store and its events.
// create-host.ts gives it the real ones; tests and the simulation give it others.

import type { Config, ServerConfig } from '../config/schema.ts';
import type { EventHub } from '../observe/events.ts';
import type { Store } from '../store/store.ts';
import type { Identity } from '../upstream/negotiate.ts';
import type { Edges } from './servers/server.ts';

export interface HostParts {
  readonly edges: Edges;
  readonly config: Config;
  readonly configFile: string | null;
  readonly disabled: ReadonlyMap<string, string>;
  readonly store: Store;
  readonly identity: Identity;
  readonly instance: string;
  readonly startedBy: string;
  readonly events: EventHub;
  /** Do clients stand behind this host (a gateway): is everything carried, may servers ask back? */
  readonly hasClients: boolean;
  /** How many processors this machine has; lists start so many servers at once as they can bear. */
  readonly processors?: number;
  /** Reads one server's entry by the rules of the config file. */
  readonly readEntry: (name: string, entry: Readonly<Record<string, unknown>>) => ServerConfig;
  /** Ends what the host was given, after its servers have ended. */
  readonly release: () => Promise<void>;
}
