// What all parts of the HTTP front share: the gateway behind it, its limits, and time.

import type { Clock } from '../../kernel/clock.ts';
import type { Deadlines } from '../../kernel/deadlines.ts';
import type { GatewayForTransports } from '../contract.ts';
import type { OutgoingBudget } from '../outgoing/outgoing-budget.ts';
import type { HttpLimits } from './http-limits.ts';
import type { Peers } from './replicas/peers.ts';

export interface Edge {
  readonly front: GatewayForTransports;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  /** For the many timers that are nearly always taken back. */
  readonly deadlines: Deadlines;
  /** What waits for clients that do not keep up. */
  readonly outgoing: OutgoingBudget;
  /** The other replicas, where there may be some. */
  readonly peers?: Peers | undefined;
  /** Whether a connection comes from another replica, which passes on what its client has asked for. */
  readonly isFromPeer?: ((connection: object) => boolean) | undefined;
  /** Whether this replica shuts down. */
  readonly isEnding?: (() => boolean) | undefined;
  /** One line for the operator. */
  readonly report: (line: string) => void;
  /** The same for what is no trouble, such as a refused request. */
  readonly inform: (line: string) => void;
}
