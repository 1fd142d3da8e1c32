// Counting calls, and saying how each ended. The counters are for status; the event, built only
// when somebody listens, is for the log and the timeline.

import type { Clock } from '../../kernel/clock.ts';
import type { Fault } from '../../kernel/fault.ts';
import type { EventHub, HostEvent } from '../../observe/events.ts';
import type { Call } from './call-parts.ts';
import { subjectOf } from './operation.ts';

type Outcome = Extract<HostEvent, { kind: 'call' }>['outcome'];

export interface CallCounts {
  readonly total: number;
  readonly ok: number;
  readonly isError: number;
  readonly faults: number;
  readonly replays: number;
}

export class Tally {
  readonly #clock: Clock;
  readonly #events: EventHub;
  #ok = 0;
  #isError = 0;
  #faults = 0;
  #replays = 0;
  #request = 0;

  constructor(clock: Clock, events: EventHub) {
    this.#clock = clock;
    this.#events = events;
  }

  get counts(): CallCounts {
    return {
      total: this.#ok + this.#isError + this.#faults,
      ok: this.#ok,
      isError: this.#isError,
      faults: this.#faults,
      replays: this.#replays,
    };
  }

  answer(call: Call): void {
    if (call.answer === 'is_error') this.#isError += 1;
    else this.#ok += 1;
    this.#tell(call, call.answer);
  }

  fault(call: Call, fault: Fault): void {
    this.#faults += 1;
    this.#tell(call, fault.code);
  }

  #tell(call: Call, outcome: Outcome): void {
    this.#replays += call.replays;
    this.#request += 1;
    if (!this.#events.isHeard) return;
    const { request, startedAt, attempts, replays, generation } = call;
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
