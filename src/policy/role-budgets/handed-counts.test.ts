import { describe, expect, it } from 'vitest';
import { boundRecords } from '../../../test/support/bound-records.ts';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { playedLink } from '../../../test/support/played-link.ts';
import type { Records } from '../../store/contract/records.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import type { Roles } from '../roles/roles.ts';
import type { Account } from './account.ts';
import type { BudgetRules } from './budget-rules.ts';
import { RoleBudgets } from './role-budgets.ts';
import { isStoredCount } from './stored-count.ts';

const ann = { id: 'token:ann', role: 'r' };
const bob = { id: 'token:bob', role: 'r' };
const rules: BudgetRules = { calls: 100, perMinute: null, bytes: null, per: 'principal' };

function processWith(clock: ManualClock, records: Records | undefined, budget = rules) {
  const caught = (error: unknown) => {
    throw error;
  };
  const budgets = new RoleBudgets({ clock, records, caught });
  const roles = { budgets: () => new Map([['r', budget]]) } as unknown as Roles;
  budgets.configure(roles);
  return budgets;
}

async function accountOf(
  budgets: RoleBudgets,
  principal = ann,
  client?: { readonly key: string },
): Promise<Account> {
  const account = await budgets.accountOf(principal, 'r', client);
  if (account === undefined) throw new Error('there is no budget');
  return account;
}

async function spend(budgets: RoleBudgets, calls: number, principal = ann): Promise<number> {
  const account = await accountOf(budgets, principal);
  for (let made = 0; made < calls; made += 1) {
    try {
      for (let wait = account.room(); wait; wait = account.room()) await wait;
    } catch {
      return made;
    }
    account.count();
  }
  return calls;
}

function world(budget = rules, isStored = true) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const options = { durability: 'process', shape: isStoredCount } as const;
  const records = isStored ? store.records('spent', options) : undefined;
  const link = playedLink();
  return { clock, records, link, process: () => processWith(clock, records, budget) };
}

/** Until what was sent has been heard. */
async function heard(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await settled();
}

describe.each([true, false])('budgets of roles over a rollout, stored: %s', (isStored) => {
  it('go on exactly where the former process was, and count what its calls add later', async () => {
    const { link, process } = world(rules, isStored);
    const former = process();
    expect(await spend(former, 37)).toBe(37);
    expect(await spend(former, 5, bob)).toBe(5);
    const underWay = await accountOf(former);
    const next = process();
    next.takeOver(link.next);
    await former.handOver(link.former);
    underWay.count();
    underWay.count();
    underWay.giveBack();
    await heard();
    expect((await accountOf(next)).spent.calls).toBe(38);
    underWay.count();
    await heard();
    expect((await accountOf(next)).spent.calls).toBe(39);
    expect(await spend(next, 100)).toBe(61);
    expect(await spend(next, 100, bob)).toBe(95);
  });

  it('count the minute and the bytes on as well', async () => {
    const both = { calls: null, perMinute: 10, bytes: 1_000, per: 'role' } as const;
    const { clock, link, process } = world(both, isStored);
    const former = process();
    expect(await spend(former, 4)).toBe(4);
    const account = await accountOf(former);
    await account.countBytes(400);
    clock.advance(20_000);
    const next = process();
    next.takeOver(link.next);
    await former.handOver(link.former);
    account.count();
    await account.countBytes(500);
    await heard();
    expect(await spend(next, 10)).toBe(5);
    const theirs = await accountOf(next);
    await expect(async () => await theirs.countBytes(101)).rejects.toMatchObject({
      code: 'budget_exceeded',
    });
    clock.advance(41_000);
    expect((await accountOf(next)).limits).toMatchObject([{ spent: 6 }, { spent: 1_001 }]);
  });

  it('pass on what a former process of the former one adds', async () => {
    const { link, process } = world(rules, isStored);
    const [first, second, third] = [process(), process(), process()];
    await spend(first, 10);
    const underWay = await accountOf(first);
    second.takeOver(link.next);
    await first.handOver(link.former);
    await heard();
    await spend(second, 10);
    const on = playedLink();
    third.takeOver(on.next);
    await second.handOver(on.former);
    underWay.count();
    await heard();
    expect((await accountOf(third)).spent.calls).toBe(21);
  });
});

describe('budgets of roles over a rollout', () => {
  it('are those of the former process also where the store is read later', async () => {
    const { clock, records, link, process } = world();
    if (records === undefined) throw new Error('they are stored');
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const former = process();
    await spend(former, 37);
    const late: Records = {
      ...boundRecords(records),
      entries: async () => {
        await opened;
        return await records.entries();
      },
    };
    const next = processWith(clock, late);
    next.takeOver(link.next);
    await former.handOver(link.former);
    await heard();
    const account = accountOf(next);
    open();
    expect((await account).spent.calls).toBe(37);
  });

  it('are never less in the store than what was spent, whenever one of the processes dies', async () => {
    const { link, process } = world();
    const former = process();
    await spend(former, 37);
    const underWay = await accountOf(former);
    const next = process();
    next.takeOver(link.next);
    await former.handOver(link.former);
    await spend(next, 20);
    underWay.count();
    await heard();
    // The former process ends, and has nothing to write any more.
    await former.close();
    const afterKill = process();
    const { calls } = (await accountOf(afterKill)).spent;
    expect(calls).toBeGreaterThanOrEqual(58);
    expect(calls).toBeLessThanOrEqual(60);
  });

  it('of a client go with the client #rollout', async () => {
    const perSession = { calls: 3, perMinute: null, bytes: null, per: 'session' } as const;
    const { process } = world(perSession);
    const processes = [process(), process(), process()] as const;
    /** The same client has another object in each of them. */
    const [first, second, third] = processes.map(() => ({ key: 'ann' }));
    const ofFirst = await accountOf(processes[0], ann, first);
    ofFirst.count();
    const [toSecond, toThird] = [playedLink(), playedLink()];
    processes[1].takeOver(toSecond.next);
    processes[0].handOverSessions(toSecond.former, first ? [first] : []);
    // What a call adds that was begun there counts, whether its client has called here or not.
    ofFirst.count();
    await heard();
    expect((await accountOf(processes[1], ann, second)).spent.calls).toBe(2);
    expect((await accountOf(processes[1], ann, { key: 'bob' })).spent.calls).toBe(0);
    // Nobody of its clients is known: what the former has told goes on.
    processes[2].takeOver(toThird.next);
    processes[1].handOverSessions(toThird.former, []);
    ofFirst.giveBack();
    // Begun after the fence, in a session that goes on.
    (await accountOf(processes[1], ann, { key: 'late' })).count();
    await heard();
    expect((await accountOf(processes[2], ann, third)).spent.calls).toBe(1);
    expect((await accountOf(processes[2], ann, { key: 'late' })).spent.calls).toBe(1);
  });

  it('of a client that does not come back are forgotten #no-growth', async () => {
    const perSession = { calls: 3, perMinute: null, bytes: null, per: 'session' } as const;
    const { clock, link, process } = world(perSession);
    const [former, next] = [process(), process()];
    const clients = ['ann', 'bob', 'eve'].map((key) => ({ key }));
    for (const client of clients) (await accountOf(former, ann, client)).count();
    next.takeOver(link.next);
    former.handOverSessions(link.former, clients);
    await heard();
    const spentBy = async (key: string) => (await accountOf(next, ann, { key })).spent.calls;
    expect(await spentBy('ann')).toBe(1);
    next.clientGone('eve');
    clock.advance(1_800_000);
    expect([await spentBy('ann'), await spentBy('bob'), await spentBy('eve')]).toEqual([1, 0, 0]);
  });

  it('of a client begin anew where the limits have changed', async () => {
    const perSession = { calls: 3, perMinute: null, bytes: null, per: 'session' } as const;
    const { clock, link, process } = world(perSession);
    const former = process();
    const next = processWith(clock, undefined, { ...perSession, calls: 4 });
    const account = await accountOf(former, ann, { key: 'ann' });
    account.count();
    next.takeOver(link.next);
    former.handOverSessions(link.former, [{ key: 'ann' }]);
    account.count();
    await heard();
    expect((await accountOf(next, ann, { key: 'ann' })).spent.calls).toBe(0);
    expect(link.next.fault).toBeUndefined();
  });

  it('end the link at a message that has no counts', async () => {
    for (const head of [null, {}, { counts: [{ role: 'r' }] }, { late: { role: 'r', owner: 1 } }]) {
      const { link, process } = world();
      process().takeOver(link.next);
      link.former.send('budgets', head as never);
      await link.next.closed;
      expect(link.next.fault).toBeInstanceOf(TypeError);
    }
  });
});
