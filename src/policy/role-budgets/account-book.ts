// What has been spent of the budgets of roles, by role and principal, in memory and, if there is a place for it, in
// durable records. The records are read once, when the first count is needed. A record belongs to the limits it was
// counted under: with other limits the count begins at zero. If the records cannot be read, counts begin at zero in
// memory, nothing that is stored is written over, and calls try again to read them, at most once a second and without
// waiting. Then what was spent before is added to each count. Records that are not read or written in time
// (count-writer.ts) are no longer waited for. Several replicas may share the records: then each takes blocks of what is
// left (shared-count.ts), and nothing is read before. In a rollout the counts go to the next process as they are in
// memory (handed-counts.ts): what is stored is ahead of them by a block.

import { type Clock, within } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Records } from '../../store/contract/records.ts';
import { Account, type Recorded } from './account.ts';
import { type MarkedRules, nothingSpent, type Spent, spentKeptMs } from './budget-rules.ts';
import { CountWriter, storeMs } from './count-writer.ts';
import type { HandedCount, LateCount } from './handed-counts.ts';
import { SharedCount } from './shared-count.ts';
import { SharedMinute } from './shared-minute.ts';
import {
  type Holder,
  holderIn,
  isStoredCount,
  keyOf,
  type StoredCount,
  withLate,
} from './stored-count.ts';

export interface AccountBookParts {
  readonly clock: Clock;
  /** Absent: counts live in memory. */
  readonly records?: Records | undefined;
  /** Other processes count in the same records at the same time. */
  readonly isShared?: boolean | undefined;
  /** Receives an unexpected error; a store reports its own. */
  readonly caught: (error: unknown) => void;
  readonly maxAccounts?: number;
}

/** How the next process is told, in a rollout. */
export interface CountsToNext {
  readonly counts: (counts: readonly HandedCount[]) => void;
  readonly late: (late: LateCount) => void;
}

/** Beyond this many principals the count that was recorded longest ago is forgotten. */
export const maxAccounts = 65_536;
/** How long after a failed attempt the records are read again. */
export const readAgainMs = 1_000;

export class AccountBook {
  readonly #parts: AccountBookParts;
  readonly #max: number;
  /** What is recorded, by role and owner, the oldest first; at most `maxAccounts`. */
  readonly #counts = new Map<string, StoredCount>();
  /** Those in use, by role and owner; at most `maxAccounts`, also while nothing can be read. */
  readonly #accounts = new Map<string, Account>();
  /** Those that the former process has told, by role and owner: no more than it had in use. */
  readonly #handed = new Set<string>();
  #failedAt = Number.NEGATIVE_INFINITY;
  #isLoaded: boolean;
  #loading: Promise<void> | undefined;
  /** Somebody has waited in vain for what is being read. */
  #isReadLate = false;
  readonly #writer: CountWriter<StoredCount>;
  /** Told what is added here after the next process has the counts. */
  #late: ((late: LateCount) => void) | undefined;

  constructor(parts: AccountBookParts) {
    this.#parts = parts;
    this.#max = parts.maxAccounts ?? maxAccounts;
    this.#isLoaded = parts.records === undefined || parts.isShared === true;
    const put = (key: string, count: StoredCount) => this.#put(key, count);
    this.#writer = new CountWriter({ clock: parts.clock, put, max: this.#max });
  }

  /** The count of this holder under these limits; a promise only while nothing is known of it. */
  of(holder: Holder, budget: MarkedRules): Account | Promise<Account> {
    const key = keyOf(holder);
    const account = this.#accounts.get(key);
    if (account !== undefined && account.mark === budget.mark) {
      if (!this.#isLoaded && this.#isDue) this.#load().catch(ignored);
      return account;
    }
    if (this.#isLoaded || !this.#isDue || this.#isReadLate) return this.#open(key, holder, budget);
    return this.#loadInTime().then(() => {
      const opened = this.#accounts.get(key);
      return opened?.mark === budget.mark ? opened : this.#open(key, holder, budget);
    });
  }

  /** Whether the records may be read now: one attempt at a time, and not again at once. */
  get #isDue(): boolean {
    return this.#loading !== undefined || this.#parts.clock.now() - this.#failedAt >= readAgainMs;
  }

  /** All that are in use. */
  *all(): Iterable<Holder & { readonly account: Account }> {
    for (const [key, account] of this.#accounts) yield { ...holderIn(key), account };
  }

  /**
   * What is spent of these budgets, by role: of the counts in use, and of those that are only stored. `read` finds
   * out about the latter.
   */
  *known(budgets: ReadonlyMap<string, MarkedRules>): Iterable<Holder & Pick<Account, 'limits'>> {
    for (const key of new Set([...this.#accounts.keys(), ...this.#counts.keys()])) {
      const holder = holderIn(key);
      const budget = budgets.get(holder.role);
      const marks = [this.#accounts.get(key)?.mark, this.#counts.get(key)?.mark];
      // What was spent under other limits counts no more.
      if (budget === undefined || !marks.includes(budget.mark)) continue;
      yield { ...holder, limits: this.limitsOf(holder, budget) };
    }
  }

  /** The same of one holder, who may have made no call yet. No count is put into use by that. */
  limitsOf(holder: Holder, budget: MarkedRules): Account['limits'] {
    const key = keyOf(holder);
    const account = this.#accounts.get(key);
    if (account?.mark === budget.mark) return account.limits;
    const spent = this.#storedOf(key, budget.mark);
    return new Account({ clock: this.#parts.clock, role: holder.role, budget, spent }).limits;
  }

  /** Finds out what was spent before this process, if that is not known. */
  async read(): Promise<void> {
    if (!this.#isLoaded && this.#isDue) await this.#load();
  }

  /**
   * The next process counts from now on: it is told what is spent, and only then what is added. Resolves when nothing of it is
   * being written any more: what came to the records later would replace what that process has recorded. Several
   * replicas go on to count by themselves.
   */
  async handOver({ counts, late }: CountsToNext): Promise<void> {
    if (this.#parts.isShared) return;
    // What was spent before is known then, or cannot be read, which the next process finds, too.
    if (!this.#isLoaded) await this.#loadInTime();
    this.#late = late;
    this.#isLoaded = true;
    const handed = [...this.#accounts].map(([key, account]) => ({
      ...holderIn(key),
      mark: account.mark,
      ...account.handOver(this.#lateOf(key, account.mark)),
    }));
    counts(handed);
    await this.#writer.idle();
  }

  #lateOf(key: string, mark: string): (more: Spent) => void {
    return (more) => this.#late?.({ ...holderIn(key), mark, ...more });
  }

  /** The counts of the former process, before anything is counted here. What is stored of them is older. */
  takeOver(counts: readonly HandedCount[]): void {
    for (const { role, owner, ...count } of counts) {
      const key = keyOf({ role, owner });
      this.#handed.add(key);
      this.#counts.set(key, count);
    }
  }

  /** What a call has added that the former process had begun. */
  add({ role, owner, mark, calls, bytes }: LateCount): void {
    const key = keyOf({ role, owner });
    const account = this.#accounts.get(key);
    // Under other limits the count began at zero, without this call.
    if (account !== undefined)
      return account.mark === mark ? account.add({ calls, bytes }) : undefined;
    if (this.#late !== undefined) return this.#late({ role, owner, mark, calls, bytes });
    const after = withLate(
      this.#storedOf(key, mark),
      { calls, bytes },
      this.#parts.clock.wallNow(),
    );
    this.#record(key, { mark, ...after }).catch(ignored);
  }

  /** Records exactly what was spent, where a part of a block is left. */
  async close(): Promise<void> {
    const accounts = [...this.#accounts.values()];
    this.#accounts.clear();
    await Promise.all(accounts.map((account) => account.close()));
  }

  #open(key: string, holder: Holder, budget: MarkedRules): Account {
    const { role } = holder;
    const former = this.#accounts.get(key);
    // In this order: what is recorded for the one before comes before what is recorded for this one.
    if (former !== undefined) this.#replace(key, former);
    const spent = this.#storedOf(key, budget.mark);
    const isCountedHere = this.#isLoaded && this.#late === undefined;
    const record = isCountedHere ? this.#recordOf(key, budget) : undefined;
    const sharedMinute = this.#sharedMinuteOf(key, budget);
    const { clock } = this.#parts;
    const account = new Account({ clock, role, budget, spent, record, sharedMinute });
    if (this.#late !== undefined) account.handOver(this.#lateOf(key, budget.mark));
    if (this.#accounts.size >= this.#max) this.#closeOldest();
    this.#accounts.delete(key);
    this.#accounts.set(key, account);
    return account;
  }

  #storedOf(key: string, mark: string): Recorded {
    const stored = this.#counts.get(key);
    return stored?.mark === mark ? stored : nothingSpent;
  }

  /** Undefined if there is nothing to record, or no place for it. */
  #recordOf(key: string, { rules, mark }: MarkedRules) {
    const isEndless = rules.calls === null && rules.bytes === null && rules.perMinute === null;
    if (this.#parts.records === undefined || isEndless) return undefined;
    if (this.#parts.isShared) return this.#sharedRecord(key, { rules, mark });
    return async (spent: Recorded) => {
      await this.#record(key, { mark, ...spent });
      return undefined;
    };
  }

  #sharedMinuteOf(key: string, { rules, mark }: MarkedRules): SharedMinute | undefined {
    const { records, clock, caught, isShared } = this.#parts;
    if (!isShared || records === undefined || rules.perMinute === null) return undefined;
    return new SharedMinute({ records, clock, caught, key, mark, limit: rules.perMinute });
  }

  #sharedRecord(key: string, budget: MarkedRules) {
    const { records, clock, caught } = this.#parts;
    const count = records && new SharedCount({ records, clock, caught, key, budget });
    return count && ((spent: Recorded) => count.take(spent));
  }

  #record(key: string, count: StoredCount): Promise<void> {
    // At the end of the order.
    this.#counts.delete(key);
    this.#counts.set(key, count);
    return this.#writer.write(key, count);
  }

  async #put(key: string, count: StoredCount): Promise<void> {
    const { records, caught } = this.#parts;
    try {
      await Promise.all([records?.put(key, count, { ttlMs: spentKeptMs }), this.#forgetOldest()]);
    } catch (error) {
      if (!(error instanceof Fault)) caught(error);
    }
  }

  async #forgetOldest(): Promise<void> {
    const [oldest] = this.#counts.size > this.#max ? this.#counts.keys() : [];
    if (oldest === undefined) return;
    this.#counts.delete(oldest);
    await this.#parts.records?.remove(oldest);
  }

  #closeOldest(): void {
    const [oldest] = this.#accounts;
    if (oldest === undefined) return;
    const [key, account] = oldest;
    this.#accounts.delete(key);
    this.#replace(key, account);
  }

  /** Calls that were counted by this one may still run: what they add belongs to whichever is in use then. */
  #replace(key: string, account: Account): void {
    const successor = () => this.#accounts.get(key) ?? this.#open(key, holderIn(key), account);
    account.close(successor).catch(ignored);
  }

  /** Finds out what was spent before; if that fails, a later call tries again. */
  #load(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
      this.#isReadLate = false;
    });
    return this.#loading;
  }

  async #loadInTime(): Promise<void> {
    const loading = this.#load();
    await within(this.#parts.clock, storeMs, loading);
    if (this.#loading === loading) this.#isReadLate = true;
  }

  async #read(): Promise<void> {
    try {
      for (const { key, value } of (await this.#parts.records?.entries()) ?? []) {
        if (isStoredCount(value) && !this.#handed.has(key)) this.#counts.set(key, value);
      }
      this.#isLoaded = true;
    } catch (error) {
      this.#failedAt = this.#parts.clock.now();
      if (!(error instanceof Fault)) this.#parts.caught(error);
      return;
    }
    for (const [key, account] of this.#accounts) {
      account.found(this.#storedOf(key, account.mark), this.#recordOf(key, account));
    }
  }
}
