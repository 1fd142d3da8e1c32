// Which count a call is charged to, by the budget of its principal's role. A count belongs to the owner of
// the credential, so a path of the gateway has none of its own. With `per: "session"` each client has a
// count that lives as long as the client does.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { StoreLink } from '../../store/remote/store-link.ts';
import { ownerOf, type Principal } from '../principal.ts';
import type { Roles } from '../roles/roles.ts';
import { Account, type Recorded } from './account.ts';
import { AccountBook, type AccountBookParts } from './account-book.ts';
import { type MarkedRules, markOf } from './budget-rules.ts';
import { type BudgetAsker, type BudgetStatus, told } from './budget-status.ts';
import { hearCounts, sendCounts, sendLate } from './handed-counts.ts';
import { isStoredCount } from './stored-count.ts';

/** A budget in use. */
interface RoleBudget extends MarkedRules {
  /** Of `per: "session"`: each ends with its client. */
  readonly sessions: WeakMap<object, Account>;
}

/** What one client has spent under the budget of a role; JSON. */
export interface SessionCount extends Recorded {
  readonly role: string;
  readonly mark: string;
}

/** Throws nothing: what cannot be read is no count. */
export function sessionCountsIn(value: unknown): readonly SessionCount[] {
  const isOne = (one: unknown): one is SessionCount =>
    isStoredCount(one) && typeof (one as Partial<SessionCount>).role === 'string';
  return Array.isArray(value) ? value.filter(isOne) : [];
}

export class RoleBudgets {
  readonly #clock: Clock;
  readonly #book: AccountBook;
  /** By role; as many as the config has. */
  #budgets: ReadonlyMap<string, RoleBudget> = new Map();

  constructor(parts: AccountBookParts) {
    this.#clock = parts.clock;
    this.#book = new AccountBook(parts);
  }

  /** Those of the config; a budget that is unchanged keeps its counts. */
  configure(roles: Roles): void {
    const next = new Map<string, RoleBudget>();
    for (const [role, rules] of roles.budgets()) {
      const mark = markOf(rules);
      const now = this.#budgets.get(role);
      next.set(role, now?.mark === mark ? now : { mark, rules, sessions: new WeakMap() });
    }
    this.#budgets = next;
    // So that `status` can tell soon what was spent before this process; nothing waits for it.
    if (next.size > 0) this.#book.read().catch(ignored);
  }

  /** The count of this principal; undefined: its calls are not counted. `client`: who calls, if known. */
  accountOf(
    principal: Principal,
    role: string | null,
    client: object | undefined,
  ): Account | Promise<Account> | undefined {
    const budget = role === null ? undefined : this.#budgets.get(role);
    if (role === null || budget === undefined) return undefined;
    const { rules } = budget;
    if (rules.per === 'session' && client !== undefined) {
      return this.#ofSession(role, budget, client);
    }
    const owner = rules.per === 'role' ? null : ownerOf(principal).id;
    return this.#book.of({ role, owner }, budget);
  }

  /** What is spent, as far as whoever asks may know. What is only stored is known soon after a start. */
  spent({ owner, role, seesAll, isOperator }: BudgetAsker): readonly BudgetStatus[] {
    const own = role === null ? undefined : this.#budgets.get(role);
    const found: BudgetStatus[] = [];
    for (const { limits, ...holder } of seesAll ? this.#book.known(this.#budgets) : []) {
      const per = this.#budgets.get(holder.role)?.rules.per;
      if (per !== undefined)
        found.push({ role: holder.role, per, principal: holder.owner, limits });
    }
    if (role === null || own === undefined || own.rules.per === 'session') return told(found);
    const { per } = own.rules;
    const principal = per === 'role' ? null : owner;
    if (found.some((one) => one.role === role && one.principal === principal)) return told(found);
    const limits = this.#book.limitsOf({ role, owner: principal }, own);
    return told([...found, { role: isOperator ? role : null, per, principal, limits }]);
  }

  /**
   * The next process counts from now on, and is told over the link what is spent, and what calls add that were begun
   * here. Before the store is handed over, which has to have what was written before.
   */
  handOver(link: StoreLink): Promise<void> {
    return this.#book.handOver({
      counts: (counts) => sendCounts(link, counts),
      late: (late) => sendLate(link, late),
    });
  }

  /** What the former process tells of its counts; before anything is counted here. */
  takeOver(link: StoreLink): Disposable {
    return hearCounts(link, {
      takeOver: (counts) => this.#book.takeOver(counts),
      add: (late) => this.#book.add(late),
    });
  }

  /** What a client has spent of budgets that end with it, for the process in which it goes on. */
  spentBy(client: object): readonly SessionCount[] {
    return [...this.#budgets].flatMap(([role, { mark, sessions }]) => {
      const account = sessions.get(client);
      return account ? [{ role, mark, ...account.recorded }] : [];
    });
  }

  /** It had spent that in the process before this one, before it called here. */
  restoreClient(client: object, counts: readonly SessionCount[]): void {
    for (const { role, mark, ...spent } of counts) {
      const budget = this.#budgets.get(role);
      if (budget?.mark !== mark) continue;
      budget.sessions.set(client, new Account({ clock: this.#clock, role, budget, spent }));
    }
  }

  /** Records exactly what was spent. */
  close(): Promise<void> {
    return this.#book.close();
  }

  #ofSession(role: string, budget: RoleBudget, client: object): Account {
    const { sessions } = budget;
    const known = sessions.get(client);
    if (known !== undefined) return known;
    const account = new Account({ clock: this.#clock, role, budget });
    sessions.set(client, account);
    return account;
  }
}
