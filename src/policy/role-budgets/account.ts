// One count under the budget of a role. What is spent of `calls` and `bytes` is recorded ahead of use, a
// block at a time: what is recorded is never less than what was spent, so a killed process cannot give
// anybody more than the limit, and costs at most one block. While a part of the block is left, nothing
// waits; the next block is recorded before the last one is used up. If it cannot be recorded, the count
// goes on in memory, and the next block tries again with all of it. Where several replicas count together, a block is
// taken from what all of them have left, and what the others have taken meanwhile counts here, too. In a rollout the count
// goes to the next process as it is; from then on nothing is recorded here, and what calls add that were begun before is
// told to that process.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { exceeded, exceededForNow } from '../budget.ts';
import { type CallsOfSecond, MinuteWindow } from '../minute-window.ts';
import { type BudgetRules, type MarkedRules, nothingSpent, type Spent } from './budget-rules.ts';
import type { SpentLimit } from './budget-status.ts';
import type { SharedMinute } from './shared-minute.ts';

/** What is recorded. */
export interface Recorded extends Spent {
  /** The calls of the last minute; only where a count was closed. */
  readonly minute?: readonly CallsOfSecond[] | undefined;
}

/** What a block was taken from, where several replicas count together. */
export interface Together {
  /** What others have taken since the last time. */
  readonly others: Spent;
  /** What all of them have taken now, this block included. */
  readonly reserved: Spent;
}

export interface AccountParts {
  readonly clock: Clock;
  readonly role: string;
  readonly budget: MarkedRules;
  readonly spent?: Recorded;
  /** Records what may be spent until the next time; absent: nothing is kept. It never rejects. */
  readonly record?: ((reserved: Recorded) => Promise<Together | undefined>) | undefined;
  /** The minute that other replicas count in, too. */
  readonly sharedMinute?: SharedMinute | undefined;
}

const nothingRecorded: Recorded = nothingSpent;
const none = Number.POSITIVE_INFINITY;
const blocksOfLimit = 50;
/** So often a count that is used up is read again, where others may give something back. */
const lookMs = 10_000;
const maxBlock = { calls: 1_000, bytes: 1_048_576 };

/** How much is recorded ahead of its use. */
export function blockOf(kind: keyof Spent, limit: number): number {
  return Math.max(1, Math.min(maxBlock[kind], Math.floor(limit / blocksOfLimit)));
}

export class Account {
  readonly mark: string;
  readonly rules: BudgetRules;
  readonly #clock: Clock;
  readonly #role: string;
  #record: AccountParts['record'];
  readonly #max: Spent;
  readonly #block: Spent;
  readonly #maxPerMinute: number;
  readonly #minute: MinuteWindow;
  readonly #sharedMinute: SharedMinute | undefined;
  #calls: number;
  #bytes: number;
  #reserved: Spent;
  #recording: Promise<void> | undefined;
  /** Others count here, too. */
  #isTogether = false;
  #nextLook = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Told what is added here after the next process has the count. */
  #late: ((more: Spent) => void) | undefined;
  #successor: (() => Account) | undefined;

  constructor(parts: AccountParts) {
    const { clock, role, budget, spent = nothingRecorded, record } = parts;
    const { rules, mark } = budget;
    this.#sharedMinute = parts.sharedMinute;
    this.mark = mark;
    this.rules = rules;
    this.#clock = clock;
    this.#role = role;
    this.#record = record;
    this.#max = { calls: rules.calls ?? none, bytes: rules.bytes ?? none };
    this.#block = {
      calls: blockOf('calls', this.#max.calls),
      bytes: blockOf('bytes', this.#max.bytes),
    };
    this.#maxPerMinute = rules.perMinute ?? none;
    this.#minute = new MinuteWindow(clock, this.#maxPerMinute, spent.minute);
    this.#calls = spent.calls;
    this.#bytes = spent.bytes;
    this.#reserved = this.#unreserved();
  }

  /** Nothing more than what is spent is recorded; without a record all is free. */
  #unreserved(): Spent {
    const { calls, bytes } = this.rules;
    const isKept = this.#record !== undefined;
    return {
      calls: isKept && calls !== null ? this.#calls : none,
      bytes: isKept && bytes !== null ? this.#bytes : none,
    };
  }

  /** It began before it was known what was spent earlier: that is added, and all is recorded from now on. */
  found(earlier: Spent, record: AccountParts['record']): void {
    this.#calls += earlier.calls;
    this.#bytes += earlier.bytes;
    this.#record = record;
    this.#reserved = this.#unreserved();
    if (record !== undefined) this.#reserve().catch(ignored);
  }

  /** The next process counts from here on: what a call adds that was begun here is told to `late`. */
  handOver(late: (more: Spent) => void): Spent & { readonly minute: readonly CallsOfSecond[] } {
    const { calls } = this.#minute;
    this.#late = late;
    this.#record = undefined;
    this.#reserved = this.#unreserved();
    return { ...this.spent, minute: calls };
  }

  /** What one call has added that the former process had begun; it is not refused for it any more. */
  add({ calls, bytes }: Spent): void {
    this.#calls = Math.max(0, this.#calls + calls);
    this.#bytes = Math.max(0, this.#bytes + bytes);
    if (calls > 0) this.#minute.count();
    if (this.#late !== undefined) return this.#late({ calls, bytes });
    if (this.#calls > this.#reserved.calls || this.#bytes > this.#reserved.bytes) {
      this.#reserve().catch(ignored);
    } else this.#reserveAhead();
  }

  get spent(): Spent {
    return { calls: this.#calls, bytes: this.#bytes };
  }

  /** What is to be known of it when it is used again. */
  get recorded(): Recorded {
    const { calls } = this.#minute;
    return calls.length === 0 ? this.spent : { ...this.spent, minute: calls };
  }

  /** What is spent of each limit that is set. */
  get limits(): readonly SpentLimit[] {
    const { calls, perMinute, bytes } = this.rules;
    const { spent, freesInMs } = this.#minute.use;
    const freesAt = freesInMs === null ? null : Math.round(this.#clock.wallNow() + freesInMs);
    const all = [
      { limit: 'calls', limitValue: calls, spent: this.#calls, freesAt: null },
      { limit: 'perMinute', limitValue: perMinute, spent, freesAt },
      { limit: 'bytes', limitValue: bytes, spent: this.#bytes, freesAt: null },
    ] as const;
    return all.flatMap(({ limitValue, ...one }) =>
      limitValue === null ? [] : [{ ...one, limitValue }],
    );
  }

  /** Whether it outlives the process. */
  get isKept(): boolean {
    return this.#record !== undefined;
  }

  /**
   * Throws if no further call may be made. Undefined: one may be, in this turn, by `count`; otherwise
   * ask again when the promise has resolved.
   */
  room(): Promise<void> | undefined {
    if (this.#calls >= this.#max.calls || this.#bytes >= this.#max.bytes) this.#lookAgain();
    if (this.#calls >= this.#max.calls) throw this.#exceeded('calls');
    if (this.#bytes >= this.#max.bytes) throw this.#exceeded('bytes');
    const waitMs = this.#minute.waitMs();
    if (waitMs > 0) throw exceededForNow(this.#maxPerMinute, waitMs);
    if (this.#calls >= this.#reserved.calls) return this.#reserve();
    return this.#sharedMinute?.room();
  }

  /** Another replica may have given back what was left of its block: who comes later knows. */
  #lookAgain(): void {
    const now = this.#clock.now();
    if (!this.#isTogether || now < this.#nextLook) return;
    this.#nextLook = now + lookMs;
    this.#reserve().catch(ignored);
  }

  /** A call is made. */
  count(): void {
    this.#calls += 1;
    this.#minute.count();
    this.#sharedMinute?.count();
    this.#late?.({ calls: 1, bytes: 0 });
    this.#reserveAhead();
  }

  /**
   * The call was never sent: it may be made again as the same call, or was denied, after bytes were counted for it.
   * The minute stays charged.
   */
  giveBack(bytes = 0): void {
    const next = this.#successor?.();
    if (next !== undefined) {
      // Under other limits the count began at zero: this call was never counted there.
      if (next.mark === this.mark) next.giveBack(bytes);
      return;
    }
    // What it was counted in may have been forgotten.
    this.#calls = Math.max(0, this.#calls - 1);
    this.#bytes = Math.max(0, this.#bytes - bytes);
    this.#late?.({ calls: -1, bytes: 0 - bytes });
  }

  /**
   * A result has arrived. Throws if it exceeds the limit: then it must not be given out. A promise: not
   * before it has resolved.
   */
  countBytes(count: number): Promise<void> | undefined {
    const next = this.#successor?.();
    if (next !== undefined) return next.countBytes(count);
    this.#bytes += count;
    this.#late?.({ calls: 0, bytes: count });
    if (this.#bytes > this.#max.bytes) {
      if (this.#record !== undefined) this.#reserve().catch(ignored);
      throw this.#exceeded('bytes').with({ dispatched: 'yes' });
    }
    if (this.#bytes > this.#reserved.bytes) return this.#reserveBytes();
    this.#reserveAhead();
    return undefined;
  }

  /** For a result that was paid for before: throws while more was received than the limit allows. */
  assertNotExceeded(): void {
    if (this.#bytes > this.#max.bytes) {
      throw this.#exceeded('bytes').with({ dispatched: 'yes' });
    }
  }

  /**
   * Nothing more is recorded, after exactly what was spent. What calls that still run add is counted by the
   * successor: the count that is used from now on.
   */
  async close(successor?: () => Account): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#successor = successor;
    // What others have taken meanwhile is known after it.
    await this.#recording;
    await this.#record?.(this.recorded);
  }

  async #reserveBytes(): Promise<void> {
    while (this.#bytes > this.#reserved.bytes) await this.#reserve();
  }

  #reserveAhead(): void {
    if (this.#recording !== undefined) return;
    const [{ calls, bytes }, block, max] = [this.#reserved, this.#block, this.#max];
    const isLow =
      (calls < max.calls && (calls - this.#calls) * 2 < block.calls) ||
      (bytes < max.bytes && (bytes - this.#bytes) * 2 < block.bytes);
    if (isLow) this.#reserve().catch(ignored);
  }

  /** One at a time: who comes meanwhile waits for it, and looks again. */
  #reserve(): Promise<void> {
    this.#recording ??= this.#recorded().finally(() => {
      this.#recording = undefined;
    });
    return this.#recording;
  }

  async #recorded(): Promise<void> {
    const ahead = (kind: keyof Spent) => {
      const wanted = Math.min(this.spent[kind] + this.#block[kind], this.#max[kind]);
      return this.#max[kind] === none ? none : Math.max(this.spent[kind], wanted);
    };
    const next = { calls: ahead('calls'), bytes: ahead('bytes') };
    const stored = {
      calls: next.calls === none ? this.#calls : next.calls,
      bytes: next.bytes === none ? this.#bytes : next.bytes,
    };
    const together = this.#isClosed ? undefined : await this.#record?.(stored);
    this.#reserved = together === undefined ? next : this.#taken(together);
  }

  #taken({ others, reserved }: Together): Spent {
    this.#isTogether = true;
    this.#calls += others.calls;
    this.#bytes += others.bytes;
    const { calls, bytes } = this.#max;
    return {
      calls: calls === none ? none : reserved.calls,
      bytes: bytes === none ? none : reserved.bytes,
    };
  }

  #exceeded(kind: keyof Spent) {
    const remedy = `roles.${this.#role}.budget in the config sets it`;
    return exceeded(kind, this.#max[kind], this.spent[kind], remedy);
  }
}
