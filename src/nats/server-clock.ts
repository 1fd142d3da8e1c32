// What the clock of the server says now. All who use a server see the same time this way, however wrong their own
// clocks are. The difference is measured by a message of our own, which the server stamps when it is stored, and can
// be measured again, because clocks are set while connections live.

import type { Clock } from '../kernel/clock.ts';
import { type JetStreamApi, jsonIn } from './jet-stream-api.ts';
import type { Refused } from './nats-error.ts';
import type { Wire } from './wire.ts';

export interface ServerClockParts<E extends Refused> {
  readonly wire: Wire<E>;
  readonly api: JetStreamApi<E>;
  readonly clock: Clock;
  /** A stream for nothing else, and its subject. */
  readonly stream: string;
  readonly subject: string;
}

/** Within this time a measurement is good enough. */
const freshMs = 5_000;

export class ServerClock<E extends Refused> {
  readonly #parts: ServerClockParts<E>;
  /** Server time minus our monotonic time. */
  #offset = 0;
  #measuredAt = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | undefined;

  constructor(parts: ServerClockParts<E>) {
    this.#parts = parts;
  }

  /** Milliseconds since the epoch on the server's clock, by the last measurement. */
  now(): number {
    return this.#parts.clock.now() + this.#offset;
  }

  get isFresh(): boolean {
    return this.#parts.clock.now() - this.#measuredAt < freshMs;
  }

  /** Rejects with what the wire makes. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #measure(): Promise<void> {
    const { wire, api, clock, stream, subject } = this.#parts;
    const before = clock.now();
    const { data } = await wire.ask(subject);
    const after = clock.now();
    const { seq } = jsonIn(data);
    const stored = api.storedAt(stream, typeof seq === 'number' ? seq : 0);
    const at = await stored.catch((error: unknown) => {
      throw api.known(error);
    });
    if (Number.isNaN(at)) {
      throw wire.refuse('unsupported', 'the NATS server does not say its time');
    }
    this.#offset = at - (before + after) / 2;
    this.#measuredAt = after;
  }
}
