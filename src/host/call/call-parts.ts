// The types of a call, and what it needs from the host. The pipeline (call.ts) uses the host only
// through these.

import type { ResponseCache } from '../../cache/cache.ts';
import type { Flights } from '../../cache/coalesce.ts';
import type { SharedResults } from '../../cache/shared-results.ts';
import type { Signal } from '../../kernel/cancel-signal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Fault } from '../../kernel/fault.ts';
import type { Defects } from '../../observe/defects.ts';
import type { Access, Kind } from '../../policy/access.ts';
import type { Budgets } from '../../policy/budget.ts';
import type { CallId, IdempotencyKeys } from '../../policy/idempotency.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Account } from '../../policy/role-budgets/account.ts';
import type { RoleBudgets } from '../../policy/role-budgets/role-budgets.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import type { Era } from '../../wire/eras.ts';
import type { Caller } from '../connections/caller.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import type { HostNews } from '../host-news.ts';
import type { OfferedTool } from '../lists/catalogue.ts';
import type { IdlePool } from '../servers/idle-pool.ts';
import type { Server } from '../servers/server.ts';
import type { StartPlaces } from '../servers/start-places.ts';
import type { BegunTask, Place } from '../tasks/begun-task.ts';
import type { BegunTasks } from '../tasks/begun-tasks.ts';
import type { CallAudit } from './call-audit.ts';
import type { CallObservers, ObservedCall } from './call-observer.ts';
import type { Operation } from './operation.ts';

/** What has to be allowed: the tool of a task, the prompt of a completion. */
export interface AccessSubject {
  readonly kind: Kind;
  readonly name: string | null;
}

export interface CallRequest {
  readonly principal: Principal;
  readonly server: string;
  readonly operation: Operation;
  /** What it is about, for the guard, where the operation names something else or nothing. */
  readonly about?: AccessSubject | undefined;
  readonly signal?: Signal | undefined;
  /** Validated where it enters: see `durationFrom`. */
  readonly timeoutMs?: number | undefined;
  /** Called with the parameters of each progress notification, as they came. */
  readonly onProgress?: ((params: Buffer) => void) | undefined;
  /** As the caller gave it; an invalid key is refused, never ignored. */
  readonly idempotencyKey?: unknown;
  /**
   * The id by which a transport may bring the same call again, also to a later process. It works like a key,
   * where the call must not run twice; but the call belongs to its one caller, who can cancel it.
   */
  readonly callId?: CallId | undefined;
  /** The client that made the call, if servers may send it requests. */
  readonly caller?: Caller | undefined;
  /** The connection slot it has to use; if absent, the right one for its caller. */
  readonly slot?: ConnectionSlot | undefined;
  /** The task it is about, which lives on one connection: it goes there or nowhere. */
  readonly task?: BegunTask | undefined;
  /** Called at every dispatch with the connection and the progress token. */
  readonly sentTo?: ((place: Place, token: number) => void) | undefined;
  /** It continues a call of its client that has been charged: no further call, but its bytes count. */
  readonly isContinued?: boolean;
  /** Its server was sent it before and has asked for input: the call may have had its effect. */
  readonly isLaterRound?: boolean;
  /** Tasks of which era its caller can follow; any other is followed for it (task-wait). */
  readonly takesTask?: Era | undefined;
}

/** One running call, with its state so far. */
export class Call implements ObservedCall {
  readonly request: CallRequest;
  readonly startedAt: number;
  attempts = 0;
  replays = 0;
  /** The tool as its caller saw it, at the latest dispatch. */
  offered: OfferedTool | undefined;
  /** How often it has changed its slot because it was assigned to another client. */
  moves = 0;
  /** The latest time that it was sent. */
  exchange: Exchange | undefined;
  generation: number | null = null;
  /** The version of the policy by which it is allowed; undefined: it is not. */
  decidedBy: number | undefined;
  /** What it runs once by; undefined: nothing. */
  key: unknown;
  /** What it was charged to; undefined: nothing. */
  account: Account | undefined;
  /** Whether it was charged, and the bytes that were counted for its result. */
  isCharged = false;
  chargedBytes = 0;
  /** Of a call with an idempotency key: why its result must not be given out. */
  withheld: Fault | undefined;
  /** Its server has answered that it did not run it. */
  isUnrun = false;
  /** Joins its lines in the audit log; null: there are none. */
  auditId: string | null = null;
  /** The outcome; `cached` as long as the server was not contacted for this call. */
  answer: 'ok' | 'is_error' | 'cached' = 'cached';

  constructor(request: CallRequest, startedAt: number) {
    this.request = request;
    this.startedAt = startedAt;
    this.key = request.idempotencyKey;
  }

  /** Whether the server may have received it. */
  get hasLeft(): boolean {
    return this.replays > 0 || (this.exchange?.dispatched ?? 'no') !== 'no';
  }
}

export interface CallParts {
  readonly clock: Clock;
  /** The clock for timers that are nearly always cancelled. */
  readonly deadlines: Clock;
  readonly access: Access;
  readonly budgets: Budgets;
  readonly roleBudgets: RoleBudgets;
  readonly cache: ResponseCache;
  readonly flights: Flights<Buffer>;
  /** Those of other replicas; absent: there are none. */
  readonly sharedResults?: SharedResults | undefined;
  readonly keys: IdempotencyKeys;
  /** Told of every call. */
  readonly observers: CallObservers;
  /** Null: calls are not written down. */
  readonly audit: CallAudit | null;
  readonly pool: IdlePool;
  /** Told of what was thrown and is no fault. */
  readonly defects: Defects;
  /** For starts that no call needs, only a list. */
  readonly places: StartPlaces;
  readonly tasks: BegunTasks;
  readonly news: HostNews;
  /** Throws `not_found` for a name that is not registered. */
  find(server: string, principal?: Principal): Server;
}
