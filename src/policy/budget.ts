// Budgets: limits on calls, calls per minute and bytes. A Budget is one set of limits with its
// counts; Budgets applies one to a piece of asynchronous work, so that every call made inside it is
// charged without passing the budget along. A nested scope counts from zero under its own limits,
// and afterwards the outer one continues. The call pipeline decides what is charged, and when; a
// refused charge counts nothing, except that bytes have already been received when they are
// counted. Work without a scope is not counted at all.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';

/** The limits; each a whole number of at least 0. Absent or null: no limit. */
export interface BudgetLimits {
  /** Calls in total, including those that the cache answers. */
  readonly calls?: number | null | undefined;
  /** Calls within any 60 seconds. */
  readonly perMinute?: number | null | undefined;
  /**
   * Bytes of all results together. The result that exceeds it has been received, but is not
   * returned.
   */
  readonly bytes?: number | null | undefined;
}

const minuteMs = 60_000;

export class Budgets implements Disposable {
  readonly #clock: Clock;
  // Created on first use: from then on every promise of the process pays for the context.
  #scopes: AsyncLocalStorage<Budget> | undefined;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs under new limits; work that is still running afterwards stays under them. */
  withBudget<T>(limits: BudgetLimits, run: () => T): T {
    const budget = new Budget(limits, this.#clock);
    // Nothing can be called any more, so promises must not pay for the context again.
    if (this.#isOver) return run();
    this.#scopes ??= new AsyncLocalStorage();
    return this.#scopes.run(budget, run);
  }

  /** One call is about to be made, whether or not the cache will answer it. */
  charge(): void {
    this.#scopes?.getStore()?.charge();
  }

  chargeBytes(count: number): void {
    this.#scopes?.getStore()?.chargeBytes(count);
  }

  /** Removes the context from the promises of the process. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#scopes?.disable();
    this.#scopes = undefined;
  }
}

export class Budget {
  readonly #clock: Clock;
  readonly #maxCalls: number;
  readonly #maxPerMinute: number;
  readonly #maxBytes: number;
  #calls = 0;
  #bytes = 0;
  // When the calls of the last minute were made, the oldest first; at most `perMinute`.
  #recent: number[] = [];
  // Entries before this index are older than a minute; they are removed when they are half of all.
  #oldest = 0;

  constructor(limits: BudgetLimits, clock: Clock) {
    refuseUnknown(limits);
    this.#clock = clock;
    this.#maxCalls = ceiling('calls', limits.calls);
    this.#maxPerMinute = ceiling('perMinute', limits.perMinute);
    this.#maxBytes = ceiling('bytes', limits.bytes);
  }

  /** All limits are checked before any count changes. Spent bytes refuse the next call, too. */
  charge(): void {
    if (this.#calls >= this.#maxCalls) throw exceeded('calls', this.#maxCalls, this.#calls);
    if (this.#bytes >= this.#maxBytes) throw exceeded('bytes', this.#maxBytes, this.#bytes);
    if (this.#maxPerMinute !== Infinity) this.#chargeMinute();
    this.#calls += 1;
  }

  chargeBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes <= this.#maxBytes) return;
    throw exceeded('bytes', this.#maxBytes, this.#bytes).with({ dispatched: 'yes' });
  }

  #chargeMinute(): void {
    const now = this.#clock.now();
    while ((this.#recent[this.#oldest] ?? Infinity) + minuteMs <= now) this.#oldest += 1;
    if (this.#oldest > this.#recent.length / 2) {
      this.#recent = this.#recent.slice(this.#oldest);
      this.#oldest = 0;
    }
    if (this.#recent.length - this.#oldest >= this.#maxPerMinute) {
      const freeAt = (this.#recent[this.#oldest] ?? now) + minuteMs;
      throw exceededForNow(this.#maxPerMinute, Math.ceil(freeAt - now));
    }
    this.#recent.push(now);
  }

  /** How many times are stored. */
  get kept(): number {
    return this.#recent.length;
  }
}

type LimitName = keyof BudgetLimits;

const limitNames: readonly string[] = ['calls', 'perMinute', 'bytes'] satisfies LimitName[];

/** A misspelt limit would have no effect. */
function refuseUnknown(limits: BudgetLimits): void {
  const unknown = Object.keys(limits).find((key) => !limitNames.includes(key));
  if (unknown === undefined) return;
  throw new Fault(
    'invalid_request',
    `a budget has no limit '${unknown}'; the limits are ${limitNames.join(', ')}`,
  );
}

function ceiling(limit: LimitName, value: number | null | undefined): number {
  if (value === undefined || value === null) return Infinity;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Fault(
    'invalid_request',
    `the budget limit '${limit}' must be a whole number of at least 0, not ${String(value)}`,
  );
}

function exceeded(limit: LimitName, limitValue: number, spent: number): Fault {
  return new Fault(
    'budget_exceeded',
    `the budget of ${limitValue} ${limit} is spent (${spent}); raise it or start a new scope`,
    { limit, limitValue, spent },
  );
}

/** The only limit that recovers by itself, hence the only refusal worth retrying. */
function exceededForNow(limitValue: number, retryAfterMs: number): Fault {
  return new Fault(
    'budget_exceeded',
    `the budget of ${limitValue} calls per minute is spent; try again in ${retryAfterMs} ms`,
    { limit: 'perMinute', limitValue, spent: limitValue, retryable: true, retryAfterMs },
  );
}
