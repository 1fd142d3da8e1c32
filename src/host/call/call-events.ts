// The end of each call as an event, for the log, the timeline and the library's `events()`. It is
// created only when somebody listens. Requests that the gateway answers itself concern no server
// and are not events.

import type { Clock } from '../../kernel/clock.ts';
import type { EventHub } from '../../observe/events.ts';
import type { CallObserver, CallOutcome, ObservedCall } from './call-observer.ts';
import { subjectOf } from './operation.ts';

export class CallEvents implements CallObserver {
  readonly #clock: Clock;
  readonly #events: EventHub;
  #request = 0;

  constructor(clock: Clock, events: EventHub) {
    this.#clock = clock;
    this.#events = events;
  }

  ended(call: ObservedCall, outcome: CallOutcome): void {
    const { request, startedAt, attempts, replays, generation } = call;
    if (request.server === null) return;
    this.#request += 1;
    if (!this.#events.isHeard) return;
    this.#events.tell({
      at: this.#clock.wallNow(),
      kind: 'call',
      server: request.server,
      request: this.#request,
      tool: subjectOf(request.operation),
      latencyMs: wholeMicroseconds(this.#clock.now() - startedAt),
      attempts,
      replays,
      outcome,
      generation,
    });
  }
}

/** In milliseconds; never negative. A double with all its digits takes longer to write than the rest. */
function wholeMicroseconds(ms: number): number {
  return Math.round(Math.max(0, ms) * 1_000) / 1_000;
}
