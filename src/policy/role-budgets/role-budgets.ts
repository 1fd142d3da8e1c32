// Which count a call is charged to, by the budget of its principal's role. A count belongs to the owner of
// the credential, so a path of the gateway has none of its own. With `per: "session"` each client has a
// count that lives as long as the client does.

import { ignored } from '../../kernel/contain.ts';
import type { StoreLink } from '../../store/remote/store-link.ts';
import { ownerOf, type Principal } from '../principal.ts';
import type { Roles } from '../roles/roles.ts';
import type { Account } from './account.ts';
import { AccountBook, type AccountBookParts } from './account-book.ts';
import { type MarkedRules, markOf } from './budget-rules.ts';
import { type BudgetAsker, type BudgetStatus, told } from './budget-status.ts';
import { hearCounts, sendCounts, sendLate } from './handed-counts.ts';
import { type CountedClient, type FindClient, SessionAccounts } from './session-accounts.ts';

export class RoleBudgets {
  /** Of budgets with `per: "session"`. */
  readonly #sessions: SessionAccounts;
  readonly #book: AccountBook;
  /** By role; as many as the config has. */
  #budgets: ReadonlyMap<string, MarkedRules> = new Map();

  constructor(parts: AccountBookParts) {
    const { clock } = parts;
    this.#sessions = new SessionAccounts({ clock, budgetOf: (role) => this.#budgets.get(role) });
    this.#book = new AccountBook(parts);
  }

  /** Those of the config; a budget that is unchanged keeps its counts. */
  configure(roles: Roles): void {
    const next = new Map<string, MarkedRules>();
    for (const [role, rules] of roles.budgets()) {
      const mark = markOf(rules);
      const now = this.#budgets.get(role);
      next.set(role, now?.mark === mark ? now : { mark, rules });
    }
    this.#budgets = next;
    // So that `status` can tell soon what was spent before this process; nothing waits for it.
    if (next.size > 0) this.#book.read().catch(ignored);
  }

  /** The count of this principal; undefined: its calls are not counted. `client`: who calls, if known. */
  accountOf(
    principal: Principal,
    role: string | null,
    client: CountedClient | undefined,
  ): Account | Promise<Account> | undefined {
    const budget = role === null ? undefined : this.#budgets.get(role);
    if (role === null || budget === undefined) return undefined;
    const { rules } = budget;
    if (rules.per === 'session' && client !== undefined) {
      return this.#sessions.of(role, budget, client);
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
  takeOver(link: StoreLink, find: FindClient = () => undefined): Disposable {
    const sessions = this.#sessions.takeOver(link, find);
    const heard = hearCounts(link, {
      takeOver: (counts) => this.#book.takeOver(counts),
      add: (late) => this.#book.add(late),
    });
    return {
      [Symbol.dispose]: () => {
        sessions[Symbol.dispose]();
        heard[Symbol.dispose]();
      },
    };
  }

  /** The same of counts that end with their clients; before these are given away. */
  handOverSessions(link: StoreLink, clients: Iterable<CountedClient>): void {
    this.#sessions.handOver(link, clients);
  }

  /** The client of this key is gone. */
  clientGone(key: string): void {
    this.#sessions.gone(key);
  }

  /** Records exactly what was spent. */
  close(): Promise<void> {
    return this.#book.close();
  }
}
