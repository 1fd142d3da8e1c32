// The host's interface for the gateway: everything that src/downstream uses of it, and nothing
// else. A gateway forwards bytes for many clients, so it needs more than a program that calls tools
// (host.ts): the servers themselves with their lists, change notifications, tasks, and the store.

import type { Clock } from '../kernel/clock.ts';
import type { Defects } from '../observe/defects.ts';
import type { Traffic } from '../observe/traffic.ts';
import type { Access } from '../policy/access.ts';
import type { Principal } from '../policy/principal.ts';
import type { CountedClient } from '../policy/role-budgets/session-accounts.ts';
import type { Records, RecordsOptions } from '../store/contract/records.ts';
import type { StoreLink } from '../store/remote/store-link.ts';
import type { Answer } from './call/answer.ts';
import type { CallAudit } from './call/call-audit.ts';
import type { CallObservers } from './call/call-observer.ts';
import type { CallRequest } from './call/call-parts.ts';
import type { ChargedRequest } from './call/charge.ts';
import type { HandedHost, HandOverTo, RestoredHost, Restoring } from './handover/handed-host.ts';
import type { HandedCounts } from './handover/host-state.ts';
import type { HostClients } from './handover/restored-clients.ts';
import type { StatusOptions } from './host.ts';
import type { HostNews } from './host-news.ts';
import type { Server } from './servers/server.ts';
import type { StartPlaces } from './servers/start-places.ts';
import type { HostStatus } from './status.ts';
import type { BegunTasks } from './tasks/begun-tasks.ts';

export interface HostForGateway {
  // --- carrying ----------------------------------------------------------------------------

  /** Sends any request to any server, through the one pipeline. Throws a Fault. */
  carry(request: CallRequest): Promise<Answer>;
  /** Charges bytes of an outcome that is given out once more; throws a Fault if it must not be. */
  countAgain(request: ChargedRequest, bytes: number): Promise<void> | undefined;
  /** Notified of every request, including those that the gateway answers itself. */
  readonly observers: CallObservers;
  /** Writes down what was refused before it reached the pipeline; null: nothing is written down. */
  readonly audit: Pick<CallAudit, 'denied'> | null;
  /** The tasks that calls have begun, by their clients. */
  readonly tasks: BegunTasks;
  /** A client of the gateway has disconnected: what was kept only for it ends. */
  clientGone(key: string): Promise<void>;

  // --- servers and what they list ----------------------------------------------------------

  /** All servers, in the order of the config. */
  servers(): readonly Server[];
  /** The server of this name, if there is one. */
  get(name: string): Server | undefined;
  /** The same, also one that was removed and whose calls are still ending. */
  known(name: string): Server | undefined;
  /** The server of this name; throws `not_found`, or why it cannot be used. */
  find(name: string): Server;
  /** Decides who may do what. */
  readonly access: Access;
  /** Turns for starts that only a list needs. */
  readonly places: StartPlaces;
  /** Changes that clients are notified of. */
  readonly news: HostNews;

  /**
   * Counts what a server says to a client by itself, by the budget of the client's role. False: it exceeds the
   * budget, and must not be given out.
   */
  mayReceive(principal: Principal, client: CountedClient, bytes: number): boolean;

  // --- from one serving process to the next ------------------------------------------------

  /** Which serving process of the instance this is, counted from 1. */
  readonly generation: number;
  /**
   * Gives the servers that run, and all that is known, to the next serving process. Calls that were begun go on here;
   * no new ones may come. Once only.
   */
  handOver(to: HandOverTo): Promise<HandedHost>;
  /** At the former: what was counted since the hand-over, or the last time. */
  takeCounts(): HandedCounts;
  /** At its successor: adds that. */
  addCounts(counts: HandedCounts): void;
  /**
   * Goes on where the process before this one was, before anything was called or started. Throws a Fault, and then
   * nothing has changed.
   */
  restore(restored: RestoredHost): Restoring;
  /** Before clients are given to the next process: what they have spent of budgets that end with them goes along. */
  handOverSpent(link: StoreLink): void;
  /** The clients that are here, and how those are found that the process before this one had. */
  setClients(clients: HostClients): void;

  // --- state and records -------------------------------------------------------------------

  readonly clock: Clock;
  /** Every request, counted once. */
  readonly traffic: Traffic;
  /** The same of one principal alone, which is not the local user. */
  trafficOf(principal: Principal): Traffic;
  status(options?: StatusOptions): HostStatus;
  /** Starts of servers beyond their first; never decreases. */
  readonly workerRestarts: number;
  /** Adds to the `cause` of a server in `status`: one line, or null for nothing. */
  setExplanation(explain: (server: string) => string | null): void;
  /** Receives internal errors that were contained. */
  readonly defects: Defects;
  /** The file that the config was read from; null if it was given as an object. */
  readonly configFile: string | null;
  /** A collection in the host's store, for what the gateway keeps itself. */
  records(name: string, options: RecordsOptions): Records;
}
