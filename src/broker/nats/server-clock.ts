// What the clock of the server says now. The server stamps each letter with the time when it was kept, and only that
// clock can say how old it is: ours may differ by hours. The difference is measured by a message of our own, and
// measured again before a letter is thought to be over, because clocks are set while links live.

import type { Clock } from '../../kernel/clock.ts';
import { BrokerError } from '../broker-error.ts';
import { type JetStream, jsonIn } from './jet-stream.ts';
import { clockStream } from './stream-config.ts';
import { ownSubject } from './subjects.ts';
import type { Wire } from './wire.ts';

/** Within this time a measurement is good enough. */
const freshMs = 5_000;

export class ServerClock {
  readonly #wire: Wire;
  readonly #jetStream: JetStream;
  readonly #clock: Clock;
  readonly #subject: string;
  /** Server time minus our monotonic time. */
  #offset = 0;
  #measuredAt = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | undefined;

  constructor(wire: Wire, jetStream: JetStream, clock: Clock, mailbox: string) {
    this.#wire = wire;
    this.#jetStream = jetStream;
    this.#clock = clock;
    this.#subject = ownSubject(mailbox, 'clock');
  }

  /** How long ago that was, by the last measurement. */
  since(serverMs: number): number {
    return this.#clock.now() + this.#offset - serverMs;
  }

  get isFresh(): boolean {
    return this.#clock.now() - this.#measuredAt < freshMs;
  }

  /** Rejects with a BrokerError. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #measure(): Promise<void> {
    const before = this.#clock.now();
    const { data } = await this.#wire.ask(this.#subject);
    const after = this.#clock.now();
    const { seq } = jsonIn(data);
    const at = await this.#jetStream.storedAt(clockStream, typeof seq === 'number' ? seq : 0);
    if (Number.isNaN(at)) throw new BrokerError('unsupported', 'the server does not say its time');
    this.#offset = at - (before + after) / 2;
    this.#measuredAt = after;
  }
}
