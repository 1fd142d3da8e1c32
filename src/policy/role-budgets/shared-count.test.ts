// A budget that several replicas share: however their calls meet, no more are made than the limit, and what is left of
// a block comes back with the orderly end of its replica.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Records } from '../../store/contract/records.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { StoreError } from '../../store/store-error.ts';
import { blockOf } from './account.ts';
import { AccountBook } from './account-book.ts';
import { type BudgetRules, markOf } from './budget-rules.ts';
import { isStoredCount } from './stored-count.ts';

const day = 24 * 60 * 60 * 1_000;
const holder = { role: 'r', owner: 'token:ann' };

function budgetOf(limits: Partial<BudgetRules>) {
  const rules = { calls: null, perMinute: null, bytes: null, per: 'principal' as const, ...limits };
  return { rules, mark: markOf(rules) };
}

function shared() {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const records = store.records('spent', { durability: 'process', shape: isStoredCount });
  const errors: unknown[] = [];
  const caught = (error: unknown) => void errors.push(error);
  const book = (own: Records = records) =>
    new AccountBook({ clock, records: own, isShared: true, caught });
  return { book, records, errors, clock };
}

/** Whether it was made; a wait is waited for. */
async function call(book: AccountBook, budget: ReturnType<typeof budgetOf>): Promise<boolean> {
  try {
    const account = await book.of(holder, budget);
    for (let wait = account.room(); wait !== undefined; wait = account.room()) await wait;
    account.count();
    return true;
  } catch (error) {
    if (error instanceof Fault && error.code === 'budget_exceeded') return false;
    throw error;
  }
}

describe('a budget that replicas share', () => {
  it('is forgotten a year after its last call, and not before #no-growth', async () => {
    const { book, records, clock } = shared();
    expect(await call(book(), budgetOf({ calls: 10 }))).toBe(true);
    const kept = async () => (await records.entries()).length;
    // What is left of its block comes back.
    await clock.advanceAsync(day);
    await clock.advanceAsync(364 * day);
    expect(await kept()).toBe(1);
    await clock.advanceAsync(3 * day);
    expect(await kept()).toBe(0);
  });

  it('is never exceeded, however their calls meet, and is spent but for parts of blocks that others hold #shared-budgets', async () => {
    const plan = fc.record({
      limit: fc.integer({ min: 0, max: 200 }),
      order: fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 260 }),
      atOnce: fc.integer({ min: 1, max: 7 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ limit, order, atOnce }) => {
        const { book, errors } = shared();
        const books = [book(), book(), book()];
        const budget = budgetOf({ calls: limit });
        let made = 0;
        for (let at = 0; at < order.length; at += atOnce) {
          const turn = order.slice(at, at + atOnce);
          const ends = await Promise.all(
            turn.map((who) => call(books[who] as AccountBook, budget)),
          );
          made += ends.filter(Boolean).length;
        }
        expect(made).toBeLessThanOrEqual(limit);
        // What a replica holds of a block is not there for the others: two blocks at most.
        const held = 2 * blockOf('calls', limit);
        expect(made).toBeGreaterThanOrEqual(Math.min(order.length, limit - held));
        expect(errors).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it('gets back what is left of the block of a replica that ends in order #shared-budgets', async () => {
    const { book, records } = shared();
    const budget = budgetOf({ calls: 500 });
    const [one, other] = [book(), book()];
    for (let count = 0; count < 3; count += 1) await call(one, budget);
    await one.close();
    expect((await records.entries()).map(({ value }) => value)).toMatchObject([{ calls: 3 }]);
    let made = 0;
    while (await call(other, budget)) made += 1;
    expect(made).toBe(497);
  });

  it('is looked at again by one that had used it up #shared-budgets', async () => {
    const { book, clock } = shared();
    const budget = budgetOf({ calls: 500 });
    const [one, other] = [book(), book()];
    for (let count = 0; count < 3; count += 1) await call(one, budget);
    const made = async () => {
      let count = 0;
      while (await call(other, budget)) count += 1;
      return count;
    };
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    expect(await made()).toBe(490);
    await settled();
    await one.close();
    expect(await made()).toBe(0);
    await settled();
    expect(await made()).toBe(0);
    clock.advance(10_000);
    // Nobody waits for it.
    expect(await made()).toBe(0);
    await settled();
    expect(await made()).toBe(7);
  });

  it('is not given back by a replica that ends while it takes a block #shared-budgets', async () => {
    const { book, records } = shared();
    const budget = budgetOf({ calls: 500 });
    let go = () => {};
    let isHeld = false;
    const held: Records = {
      ...records,
      get: async (key) => {
        const released = new Promise<void>((resolve) => {
          go = resolve;
        });
        if (isHeld) await released;
        return await records.get(key);
      },
      putIfAbsent: (key, value) => records.putIfAbsent(key, value),
      compareAndSet: (key, version, value) => records.compareAndSet(key, version, value),
    };
    const [one, other] = [book(held), book()];
    await call(one, budget);
    for (let count = 0; count < 300; count += 1) await call(other, budget);
    isHeld = true;
    // More than half of its block is used: the next one is being taken.
    for (let count = 0; count < 6; count += 1) await call(one, budget);
    const closed = one.close();
    isHeld = false;
    go();
    await closed;
    await other.close();
    expect((await records.entries()).map(({ value }) => value)).toMatchObject([{ calls: 307 }]);
  });

  it('loses at most a block to one that is killed #shared-budgets', async () => {
    const { book } = shared();
    const budget = budgetOf({ calls: 500 });
    await call(book(), budget);
    const other = book();
    let made = 0;
    while (await call(other, budget)) made += 1;
    expect(made).toBe(500 - blockOf('calls', 500));
  });

  it('has one minute for all, and the next one #shared-budgets', async () => {
    const { book, clock } = shared();
    const budget = budgetOf({ perMinute: 50 });
    const books = [book(), book(), book()];
    const madeInOrder = async () => {
      let made = 0;
      for (let count = 0; count < 120; count += 1) {
        if (await call(books[count % 3] as AccountBook, budget)) made += 1;
      }
      return made;
    };
    // What is left of a block of two cannot be used by the others.
    const first = await madeInOrder();
    expect(first).toBeLessThanOrEqual(50);
    expect(first).toBeGreaterThanOrEqual(46);
    clock.advance(60_000);
    expect(await madeInOrder()).toBeGreaterThanOrEqual(46);
  });

  it('counts bytes together, too #shared-budgets', async () => {
    const { book } = shared();
    const budget = budgetOf({ bytes: 1_000 });
    const [one, other] = [await book().of(holder, budget), await book().of(holder, budget)];
    await one.countBytes(900);
    const more = async () => await other.countBytes(300);
    await more();
    await expect(more()).rejects.toMatchObject({ code: 'budget_exceeded' });
  });

  it('refuses nobody while the store fails, and counts all of it later #shared-budgets', async () => {
    const { book, records } = shared();
    const budget = budgetOf({ calls: 100 });
    let isFailing = true;
    const failing: Records = {
      ...records,
      get: (key) =>
        isFailing ? Promise.reject(new StoreError('not_kept', 'it is gone')) : records.get(key),
      putIfAbsent: (key, value) => records.putIfAbsent(key, value),
      compareAndSet: (key, version, value) => records.compareAndSet(key, version, value),
    };
    const one = book(failing);
    for (let count = 0; count < 5; count += 1) expect(await call(one, budget)).toBe(true);
    isFailing = false;
    for (let count = 0; count < 5; count += 1) expect(await call(one, budget)).toBe(true);
    await one.close();
    expect((await records.entries()).map(({ value }) => value)).toMatchObject([{ calls: 10 }]);
  });
});
