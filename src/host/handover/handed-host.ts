// A host as it passes from one serving process to the next: its state, its connections, and how each side
// reaches the other while calls that were begun before still run. The link itself belongs to src/rollout.

import type { Fault } from '../../kernel/fault.ts';
import type { StoreLink } from '../../store/remote/store-link.ts';
import type {
  AdoptedConnection,
  FormerCalls,
  HandedConnection,
  LinesOfFormer,
  RestOfCalls,
} from '../../upstream/handed-connection.ts';
import type { HostState } from './host-state.ts';

/** One connection that is given away. */
export interface HandedServerConnection {
  /** Its number among those of this hand-over; the state of its slot names it. */
  readonly id: number;
  readonly server: string;
  readonly handed: HandedConnection;
  /** What stays here: the calls that were begun. */
  readonly rest: RestOfCalls;
}

/** Where the lines of those calls go. */
export type ConnectionToFormer = LinesOfFormer;

/** Takes what is given away. */
export interface HandOverTo {
  connection(handed: HandedServerConnection): ConnectionToFormer;
  /** To the next process, for the budgets of roles and for tasks that are begun later; absent: they are not told. */
  readonly link?: StoreLink;
}

/** Everything else that the next process has to know. */
export interface HandedHost {
  /** JSON. */
  readonly state: HostState;
  /** The cached results that the state lists, one after the other. */
  readonly payload: Buffer;
}

/** One connection that was handed over to this process. */
export interface RestoredConnection {
  readonly handed: HandedConnection;
  /** Absent: no calls are left there. */
  readonly former?: FormerCalls;
  /** It is not read, written or ended before; absent: at once. If it rejects, this process ends. */
  readonly mayBegin?: Promise<unknown>;
  /** It is in use here: what the former says to the server is written there. */
  adopted?(connection: AdoptedConnection): void;
  /** It is not used here. Whoever restores the host ends what is left of it. */
  refused?(why: Fault): void;
}

export interface RestoredHost {
  readonly state: HostState;
  readonly payload: Buffer;
  /** By number. */
  readonly connections: ReadonlyMap<number, RestoredConnection>;
  /** To the process before. */
  readonly link?: StoreLink;
}

/** What goes on after a host was restored; neither rejects. */
export interface Restoring {
  /** Resolves when the connections are in use here, or are gone. */
  readonly adopted: Promise<void>;
  /** Resolves when those that are not used here have ended. */
  readonly ended: Promise<void>;
}
