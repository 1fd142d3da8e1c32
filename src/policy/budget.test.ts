import { AsyncLocalStorage } from 'node:async_hooks';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { Budget, type BudgetLimits, Budgets } from './budget.ts';

function clockAt(startMs: number): Clock & { ms: number } {
  return {
    ms: startMs,
    now() {
      return this.ms;
    },
    wallNow: () => 0,
    after: () => ({ [Symbol.dispose]: () => {} }),
  };
}

function refusal(run: () => void): Fault {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
  }
  throw new Error('it was not refused');
}

describe('a budget scope', () => {
  it('lets exactly as many calls through as it allows', () => {
    using budgets = new Budgets(clockAt(0));
    budgets.withBudget({ calls: 2 }, () => {
      budgets.charge();
      budgets.charge();
      const { code, record } = refusal(() => budgets.charge());
      expect(code).toBe('budget_exceeded');
      expect(record).toMatchObject({
        limit: 'calls',
        limitValue: 2,
        spent: 2,
        dispatched: 'no',
        retryable: false,
      });
    });
  });

  it('allows none with a ceiling of zero', () => {
    for (const limits of [{ calls: 0 }, { perMinute: 0 }, { bytes: 0 }]) {
      using budgets = new Budgets(clockAt(0));
      budgets.withBudget(limits, () => {
        expect(refusal(() => budgets.charge()).record.spent).toBe(0);
      });
    }
  });

  it('counts from zero when nested and restores the outer ceiling and count', async () => {
    using budgets = new Budgets(clockAt(0));
    await budgets.withBudget({ calls: 2 }, async () => {
      budgets.charge();
      await budgets.withBudget({ calls: 1 }, async () => {
        await Promise.resolve();
        budgets.charge();
        expect(refusal(() => budgets.charge()).record.limitValue).toBe(1);
      });
      budgets.charge();
      expect(refusal(() => budgets.charge()).record).toMatchObject({ limitValue: 2, spent: 2 });
    });
  });

  it('restores the outer scope after a nested one has thrown', async () => {
    using budgets = new Budgets(clockAt(0));
    await budgets.withBudget({ calls: 1 }, async () => {
      const nested = budgets.withBudget({ calls: 5 }, async () => {
        throw new Error('the agent failed');
      });
      await expect(nested).rejects.toThrow('the agent failed');
      budgets.charge();
      expect(refusal(() => budgets.charge()).record.limitValue).toBe(1);
    });
  });

  it('is not felt by work beside it', async () => {
    using budgets = new Budgets(clockAt(0));
    const inside = budgets.withBudget({ calls: 0 }, async () => {
      await Promise.resolve();
      return refusal(() => budgets.charge()).code;
    });
    for (let i = 0; i < 100; i += 1) budgets.charge();
    expect(await inside).toBe('budget_exceeded');
    budgets.charge();
  });

  it('still holds for work that it left running', async () => {
    using budgets = new Budgets(clockAt(0));
    let late: Promise<Fault> | undefined;
    budgets.withBudget({ calls: 1 }, () => {
      budgets.charge();
      late = Promise.resolve().then(() => refusal(() => budgets.charge()));
    });
    expect((await late)?.code).toBe('budget_exceeded');
  });

  it('does not mix the scopes of two hosts', () => {
    using one = new Budgets(clockAt(0));
    using other = new Budgets(clockAt(0));
    one.withBudget({ calls: 0 }, () => {
      other.charge();
      expect(refusal(() => one.charge()).code).toBe('budget_exceeded');
    });
  });

  it('gives back what the work gives', async () => {
    using budgets = new Budgets(clockAt(0));
    expect(budgets.withBudget({}, () => 7)).toBe(7);
    expect(await budgets.withBudget({ calls: null }, async () => 8)).toBe(8);
  });

  it('does not touch asynchronous context before the first scope', () => {
    const run = vi.spyOn(AsyncLocalStorage.prototype, 'run');
    const getStore = vi.spyOn(AsyncLocalStorage.prototype, 'getStore');
    using budgets = new Budgets(clockAt(0));
    budgets.charge();
    budgets.chargeBytes(1_000);
    expect(run).not.toHaveBeenCalled();
    expect(getStore).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});

describe('calls per minute', () => {
  it('refuses one too many and says when the oldest leaves the minute', () => {
    const clock = clockAt(1_000);
    const budget = new Budget({ perMinute: 2 }, clock);
    budget.charge();
    clock.ms += 20_000;
    budget.charge();
    const { record } = refusal(() => budget.charge());
    expect(record).toMatchObject({
      limit: 'perMinute',
      limitValue: 2,
      spent: 2,
      retryable: true,
      retryAfterMs: 40_000,
    });
    clock.ms += 39_999;
    expect(refusal(() => budget.charge()).record.retryAfterMs).toBe(1);
    clock.ms += 1;
    budget.charge();
    expect(refusal(() => budget.charge()).record.retryAfterMs).toBe(20_000);
  });

  it('never lets more than its number through in any sliding minute', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 60 }),
        (perMinute, pauses) => {
          const clock = clockAt(0);
          const budget = new Budget({ perMinute }, clock);
          const passed: number[] = [];
          for (const pause of pauses) {
            clock.ms += pause;
            const inMinute = passed.filter((at) => clock.ms - at < 60_000).length;
            if (inMinute < perMinute) {
              budget.charge();
              passed.push(clock.ms);
            } else expect(refusal(() => budget.charge()).code).toBe('budget_exceeded');
          }
        },
      ),
    );
  });

  it('does not count a call that another ceiling refused', () => {
    const clock = clockAt(0);
    const budget = new Budget({ calls: 1, perMinute: 1 }, clock);
    budget.charge();
    clock.ms += 60_000;
    expect(refusal(() => budget.charge()).record.limit).toBe('calls');
  });
});

describe('bytes', () => {
  it('are counted as they pass, and spent bytes refuse the next call', () => {
    const budget = new Budget({ bytes: 100 }, clockAt(0));
    budget.charge();
    budget.chargeBytes(99);
    budget.charge();
    const { record } = refusal(() => budget.chargeBytes(50));
    expect(record).toMatchObject({ limit: 'bytes', limitValue: 100, spent: 149 });
    expect(refusal(() => budget.charge()).record).toMatchObject({ limit: 'bytes', spent: 149 });
  });

  it('may be spent to the last one', () => {
    const budget = new Budget({ bytes: 100 }, clockAt(0));
    budget.chargeBytes(100);
    expect(refusal(() => budget.charge()).record).toMatchObject({ limit: 'bytes', spent: 100 });
  });
});

describe('the limits', () => {
  it.each([
    ['a fraction', { calls: 1.5 }],
    ['a negative number', { perMinute: -1 }],
    ['no number at all', { bytes: Number.NaN }],
    ['text', { calls: '10' }],
    ['a misspelt name', { call: 10 }],
  ])('refuse %s before anything runs', (_, limits) => {
    using budgets = new Budgets(clockAt(0));
    const run = vi.fn();
    const fault = refusal(() => budgets.withBudget(limits as BudgetLimits, run));
    expect(fault.code).toBe('invalid_request');
    expect(run).not.toHaveBeenCalled();
  });
});
