// One count: what is recorded is never less than what was spent and at most one block more, nothing waits
// while a part of a block is left, and a store that fails takes nothing from anybody.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { Fault } from '../../kernel/fault.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { StoreError } from '../../store/store-error.ts';
import { Account, blockOf } from './account.ts';
import { AccountBook, readAgainMs } from './account-book.ts';
import { type BudgetRules, markOf, type Spent } from './budget-rules.ts';
import { storeMs } from './count-writer.ts';
import { isStoredCount } from './stored-count.ts';

function budgetOf(limits: Partial<BudgetRules>) {
  const rules = { calls: null, perMinute: null, bytes: null, per: 'principal' as const, ...limits };
  return { rules, mark: markOf(rules) };
}

async function callOn(account: Account): Promise<void> {
  for (let wait = account.room(); wait !== undefined; wait = account.room()) await wait;
  account.count();
}

const ending = (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (thrown: unknown) => (thrown instanceof Fault ? thrown.code : thrown),
  );

function newAccount(limits: Partial<BudgetRules>, record?: (spent: Spent) => Promise<void>) {
  const clock = manualClock();
  const recorded = async (spent: Spent) => {
    await record?.(spent);
    return undefined;
  };
  const budget = budgetOf(limits);
  const kept = record && { record: recorded };
  return { clock, account: new Account({ clock, role: 'r', budget, ...kept }) };
}

describe('the count of a budget', () => {
  it.each([
    [1, 1],
    [49, 1],
    [500, 10],
    [1_000_000, 1_000],
  ])('of %i calls is recorded %i ahead', (limit, block) => {
    expect(blockOf('calls', limit)).toBe(block);
  });

  it('is recorded before it is used, at most a block ahead, and never beyond the limit #budgets-kept', async () => {
    const step = fc.constantFrom('call', 'call', 'bytes', 'stored', 'failed');
    const plan = fc.record({
      calls: fc.integer({ min: 0, max: 300 }),
      bytes: fc.integer({ min: 1, max: 3_000 }),
      steps: fc.array(step, { maxLength: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ calls, bytes, steps }) => {
        const waiting: ((isKept: boolean) => void)[] = [];
        let kept: Spent = { calls: 0, bytes: 0 };
        const record = (next: Spent) =>
          new Promise<void>((resolve) => {
            waiting.push((isKept) => {
              if (isKept) kept = next;
              resolve();
            });
          });
        const { account } = newAccount({ calls, bytes }, record);
        let [made, received, failures] = [0, 0, 0];
        const settle = async (isKept: boolean) => {
          if (!isKept && waiting.length > 0) failures += 1;
          waiting.shift()?.(isKept);
          await settled();
        };
        const works: Promise<unknown>[] = [];
        for (const one of steps) {
          if (one === 'call') works.push(ending(callOn(account).then(() => (made += 1))));
          else if (one === 'bytes') {
            try {
              const wait = account.countBytes(17) ?? Promise.resolve();
              works.push(wait.then(() => (received += 17)));
            } catch {
              // Beyond the limit: it is not given out.
            }
          } else await settle(one === 'stored');
          await settled();
          expect(made).toBeLessThanOrEqual(calls);
          expect(received).toBeLessThanOrEqual(bytes);
          if (failures > 0) continue;
          expect(kept.calls).toBeGreaterThanOrEqual(made);
          expect(kept.bytes).toBeGreaterThanOrEqual(received);
          expect(kept.calls).toBeLessThanOrEqual(Math.min(calls, made + blockOf('calls', calls)));
        }
        while (waiting.length > 0) await settle(true);
        await Promise.all(works);
      }),
      { numRuns: 200 },
    );
  });

  it('does not wait while a part of a block is left, and the next block is recorded meanwhile', async () => {
    let records = 0;
    const { account } = newAccount({ calls: 5_000 }, async () => {
      records += 1;
    });
    await callOn(account);
    let waits = 0;
    for (let count = 1; count < 5_000; count++) {
      if (account.room() !== undefined) waits += 1;
      account.count();
      await settled();
    }
    expect(waits).toBe(0);
    expect(records).toBeLessThanOrEqual(101);
    expect(() => account.room()).toThrow(Fault);
  });

  it('refuses the call that finds bytes spent, and says how long a minute lasts', async () => {
    const { account, clock } = newAccount({ bytes: 10, perMinute: 1 });
    await callOn(account);
    clock.advance(10_000);
    expect(() => account.room()).toThrow(
      expect.objectContaining({
        record: expect.objectContaining({ limit: 'perMinute', retryAfterMs: 50_000 }),
      }),
    );
    clock.advance(50_000);
    await callOn(account);
    expect(() => account.countBytes(11)).toThrow(
      expect.objectContaining({ dispatched: 'yes', code: 'budget_exceeded' }),
    );
    expect(() => account.room()).toThrow(
      expect.objectContaining({ record: expect.objectContaining({ limit: 'bytes', spent: 11 }) }),
    );
  });
});

function newBook(options: { store?: MemoryStore; maxAccounts?: number } = {}) {
  const clock = manualClock();
  const { store = new MemoryStore({ clock }), ...more } = options;
  const records = store.records('spent', { durability: 'process', shape: isStoredCount });
  const defects: unknown[] = [];
  const parts = { clock, records, caught: (error: unknown) => defects.push(error), ...more };
  const next = () => new AccountBook(parts);
  return { clock, store, records, defects, next, book: next() };
}

const ann = { role: 'r', owner: 'token:ann' };

describe('the counts of all principals', () => {
  it('go on after the process: less at most a block after a kill, exactly after an orderly end #budgets-kept', async () => {
    const { book, next } = newBook();
    const budget = budgetOf({ calls: 200 });
    const account = await book.of(ann, budget);
    for (let count = 0; count < 7; count++) await callOn(account);
    await settled();
    const afterKill = await next().of(ann, budget);
    expect(afterKill.spent.calls).toBeGreaterThanOrEqual(7);
    expect(afterKill.spent.calls).toBeLessThanOrEqual(7 + blockOf('calls', 200));
    await book.close();
    expect((await next().of(ann, budget)).spent.calls).toBe(7);
  });

  it('begin at zero under other limits, and are apart for each principal and role', async () => {
    const { book, next } = newBook();
    await callOn(await book.of(ann, budgetOf({ calls: 1 })));
    await callOn(await book.of({ ...ann, owner: 'token:bob' }, budgetOf({ calls: 1 })));
    await callOn(await book.of({ ...ann, owner: null }, budgetOf({ calls: 1 })));
    expect(await ending(callOn(await book.of(ann, budgetOf({ calls: 1 }))))).toBe(
      'budget_exceeded',
    );
    await callOn(await book.of(ann, budgetOf({ calls: 2 })));
    await book.close();
    expect((await next().of(ann, budgetOf({ calls: 2 }))).spent.calls).toBe(1);
    expect((await next().of(ann, budgetOf({ calls: 3 }))).spent.calls).toBe(0);
  });

  it('go on in memory while the store fails, and are recorded whole when it works again #budgets-kept', async () => {
    const { book, next, records, defects } = newBook();
    const budget = budgetOf({ calls: 10 });
    const put = records.put.bind(records);
    records.put = () => Promise.reject(new StoreError('not_kept', 'the disk is full'));
    const account = await book.of(ann, budget);
    for (let count = 0; count < 6; count++) await callOn(account);
    records.put = put;
    for (let count = 6; count < 10; count++) await callOn(account);
    await settled();
    expect(await ending(callOn(account))).toBe('budget_exceeded');
    expect(await ending(callOn(await next().of(ann, budget)))).toBe('budget_exceeded');
    expect(defects).toEqual([]);
  });

  it('go on in memory while the store hangs, and nobody waits for it but the first, and not for long', async () => {
    const { book, next, records, clock } = newBook();
    const budget = budgetOf({ calls: 10 });
    const put = records.put.bind(records);
    const hanging: (() => void)[] = [];
    records.put = (key, value) =>
      new Promise((resolve, reject) => {
        hanging.push(() => void put(key, value).then(resolve, reject));
      });
    const account = await book.of(ann, budget);
    const first = callOn(account);
    await settled();
    clock.advance(storeMs - 1);
    await settled();
    expect(account.spent.calls).toBe(0);
    clock.advance(1);
    await first;
    for (let count = 1; count < 5; count++) await callOn(account);
    const others = Array.from({ length: 20 }, (_, owner) => ({ role: 'r', owner: `${owner}` }));
    for (const owner of others) await callOn(await book.of(owner, budget));
    await book.close();
    // One write for each count: what came meanwhile is written when the one before has been.
    expect(hanging.length).toBe(21);
    while (hanging.length > 0) {
      hanging.shift()?.();
      await settled();
    }
    expect((await next().of(ann, budget)).spent.calls).toBe(5);
  });

  it('begin in memory while the records are not read in time, and what was spent is added when they are', async () => {
    const { book, next, records, clock } = newBook();
    const budget = budgetOf({ calls: 10 });
    for (let count = 0; count < 4; count++) await callOn(await book.of(ann, budget));
    await book.close();
    const entries = records.entries.bind(records);
    let read = () => {};
    records.entries = () =>
      new Promise((resolve, reject) => {
        read = () => void entries().then(resolve, reject);
      });
    const later = next();
    const opened = later.of(ann, budget);
    expect(opened).toBeInstanceOf(Promise);
    clock.advance(storeMs);
    const account = await opened;
    await callOn(account);
    expect(later.of({ ...ann, owner: 'token:bob' }, budget)).toBeInstanceOf(Account);
    read();
    await settled();
    expect(account).toMatchObject({ spent: { calls: 5 }, isKept: true });
  });

  it('live in memory if what was spent cannot be read, and nothing stored is written over', async () => {
    const { book, next, records } = newBook();
    const budget = budgetOf({ calls: 10 });
    for (let count = 0; count < 9; count++) await callOn(await book.of(ann, budget));
    await book.close();
    const entries = records.entries.bind(records);
    records.entries = () => Promise.reject(new StoreError('unreadable', 'the disk fails'));
    const blind = await next().of(ann, budget);
    await callOn(blind);
    expect([blind.isKept, blind.spent.calls]).toEqual([false, 1]);
    records.entries = entries;
    expect((await next().of(ann, budget)).spent.calls).toBe(9);
  });

  it('that began while nothing could be read are read later, without a call that waits #budgets-kept', async () => {
    const { book, next, records, clock } = newBook();
    const budget = budgetOf({ calls: 10 });
    for (let count = 0; count < 6; count++) await callOn(await book.of(ann, budget));
    await book.close();
    const entries = records.entries.bind(records);
    let reads = 0;
    records.entries = () => {
      reads += 1;
      return Promise.reject(new StoreError('unreadable', 'the disk fails'));
    };
    const later = next();
    for (let count = 0; count < 3; count++) await callOn(await later.of(ann, budget));
    await callOn(await later.of({ ...ann, owner: 'token:bob' }, budget));
    expect(reads).toBe(1);
    records.entries = entries;
    // Not again at once, whoever asks.
    expect(later.of(ann, budget)).toMatchObject({ spent: { calls: 3 } });
    clock.advance(readAgainMs);
    const same = later.of(ann, budget);
    expect(same).toMatchObject({ spent: { calls: 3 }, isKept: false });
    await settled();
    expect(later.of(ann, budget)).toBe(same);
    expect(same).toMatchObject({ spent: { calls: 9 }, isKept: true });
    await callOn(await later.of(ann, budget));
    expect(await ending(callOn(await later.of(ann, budget)))).toBe('budget_exceeded');
    await settled();
    const afterKill = next();
    expect((await afterKill.of(ann, budget)).spent.calls).toBe(10);
    expect((await afterKill.of({ ...ann, owner: 'token:bob' }, budget)).spent.calls).toBe(2);
  });

  it('that were closed while a call runs have what it adds in the count that is used now #budgets-kept', async () => {
    const { book } = newBook({ maxAccounts: 2 });
    const budget = budgetOf({ calls: 10, bytes: 100 });
    const evicted = await book.of(ann, budget);
    await callOn(evicted);
    await callOn(evicted);
    for (const owner of ['token:bob', 'token:carol']) {
      await callOn(await book.of({ ...ann, owner }, budget));
    }
    await evicted.countBytes(60);
    evicted.giveBack();
    expect((await book.of(ann, budget)).spent).toEqual({ calls: 1, bytes: 60 });
    expect(() => evicted.countBytes(60)).toThrow(Fault);
    // Under other limits it began at zero: bytes that arrive count there, the call does not.
    const changed = budgetOf({ calls: 20, bytes: 100 });
    const now = await book.of(ann, changed);
    await evicted.countBytes(30);
    evicted.giveBack(30);
    expect([now.spent, (await book.of(ann, changed)) === now]).toEqual([
      { calls: 0, bytes: 30 },
      true,
    ]);
  });

  it('are bounded while nothing can be read, too #no-growth', async () => {
    const { book, records, clock } = newBook({ maxAccounts: 3 });
    records.entries = () => Promise.reject(new StoreError('unreadable', 'the disk fails'));
    for (let owner = 0; owner < 50; owner++) {
      await callOn(await book.of({ role: 'r', owner: `${owner}` }, budgetOf({ calls: 5 })));
      clock.advance(readAgainMs);
      expect([...book.all()].length).toBeLessThanOrEqual(3);
    }
  });

  it('are bounded: the one recorded longest ago is forgotten', async () => {
    const { book, records } = newBook({ maxAccounts: 3 });
    for (const owner of ['a', 'b', 'c', 'd', 'e']) {
      await callOn(await book.of({ role: 'r', owner }, budgetOf({ calls: 5 })));
      await settled();
    }
    expect([...book.all()].map(({ owner }) => owner)).toEqual(['c', 'd', 'e']);
    expect((await records.entries()).length).toBe(3);
  });
});
