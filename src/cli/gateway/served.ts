// A gateway that is about to serve: its parts, for each of the ways in which clients reach it.

import type { ReadConfig } from '../../config/load.ts';
import type { Gateway } from '../../downstream/gateway.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import type { OwnInstance } from '../../instance/instance.ts';
import type { BrokerState } from '../../observe/broker-state.ts';
import type { ServingRollouts } from '../../rollout/serving-rollouts.ts';
import type { Store } from '../../store/store.ts';
import type { Invocation } from '../invocation.ts';
import type { ConfigInUse } from './config-in-use.ts';
import type { Replicas } from './replicas.ts';
import type { Succession } from './rollout/succession.ts';

export interface Served {
  readonly host: OpenedHost;
  readonly gateway: Gateway;
  readonly loaded: ReadConfig;
  readonly invocation: Invocation;
  readonly instance: OwnInstance | undefined;
  /** What it shares with other gateways. */
  readonly shared: Store | undefined;
  readonly inUse: ConfigInUse;
  /** Rollouts of this process. */
  readonly rollouts: ServingRollouts;
  /** The processes before and after this one; undefined: no holder has started it. */
  readonly succession: Succession | undefined;
  /** Where other gateways may use the same store. */
  readonly replicas: Replicas | undefined;
  /** What it keeps outlives the process. */
  readonly ownsDatabase: boolean;
  /** Its link to a broker, as it is now; null: there is none. */
  readonly broker: () => BrokerState | null;
  /** Called when clients can come. */
  readonly onServing: () => void;
}
