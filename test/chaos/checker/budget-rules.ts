// What a principal may spend: so many calls in all, whichever process counts them. After a rollout nothing is given
// again and nothing is lost; a kill of the gateway may lose a block for each, and gives nothing.

import { type Call, named } from './call.ts';
import type { Budget, Facts } from './facts.ts';
import type { Verdict } from './verdict.ts';

const SPENT = 'budgets: calls that were charged';
const REFUSED = 'budgets: calls that were refused';

export class BudgetRule {
  readonly #budgets: Facts['budgets'];
  readonly #verdict: Verdict;
  readonly #calls = new Map<string, Call[]>();

  constructor({ budgets }: Facts, verdict: Verdict) {
    this.#budgets = budgets;
    this.#verdict = verdict;
    if (budgets.size > 0) for (const name of [SPENT, REFUSED]) verdict.adds(name, 0);
  }

  /** Any call, made one after the other by each principal with a budget. */
  take(call: Call): void {
    const token = call.who?.token ?? '';
    if (!this.#budgets.has(token)) return;
    this.#calls.set(token, [...(this.#calls.get(token) ?? []), call]);
  }

  /** `endsIn`: how often a gateway was killed, by the file that says so. */
  judge(endsIn: (file: string) => number): void {
    for (const [token, calls] of this.#calls) {
      const budget = this.#budgets.get(token);
      if (budget !== undefined) this.#judge(token, calls, budget, endsIn(budget.ends));
    }
  }

  #judge(token: string, calls: Call[], { calls: limit, block }: Budget, kills: number): void {
    calls.sort((one, other) => one.sentAt - other.sentAt);
    const isRefused = ({ answers }: Call) => answers[0]?.fault?.code === 'budget_exceeded';
    const refused = calls.filter(isRefused);
    const answered = calls.filter(({ answers }) => answers[0]?.kind === 'result');
    this.#verdict.adds(SPENT, answered.length);
    this.#verdict.adds(REFUSED, refused.length);
    if (answered.length > limit) {
      const finding = `${token} may make ${limit} calls and made ${answered.length}, the last ${named(answered.at(-1) as Call)}`;
      this.#verdict.violates('overspent', finding, answered.length - limit);
    }
    const [first] = refused;
    if (first === undefined) return;
    const before = calls.filter((call) => call.sentAt < first.sentAt).length;
    const least = limit - kills * block;
    if (before >= least) return;
    const finding = `${named(first)}: ${token} may make ${limit} calls and had made ${before}; ${kills} kills`;
    this.#verdict.violates('underspent', finding);
  }
}
