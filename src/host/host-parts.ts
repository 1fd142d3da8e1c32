// What a host is created from: clock, processes and HTTP, the config, its store and its events.
// create-host.ts passes the real ones; tests and the simulation pass others.

import type { SharedPlace } from '../cache/shared-results.ts';
import type { LoadedConfig } from '../config/loaded.ts';
import type { Config, ServerConfig } from '../config/schema.ts';
import type { EventHub } from '../observe/events.ts';
import type { KeyedStore } from '../policy/idempotency.ts';
import type { Records } from '../store/contract/records.ts';
import type { Store } from '../store/store.ts';
import type { Identity } from '../upstream/negotiate.ts';
import type { HostAudit } from './call/call-audit.ts';
import type { ApplyOptions } from './host.ts';
import type { RolloutState } from './rollout-status.ts';
import type { Edges } from './servers/server-parts.ts';

/** Where replicas share public results. */
export interface SharedResultRecords {
  readonly place: () => Promise<SharedPlace>;
  /** Which of them are still good (shared-epochs). */
  readonly epochs: Records;
}

export interface HostParts {
  readonly edges: Edges;
  readonly config: Config;
  readonly configFile: string | null;
  readonly disabled: ReadonlyMap<string, string>;
  readonly store: Store;
  /** Where idempotency keys are kept; absent: in memory. */
  readonly keyed?: KeyedStore;
  /** Where it is kept what was spent of the budgets of roles; absent: in memory. */
  readonly spent?: Records;
  /** Other replicas count there, too. */
  readonly isSpentShared?: boolean;
  /** Where public results are, which other replicas have fetched; absent: there are no others. */
  readonly sharedResults?: SharedResultRecords | undefined;
  /** Where calls are written down; absent: nowhere. */
  readonly audit?: HostAudit;
  readonly identity: Identity;
  readonly instance: string;
  readonly startedBy: string;
  /** What knows about rollouts; absent: there are none. */
  readonly rollout?: RolloutState | undefined;
  readonly events: EventHub;
  /**
   * Whether this host serves clients (a gateway): then everything is forwarded, and servers may
   * send requests.
   */
  readonly hasClients: boolean;
  /** How many processors this machine has; it decides how many servers lists start at once. */
  readonly processors?: number;
  /** Reads one server's entry by the rules of the config file. */
  readonly readEntry: (name: string, entry: Readonly<Record<string, unknown>>) => ServerConfig;
  /** Reads a whole config by the same rules. */
  readonly readConfig: (options: ApplyOptions) => LoadedConfig;
  /** The time that all processes of this machine have, in milliseconds since any moment; absent: there is no other one. */
  readonly machineNow?: () => number;
  /** All processes that could be given away were: what is recorded about them is another process's now. */
  readonly leave?: () => Promise<void>;
  /** Ends what the host was given, after its servers have ended. */
  readonly release: () => Promise<void>;
}
