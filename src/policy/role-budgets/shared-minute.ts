// The calls per minute of a budget that several replicas share, in minutes of the wall clock: each replica takes a block
// of what is left of the minute, and what it does not use ends with it. Around the end of a minute up to twice the limit
// may be made within sixty seconds; each replica by itself also keeps to the last sixty seconds exactly. A store that
// fails refuses nobody.

import { type Clock, within } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { changeRecord } from '../../store/change-record.ts';
import type { Records } from '../../store/contract/records.ts';
import { exceededForNow } from '../budget.ts';
import { storeMs } from './count-writer.ts';

export interface SharedMinuteParts {
  readonly records: Records;
  readonly clock: Clock;
  readonly caught: Caught;
  /** Whose count. */
  readonly key: string;
  readonly mark: string;
  readonly limit: number;
}

const minuteMs = 60_000;
/** Longer than a minute of any replica whose clock is a little off. */
const keptMs = 180_000;
const blocksOfMinute = 20;

export class SharedMinute {
  readonly #parts: SharedMinuteParts;
  readonly #block: number;
  #minute = Number.NaN;
  /** Of the block. */
  #left = 0;
  #isSpent = false;
  #taking: Promise<void> | undefined;

  constructor(parts: SharedMinuteParts) {
    this.#parts = parts;
    this.#block = Math.max(1, Math.floor(parts.limit / blocksOfMinute));
  }

  /** Throws if no further call may be made now. Undefined: one may be, by `count`; otherwise ask again later. */
  room(): Promise<void> | undefined {
    this.#turn();
    if (this.#left > 0) return undefined;
    if (this.#isSpent) throw exceededForNow(this.#parts.limit, this.#untilNext());
    this.#taking ??= this.#take(this.#minute).finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  /** A call is made. */
  count(): void {
    this.#left -= 1;
  }

  #turn(): void {
    const minute = Math.floor(this.#parts.clock.wallNow() / minuteMs);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#left = 0;
    this.#isSpent = false;
  }

  #untilNext(): number {
    return Math.max(1, Math.ceil((this.#minute + 1) * minuteMs - this.#parts.clock.wallNow()));
  }

  async #take(minute: number): Promise<void> {
    const { clock, caught } = this.#parts;
    // A store that fails, or takes too long, refuses nobody.
    let granted = this.#block;
    const taking = this.#granted(minute)
      .then((block) => {
        granted = block;
      })
      .catch((error: unknown) => {
        if (!(error instanceof Fault)) caught(error);
      });
    await within(clock, storeMs, taking);
    if (minute !== this.#minute) return;
    this.#left += granted;
    if (granted === 0) this.#isSpent = true;
  }

  async #granted(minute: number): Promise<number> {
    const { records, key, mark, limit } = this.#parts;
    const place = `${key} ${mark} minute ${minute}`;
    const ttl = { ttlMs: keptMs };
    const take = (before: unknown) => {
      const taken = takenIn(before);
      const block = Math.max(0, Math.min(this.#block, limit - taken));
      if (block === 0) return { result: 0 };
      return { value: { mark, calls: taken + block, bytes: 0 }, result: block };
    };
    return await changeRecord(records, place, take, ttl);
  }
}

/** The shape of the records was checked when they were read. */
function takenIn(value: unknown): number {
  return value === undefined ? 0 : (value as { readonly calls: number }).calls;
}
