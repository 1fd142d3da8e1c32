// What a call is, and what it needs from the host. The pipeline (call.ts) sees the host only
// through these words.

import type { ResponseCache } from '../cache/cache.ts';
import type { Flights } from '../cache/coalesce.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Signal } from '../kernel/withdrawal.ts';
import type { Defects } from '../observe/defects.ts';
import type { Budgets } from '../policy/budget.ts';
import type { Guard } from '../policy/guard.ts';
import type { IdempotencyKeys } from '../policy/idempotency.ts';
import type { Principal } from '../policy/principal.ts';
import type { Caller } from './caller.ts';
import type { IdlePool } from './idle-pool.ts';
import type { Operation } from './operation.ts';
import type { Server } from './server.ts';
import type { StartPlaces } from './start-places.ts';
import type { Tally } from './tally.ts';

export interface CallRequest {
  readonly principal: Principal;
  readonly server: string;
  readonly operation: Operation;
  readonly signal?: Signal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Called with the parameters of each progress notification, as they came. */
  readonly onProgress?: ((params: Buffer) => void) | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The client behind the call, if servers may ask it back. */
  readonly caller?: Caller | undefined;
}

/** One call on its way: what it has come through so far. */
export class Call {
  readonly request: CallRequest;
  readonly startedAt: number;
  attempts = 0;
  replays = 0;
  generation: number | null = null;
  /** What the server said; `cached` as long as nothing was asked of it for this call. */
  answer: 'ok' | 'is_error' | 'cached' = 'cached';

  constructor(request: CallRequest, startedAt: number) {
    this.request = request;
    this.startedAt = startedAt;
  }
}

export interface CallParts {
  readonly clock: Clock;
  /** The clock for timers that are nearly always cancelled. */
  readonly deadlines: Clock;
  readonly guard: Guard | null;
  readonly budgets: Budgets;
  readonly cache: ResponseCache;
  readonly flights: Flights<Buffer>;
  readonly keys: IdempotencyKeys;
  readonly tally: Tally;
  readonly pool: IdlePool;
  /** Told of what was thrown and is no fault. */
  readonly defects: Defects;
  /** For starts that no call needs, only a list. */
  readonly places: StartPlaces;
  /** Throws `not_found` for a name that is not registered. */
  find(server: string): Server;
}
