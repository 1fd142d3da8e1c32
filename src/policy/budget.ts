// Budgets: limits on calls, calls per minute and bytes. A Budget is one set of limits with its
// counts; Budgets applies one to a piece of asynchronous work, so that every call made inside it is
// charged without passing the budget along. A nested scope counts from zero under its own limits,
// and afterwards the outer one continues. The call pipeline decides what is charged, and when; a
// refused charge counts nothing, except that bytes have already been received when they are
// counted. Work without a scope is not counted at all.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { MinuteWindow } from './minute-window.ts';

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

  /** The call that was charged, and bytes with it, was denied and never sent. The minute stays charged. */
  giveBack(bytes: number): void {
    this.#scopes?.getStore()?.giveBack(bytes);
  }

  /** Removes the context from the promises of the process. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#scopes?.disable();
    this.#scopes = undefined;
  }
}

export class Budget {
  readonly #maxCalls: number;
  readonly #maxPerMinute: number;
  readonly #maxBytes: number;
  readonly #minute: MinuteWindow;
  #calls = 0;
  #bytes = 0;

  constructor(limits: BudgetLimits, clock: Clock) {
    refuseUnknown(limits);
    this.#maxCalls = ceiling('calls', limits.calls);
    this.#maxPerMinute = ceiling('perMinute', limits.perMinute);
    this.#maxBytes = ceiling('bytes', limits.bytes);
    this.#minute = new MinuteWindow(clock, this.#maxPerMinute);
  }

  /** All limits are checked before any count changes. Spent bytes refuse the next call, too. */
  charge(): void {
    if (this.#calls >= this.#maxCalls) throw spent('calls', this.#maxCalls, this.#calls);
    if (this.#bytes >= this.#maxBytes) throw spent('bytes', this.#maxBytes, this.#bytes);
    const waitMs = this.#minute.waitMs();
    if (waitMs > 0) throw exceededForNow(this.#maxPerMinute, waitMs);
    this.#minute.count();
    this.#calls += 1;
  }

  chargeBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes <= this.#maxBytes) return;
    throw spent('bytes', this.#maxBytes, this.#bytes).with({ dispatched: 'yes' });
  }

  giveBack(bytes: number): void {
    this.#calls -= 1;
    this.#bytes -= bytes;
  }

  /** How many times are stored. */
  get kept(): number {
    return this.#minute.kept;
  }
}

function spent(limit: LimitName, limitValue: number, count: number): Fault {
  return exceeded(limit, limitValue, count, 'raise it or start a new scope');
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

/** `remedy` follows a semicolon. */
export function exceeded(
  limit: LimitName,
  limitValue: number,
  spent: number,
  remedy: string,
): Fault {
  return new Fault(
    'budget_exceeded',
    `the budget of ${limitValue} ${limit} is spent (${spent}); ${remedy}`,
    { limit, limitValue, spent },
  );
}

/** The only limit that recovers by itself, hence the only refusal worth retrying. */
export function exceededForNow(limitValue: number, retryAfterMs: number): Fault {
  return new Fault(
    'budget_exceeded',
    `the budget of ${limitValue} calls per minute is spent; try again in ${retryAfterMs} ms`,
    { limit: 'perMinute', limitValue, spent: limitValue, retryable: true, retryAfterMs },
  );
}
