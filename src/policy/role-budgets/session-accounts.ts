// The counts of budgets with `per: "session"`: each client has one for each role that it calls with, which lives as long as
// the client does. In a rollout they go to the next process with the keys of their clients, and wait there until
// the client calls; what calls add that were begun in the former process is told to that process.

import type { Clock } from '../../kernel/clock.ts';
import type { StoreLink } from '../../store/remote/store-link.ts';
import { Account } from './account.ts';
import type { MarkedRules, Spent } from './budget-rules.ts';
import { hearCounts, type LateCount, sendCounts, sendLate } from './handed-counts.ts';

/** Who has a count of its own. */
export interface CountedClient {
  /** The same in the next process, if it goes on there. */
  readonly key: string;
}

/** How the clients are found that go on here. */
export type FindClient = (key: string) => CountedClient | undefined;

export interface SessionAccountsParts {
  readonly clock: Clock;
  /** Of a role, if it has one. */
  readonly budgetOf: (role: string) => MarkedRules | undefined;
}

const kind = 'session-budgets';
/** As many as sessions that an earlier process may have left. */
const maxHanded = 20_000;
/** As long as a session without requests. */
const keepMs = 1_800_000;

type ByRole = Map<string, Account>;

export class SessionAccounts {
  readonly #parts: SessionAccountsParts;
  /** Under budgets that may have changed since; each as long as its client is. */
  readonly #accounts = new WeakMap<CountedClient, ByRole>();
  /** Of the process before, by the keys of clients: until they are gone, or none has called in time; at most `maxHanded`. */
  readonly #handed = new Map<string, ByRole>();
  /** Keys of those whose clients have called here; at most those of `#handed`. */
  readonly #claimed = new Set<string>();
  /** When those whose clients have not called are forgotten. */
  #unclaimedUntil = Number.POSITIVE_INFINITY;
  /** From the fence on. */
  #next: StoreLink | undefined;

  constructor(parts: SessionAccountsParts) {
    this.#parts = parts;
  }

  of(role: string, budget: MarkedRules, client: CountedClient): Account {
    this.#forgetUnclaimed();
    const own = this.#of(client);
    const known = own.get(role);
    if (known?.mark === budget.mark) return known;
    const handed = this.#handed.get(client.key)?.get(role);
    if (handed !== undefined) this.#claimed.add(client.key);
    const account = handed?.mark === budget.mark ? handed : this.#newAccount(role, budget);
    own.set(role, account);
    if (account !== handed) this.#handOne(client.key, role, account);
    return account;
  }

  #of(client: CountedClient): ByRole {
    const own = this.#accounts.get(client) ?? new Map();
    this.#accounts.set(client, own);
    return own;
  }

  #newAccount(role: string, budget: MarkedRules): Account {
    return new Account({ clock: this.#parts.clock, role, budget });
  }

  /** Before the clients are given away: the next process counts from now on. */
  handOver(link: StoreLink, clients: Iterable<CountedClient>): void {
    this.#next = link;
    this.#forgetUnclaimed();
    const all = new Map(this.#handed);
    for (const client of clients) {
      const own = this.#accounts.get(client);
      if (own !== undefined) all.set(client.key, new Map([...(all.get(client.key) ?? []), ...own]));
    }
    const counts = [...all].flatMap(([key, byRole]) =>
      [...byRole].map(([role, account]) => {
        const spent = account.handOver(this.#lateOf(link, key, role, account.mark));
        return { role, owner: key, mark: account.mark, ...spent };
      }),
    );
    sendCounts(link, counts, kind);
  }

  /** One that began after the fence, in a session that may go on. */
  #handOne(key: string, role: string, account: Account): void {
    const link = this.#next;
    if (link !== undefined) account.handOver(this.#lateOf(link, key, role, account.mark));
  }

  #lateOf(link: StoreLink, key: string, role: string, mark: string): (more: Spent) => void {
    return (more) => sendLate(link, { role, owner: key, mark, ...more }, kind);
  }

  /** What the former process tells of them. */
  takeOver(link: StoreLink, find: FindClient): Disposable {
    this.#unclaimedUntil = this.#parts.clock.now() + keepMs;
    return hearCounts(
      link,
      {
        takeOver: (counts) => {
          for (const { role, owner, mark, ...spent } of counts) {
            const budget = this.#parts.budgetOf(role);
            if (owner === null || budget?.mark !== mark) continue;
            const account = new Account({ clock: this.#parts.clock, role, budget, spent });
            this.#keep(owner, role, account);
          }
        },
        add: (late) => this.#add(late, find),
      },
      kind,
    );
  }

  #add({ role, owner, mark, ...more }: LateCount, find: FindClient): void {
    const budget = this.#parts.budgetOf(role);
    if (owner === null || budget?.mark !== mark) return;
    const handed = this.#handed.get(owner)?.get(role);
    if (handed?.mark === mark) return handed.add(more);
    const client = find(owner);
    if (client !== undefined) return this.of(role, budget, client).add(more);
    const account = this.#newAccount(role, budget);
    this.#handOne(owner, role, account);
    this.#keep(owner, role, account);
    account.add(more);
  }

  #keep(key: string, role: string, account: Account): void {
    const byRole: ByRole = this.#handed.get(key) ?? new Map();
    byRole.set(role, account);
    this.#handed.set(key, byRole);
    if (this.#handed.size <= maxHanded) return;
    for (const oldest of this.#handed.keys()) {
      this.gone(oldest);
      break;
    }
  }

  /** Looked at when something is counted: a timer for it would outlive whoever has handed them over. */
  #forgetUnclaimed(): void {
    if (this.#parts.clock.now() < this.#unclaimedUntil) return;
    this.#unclaimedUntil = Number.POSITIVE_INFINITY;
    for (const key of [...this.#handed.keys()]) if (!this.#claimed.has(key)) this.gone(key);
  }

  /** The client of this key is gone. */
  gone(key: string): void {
    this.#handed.delete(key);
    this.#claimed.delete(key);
  }
}
